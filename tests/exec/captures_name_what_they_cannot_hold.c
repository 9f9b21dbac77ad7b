// SPDX-License-Identifier: Apache-2.0
// A capture is refused where its file could not hold the frame, and names the node or the buffer.
#include <elf.h>
#include <string.h>

#include <braid/braid.h>

#include "support/check.h"

struct world {
    braid_device *device;
    braid_graph *graph;
    braid_resource buffer;
    uint32_t *words;
};

static void do_nothing(const braid_blocks *blocks, void *const *args)
{
    (void)blocks, (void)args;
}

static braid_status queue_nothing(braid_device *device, braid_stream *stream, void *user)
{
    (void)device, (void)stream, (void)user;
    return BRAID_OK;
}

static struct world make_world(void)
{
    static uint32_t words[4];
    struct world world = { .words = words };
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cpu" }, &world.device));
    check_ok(braid_graph_create(&world.graph));
    check_ok(braid_graph_add_buffer(world.graph, "words", world.words, 8, &world.buffer));
    return world;
}

static void finish(struct world *world)
{
    braid_graph_destroy(world->graph);
    check_ok(braid_device_close(world->device));
}

static void refuses(struct world *world, const braid_exec_options *options, braid_status status,
                    const char *text)
{
    braid_exec *exec;
    uint64_t bytes = 17;
    check_ok(braid_exec_create(world->device, world->graph, options, &exec));
    check_fails(braid_exec_capture(exec, NULL, &bytes), status, text);
    assert_int_equal(bytes, 17);
    check_ok(braid_exec_launch(exec, NULL)); // it stays usable
    check_ok(braid_exec_wait(exec));
    braid_exec_destroy(exec);
}

static const braid_exec_options captures = { .capture = true };

static void an_exec_without_the_option_has_none(void **state)
{
    struct world world = make_world();
    (void)state;
    refuses(&world, NULL, BRAID_INVALID_ARGUMENT, "braid_exec_options.capture");
    finish(&world);
}

static void a_queue_call_is_named(void **state)
{
    struct world world = make_world();
    (void)state;
    check_ok(braid_graph_add_queue_call(
        world.graph, &(braid_queue_call){ .node.name = "multiply", .call = queue_nothing }, NULL));
    refuses(&world, &captures, BRAID_UNSUPPORTED, "node 0 'multiply' is a queue call");
    finish(&world);
}

static void a_loop_is_named(void **state)
{
    struct world world = make_world();
    (void)state;
    check_ok(braid_graph_begin_loop(world.graph, &(braid_loop){ .node.name = "repeat", .times = 2 },
                                    NULL));
    check_ok(braid_graph_add_empty(world.graph, &(braid_empty){ 0 }, NULL));
    check_ok(braid_graph_end(world.graph));
    refuses(&world, &captures, BRAID_UNSUPPORTED, "'repeat' is a loop");
    finish(&world);
}

static void a_copy_of_undeclared_memory_is_named(void **state)
{
    struct world world = make_world();
    (void)state;
    check_ok(braid_graph_add_fill(world.graph,
                                  &(braid_fill){ .node.name = "declared",
                                                 BRAID_ACCESSES({ world.buffer, BRAID_WRITE }),
                                                 .to = world.words,
                                                 .num_values = 8 },
                                  NULL));
    check_ok(braid_graph_add_copy(world.graph,
                                  &(braid_copy){ .node.name = "upload",
                                                 BRAID_ACCESSES({ world.buffer, BRAID_WRITE }),
                                                 .to = world.words,
                                                 .from = &world.words[2],
                                                 .bytes = 4 },
                                  NULL));
    refuses(&world, &captures, BRAID_UNSUPPORTED, "node 1 'upload'");
    finish(&world);
}

static void a_buffer_without_an_address_is_named(void **state)
{
    struct world world = make_world();
    (void)state;
    check_ok(braid_graph_add_buffer(world.graph, "elsewhere", NULL, 8, &(braid_resource){ 0 }));
    refuses(&world, &captures, BRAID_UNSUPPORTED, "'elsewhere'");
    finish(&world);
}

static void code_that_a_file_cannot_hold_is_named(void **state)
{
    struct world world = make_world();
    (void)state;
    const braid_kernel unknown = { .name = "unknown",
                                   .cpu = do_nothing,
                                   .hip = { .data = "\xff no text, no ELF file" } };
    check_ok(braid_graph_add_kernel(
        world.graph, &(braid_kernel_node){ .kernel = &unknown, .grid = { 1 } }, NULL));
    refuses(&world, &captures, BRAID_UNSUPPORTED, "node 0 'unknown'");
    finish(&world);
}

// The size of an ELF file stands in it.
static void code_of_known_size_is_held(void **state)
{
    struct world world = make_world();
    Elf64_Ehdr cubin = { .e_shoff = sizeof(cubin), .e_shentsize = 64, .e_shnum = 0 };
    uint64_t sizes[2];
    (void)state;
    memcpy(cubin.e_ident, ELFMAG, SELFMAG);
    for (int i = 0; i < 2; i++) {
        const braid_kernel kernel = { .name = "in cubin",
                                      .cpu = do_nothing,
                                      .cuda = { .data = &cubin,
                                                .bytes = i ? sizeof(cubin) + 160 : 0 } };
        const unsigned char room[sizeof(cubin) + 160] = { 0x7f, 'E', 'L', 'F' };
        const braid_kernel larger = { .name = "in cubin",
                                      .cpu = do_nothing,
                                      .cuda = { .data = room, .bytes = sizeof(room) } };
        braid_graph *graph;
        braid_exec *exec;
        check_ok(braid_graph_create(&graph));
        check_ok(braid_graph_add_kernel(
            graph, &(braid_kernel_node){ .kernel = i ? &larger : &kernel, .grid = { 1 } }, NULL));
        check_ok(braid_exec_create(world.device, graph, &captures, &exec));
        check_ok(braid_exec_capture(exec, NULL, &sizes[i]));
        braid_exec_destroy(exec);
        braid_graph_destroy(graph);
    }
    assert_int_equal(sizes[1] - sizes[0], 160);
    finish(&world);
}

static void a_file_that_cannot_be_written_is_named(void **state)
{
    struct world world = make_world();
    braid_exec *exec;
    (void)state;
    check_ok(braid_exec_create(world.device, world.graph, &captures, &exec));
    check_fails(braid_exec_capture(exec, "/there/is/none", NULL), BRAID_IO_ERROR, "/there/is/none");
    check_fails(braid_exec_capture(exec, "/dev/full", NULL), BRAID_IO_ERROR, "/dev/full");
    braid_exec_destroy(exec);
    finish(&world);
}

static void a_graph_on_several_devices_is_refused(void **state)
{
    struct world world = make_world();
    braid_device *group, *alone = world.device;
    (void)state;
    check_ok(braid_device_open_group((braid_device *[]){ alone, alone }, 2, &group));
    check_ok(braid_graph_add_kernel(
        world.graph,
        &(braid_kernel_node){ .kernel = &(braid_kernel){ .name = "k", .cpu = do_nothing },
                              .grid = { 1 } },
        NULL));
    world.device = group;
    refuses(&world, &captures, BRAID_UNSUPPORTED, "several devices");
    world.device = alone;
    check_ok(braid_device_close(group));
    finish(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_exec_without_the_option_has_none),
        cmocka_unit_test(a_queue_call_is_named),
        cmocka_unit_test(a_loop_is_named),
        cmocka_unit_test(a_copy_of_undeclared_memory_is_named),
        cmocka_unit_test(a_buffer_without_an_address_is_named),
        cmocka_unit_test(code_that_a_file_cannot_hold_is_named),
        cmocka_unit_test(code_of_known_size_is_held),
        cmocka_unit_test(a_file_that_cannot_be_written_is_named),
        cmocka_unit_test(a_graph_on_several_devices_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
