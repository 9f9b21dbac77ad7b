// SPDX-License-Identifier: Apache-2.0
// A capture is refused where its file could not hold the frame, and names the node or the buffer.
#include <elf.h>
#include <string.h>

#include <braid/braid.h>

#include "support/check.h"
#include "support/owner.h"

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
    world.graph = own_graph();
    check_ok(braid_graph_add_buffer(world.graph, "words", world.words, 8, &world.buffer));
    return world;
}

static void finish(struct world *world)
{
    check_ok(braid_device_close(world->device));
}

static void refuses(struct world *world, const braid_exec_options *options, braid_status status,
                    const char *text)
{
    uint64_t bytes = 17;
    braid_exec *exec = own_exec(world->device, world->graph, options);
    check_fails(braid_exec_save_capture(exec, NULL, &bytes), status, text);
    assert_int_equal(bytes, 17);
    check_ok(braid_exec_launch(exec, NULL)); // it stays usable
    check_ok(braid_exec_wait(exec));
    destroy_now(exec);
}

static const braid_exec_options captures = { .capture = true };

static void an_exec_without_the_option_has_none(void **state)
{
    struct world world = make_world();
    (void)state;
    refuses(&world, NULL, BRAID_UNSUPPORTED, "braid_exec_options.capture");
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

static void a_node_of_several_rows_is_named(void **state)
{
    (void)state;
    for (int fills = 0; fills < 2; fills++) {
        struct world world = make_world();
        const braid_fill fill = { .node.name = "box",
                                  .to = world.words,
                                  .num_values = 1,
                                  .rows = { .num = 2, .to_pitch = 4 },
                                  BRAID_ACCESSES({ world.buffer, BRAID_WRITE }) };
        const braid_copy copy = { .node = fill.node,
                                  .to = world.words,
                                  .from = world.words + 2,
                                  .bytes = 1,
                                  .rows = fill.rows };
        check_ok(fills ? braid_graph_add_fill(world.graph, &fill, NULL)
                       : braid_graph_add_copy(world.graph, &copy, NULL));
        refuses(&world, &captures, BRAID_UNSUPPORTED, "'box' has several rows");
        finish(&world);
    }
}

static void add_nested(struct world *world, int depth)
{
    const braid_loop loop = { .node.name = depth == 1 ? "innermost" : "around", .times = 2 };
    check_ok(braid_graph_begin_loop(world->graph, &loop, NULL));
    if (depth > 1)
        add_nested(world, depth - 1);
    else
        check_ok(braid_graph_add_empty(world->graph, &(braid_empty){ 0 }, NULL));
    check_ok(braid_graph_end(world->graph));
}

static void a_loop_without_an_iteration_is_named(void **state)
{
    struct world world = make_world();
    braid_exec *exec;
    braid_node loop;
    (void)state;
    check_ok(braid_graph_begin_loop(world.graph, &(braid_loop){ .node.name = "idle", .times = 2 },
                                    &loop));
    check_ok(braid_graph_add_empty(world.graph, &(braid_empty){ 0 }, NULL));
    check_ok(braid_graph_end(world.graph));
    check_ok(braid_exec_create(world.device, world.graph, &captures, &exec));
    check_ok(braid_exec_set(exec, loop, BRAID_TARGET_TIMES, 0, &(uint64_t){ 0 }));
    check_fails(braid_exec_save_capture(exec, NULL, &(uint64_t){ 0 }), BRAID_UNSUPPORTED,
                "'idle' runs no iteration");
    braid_exec_destroy(exec);
    finish(&world);
}

static void a_loop_that_is_nested_too_deeply_is_named(void **state)
{
    struct world world = make_world();
    braid_exec *exec;
    uint64_t bytes;
    (void)state;
    add_nested(&world, 64);
    check_ok(braid_exec_create(world.device, world.graph, &captures, &exec));
    check_ok(braid_exec_save_capture(exec, NULL, &bytes));
    braid_exec_destroy(exec);
    check_ok(braid_graph_begin_loop(world.graph,
                                    &(braid_loop){ .node.name = "outermost", .times = 1 }, NULL));
    add_nested(&world, 64);
    check_ok(braid_graph_end(world.graph));
    check_ok(braid_exec_create(world.device, world.graph, &captures, &exec));
    check_fails(braid_exec_save_capture(exec, NULL, &bytes), BRAID_UNSUPPORTED,
                "'innermost' is nested deeper than 64");
    braid_exec_destroy(exec);
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

static void data_of_a_kernel_is_named(void **state)
{
    struct world world = make_world();
    (void)state;
    const braid_kernel closure = { .name = "closure", .cpu = do_nothing, .user = world.words };
    check_ok(braid_graph_add_kernel(
        world.graph, &(braid_kernel_node){ .kernel = &closure, .grid = { 1 } }, NULL));
    refuses(&world, &captures, BRAID_UNSUPPORTED, "node 0 'closure'");
    finish(&world);
}

static uint64_t bytes_with(const struct world *world, const void *cubin, size_t bytes)
{
    const braid_kernel kernel = { .name = "in cubin",
                                  .cpu = do_nothing,
                                  .cuda = { .data = cubin, .bytes = bytes } };
    uint64_t captured;
    braid_graph *graph = own_graph();
    check_ok(braid_graph_add_kernel(graph, &(braid_kernel_node){ .kernel = &kernel, .grid = { 1 } },
                                    NULL));
    braid_exec *exec = own_exec(world->device, graph, &captures);
    check_ok(braid_exec_save_capture(exec, NULL, &captured));
    destroy_now(exec);
    return captured;
}

// The size of an ELF file stands in it: behind either table or a section, whichever ends last.
static void code_of_known_size_is_held(void **state)
{
    struct world world = make_world();
    enum { SPACE = 640, MIDDLE = 160 };
    (void)state;
    for (int i = 0; i < 3; i++) {
        unsigned char cubin[SPACE] = { 0 };
        Elf64_Shdr sections[2] = { { .sh_type = SHT_PROGBITS, .sh_size = 8 },
                                   { .sh_type = SHT_NOBITS, .sh_size = 1 << 20 } };
        Elf64_Ehdr head = { .e_shentsize = sizeof(*sections),
                            .e_phentsize = sizeof(Elf64_Phdr),
                            .e_phnum = 3 };
        memcpy(head.e_ident, ELFMAG, SELFMAG);
        head.e_phoff = i == 0 ? SPACE - 3 * sizeof(Elf64_Phdr) : sizeof(head);
        head.e_shnum = i == 1 ? 0 : 2;
        head.e_shoff = i == 1 ? SPACE : sizeof(head) + 3 * sizeof(Elf64_Phdr);
        sections[0].sh_offset = i == 2 ? SPACE - 8 : MIDDLE;
        memcpy(cubin, &head, sizeof(head));
        if (i != 1)
            memcpy(cubin + head.e_shoff, sections, sizeof(sections));
        assert_int_equal(bytes_with(&world, cubin, 0), bytes_with(&world, cubin, SPACE));
        assert_int_equal(bytes_with(&world, cubin, MIDDLE) + SPACE - MIDDLE,
                         bytes_with(&world, cubin, SPACE));
    }
    finish(&world);
}

static void a_file_that_cannot_be_written_is_named(void **state)
{
    struct world world = make_world();
    (void)state;
    braid_exec *exec = own_exec(world.device, world.graph, &captures);
    check_fails(braid_exec_save_capture(exec, "/there/is/none", NULL), BRAID_IO_ERROR,
                "/there/is/none");
    check_fails(braid_exec_save_capture(exec, "/dev/full", NULL), BRAID_IO_ERROR, "/dev/full");
    destroy_now(exec);
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
        owning_test(an_exec_without_the_option_has_none),
        owning_test(a_queue_call_is_named),
        owning_test(a_node_of_several_rows_is_named),
        owning_test(a_loop_without_an_iteration_is_named),
        owning_test(a_loop_that_is_nested_too_deeply_is_named),
        owning_test(a_copy_of_undeclared_memory_is_named),
        owning_test(a_buffer_without_an_address_is_named),
        owning_test(code_that_a_file_cannot_hold_is_named),
        owning_test(data_of_a_kernel_is_named),
        owning_test(code_of_known_size_is_held),
        owning_test(a_file_that_cannot_be_written_is_named),
        owning_test(a_graph_on_several_devices_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
