// SPDX-License-Identifier: Apache-2.0
// A capture has the contents of buffers, the versions and the values of the frame that comes next.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture_file.h"
#include "support/check.h"
#include "support/owner.h"
#include "tool/capture_frames.h"

static const float *contents(const struct capture_file *file, const char *name)
{
    for (uint32_t i = 0; i < file->num_resources; i++) {
        const struct capture_resource *it = &file->resources[i];
        if (strcmp(it->name, name) == 0 && it->kind == CAPTURE_BUFFER)
            return (const float *)(const void *)it->contents;
    }
    fail_msg("no buffer '%s'", name);
    return NULL;
}

static const struct capture_node *node_named(const struct capture_file *file, const char *name)
{
    for (uint32_t i = 0; i < file->num_nodes; i++) {
        if (strcmp(file->nodes[i].name, name) == 0)
            return &file->nodes[i];
    }
    fail_msg("no node '%s'", name);
    return NULL;
}

// Two frames have run: see add_everything.
static void check_contents(const struct capture_file *file)
{
    const float *in = contents(file, "in"), *state = contents(file, "state");
    const float *before = contents(file, "state[-1]");
    for (int i = 0; i < FRAME_NUM; i++) {
        float first = 1 + (float)i;
        bool is_half = i >= FRAME_NUM / 2;
        assert_true(state[i] == (is_half ? first * 6 + 0.5f : first * 6));
        assert_true(before[i] == (is_half ? first * 6 + 0.5f : first * 36));
        assert_true(in[i] == (is_half ? first : first * 36));
    }
}

static void the_next_frame_is_held(void **state)
{
    char path[] = "/tmp/braid_capture_XXXXXX";
    struct capture_file file;
    (void)state;
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    uint64_t bytes = capture_frame("cpu", false, path);
    assert_int_equal(capture_file_read(path, &file), EXIT_DONE);
    unlink(path);
    assert_int_equal(file.num_bytes, bytes);
    assert_int_equal(file.frame, 2);
    check_contents(&file);
    const struct capture_node *scaled = node_named(&file, "to middle");
    const struct capture_argument *arguments = file.arguments.items;
    float factor;
    memcpy(&factor,
           (unsigned char *)file.values.items + arguments[scaled->first_argument + 2].place,
           sizeof(factor));
    assert_true(factor == 4);
    assert_true(scaled->is_enabled && !node_named(&file, "pause")->is_enabled);
    assert_int_equal(node_named(&file, "in scratch")->role, 1);
    assert_true(node_named(&file, "count")->has_grid_from);
    capture_file_finish(&file);
}

static void do_nothing(const braid_blocks *blocks, void *const *args)
{
    (void)blocks, (void)args;
}

static const char *const options[] = { "-DWIDTH=4" };
static const braid_header headers[] = { { "width.h", "#define HEIGHT 5" } };
static const braid_kernel kernel = { .name = "all",
                                     .cpu = do_nothing,
                                     .source = "void all();",
                                     .cuda = { .data = "\x7f\x45LF and the rest", .bytes = 17 },
                                     .hip = { .data = ".text", .bytes = 5 },
                                     .options = options,
                                     .num_options = 1,
                                     .headers = headers,
                                     .num_headers = 1 };

static void capture_and_read(braid_exec *exec, struct capture_file *out_file)
{
    char path[] = "/tmp/braid_capture_XXXXXX";
    close(mkstemp(path));
    check_ok(braid_exec_save_capture(exec, path, NULL));
    assert_int_equal(capture_file_read(path, out_file), EXIT_DONE);
    unlink(path);
}

// The arguments are a number, the end of a buffer, a pointer that is set later, and one that nobody
// checks. A node that no output needs is left out, and another one has no block.
static void read_graph(struct capture_file *out_file, uint32_t *words, uint64_t number)
{
    const uint32_t *end = words + 4, *second = words + 1, *far = words + 100;
    braid_resource buffer, local;
    braid_node node;
    braid_device *device = own_device("cpu");
    braid_graph *graph = own_graph();
    check_ok(braid_graph_add_buffer(graph, "words", words, 16, &buffer));
    check_ok(braid_graph_add_transient(graph, "local", 16, 0, &local));
    check_ok(braid_graph_set_output(graph, buffer));
    check_ok(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){ .kernel = &kernel,
                              BRAID_ARGS(BRAID_INOUT(buffer), BRAID_ARG(end), BRAID_ARG(number),
                                         { &far, sizeof(far), BRAID_ARG_UNCHECKED_POINTER },
                                         BRAID_OUT(local)) },
        &node));
    check_ok(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){ .node.name = "empty",
                              .may_be_empty = true,
                              .grid = { 4, 0, 1 },
                              .kernel = &kernel,
                              .cooperative = true,
                              BRAID_ARGS(BRAID_INOUT(buffer), BRAID_ARG(end), BRAID_ARG(number),
                                         { &far, sizeof(far), BRAID_ARG_UNCHECKED_POINTER },
                                         BRAID_INOUT(local)) },
        NULL));
    check_ok(braid_graph_add_fill(graph,
                                  &(braid_fill){ .node.name = "late",
                                                 BRAID_ACCESSES({ buffer, BRAID_READ_WRITE }),
                                                 .to = words,
                                                 .num_values = 8 },
                                  NULL));
    check_ok(braid_graph_add_empty(graph, &(braid_empty){ .node.name = "unneeded" }, NULL));
    braid_exec *exec = own_exec(device, graph, &(braid_exec_options){ .capture = true });
    check_ok(braid_exec_set_arg(exec, node, 4, BRAID_ARG(second)));
    check_fails(braid_exec_save_capture(exec, NULL, NULL), BRAID_INVALID_ARGUMENT, "path");
    capture_and_read(exec, out_file);
    destroy_owned();
}

static void values_and_code_are_held(void **state)
{
    static uint32_t words[200];
    const uint64_t number = 12345678901234;
    struct capture_file file;
    (void)state;
    read_graph(&file, words, number);
    const struct capture_argument *arguments = file.arguments.items;
    const struct capture_word *held = file.words.items;
    const unsigned char *values = file.values.items;
    assert_int_equal(arguments[0].num_words, 1);
    assert_int_equal(held[arguments[1].first_word].offset, 16);
    assert_int_equal(arguments[2].num_words, 0);
    assert_memory_equal(values + arguments[2].place, &number, sizeof(number));
    assert_true(arguments[3].is_unchecked && !arguments[2].is_unchecked);
    assert_int_equal(held[arguments[4].first_word].resource, 0); // as set
    assert_int_equal(held[arguments[4].first_word].offset, 4);
    assert_false(node_named(&file, "empty")->is_enabled);
    assert_true(node_named(&file, "empty")->is_cooperative);
    assert_false(node_named(&file, "all")->is_cooperative);
    assert_int_equal(file.num_kernels, 1);
    assert_string_equal(file.kernels[0].source, "void all();");
    assert_string_equal(file.kernels[0].options[0], "-DWIDTH=4");
    assert_string_equal(file.kernels[0].headers[0].text, "#define HEIGHT 5");
    assert_int_equal(file.kernels[0].cuda.bytes, 17);
    assert_memory_equal(file.kernels[0].cuda.data, kernel.cuda.data, 17);
    assert_int_equal(file.kernels[0].hip.bytes, 6); // with a zero
    assert_string_equal(file.kernels[0].hip.data, ".text");
    capture_file_finish(&file);
}

// A pointer to the memory of a version that is not the next frame's first, and a trap at the end.
static void pointers_to_versions_and_traps_are_held(void **state)
{
    static uint32_t versions[2][4];
    void *memory[2] = { versions[0], versions[1] };
    const uint32_t *second = versions[1] + 2;
    struct capture_file file;
    braid_resource buffer, before;
    (void)state;
    braid_device *device = own_device("cpu");
    braid_graph *graph = own_graph();
    check_ok(braid_graph_add_versioned_buffer(graph, "state", memory, 2, 16, &buffer));
    check_ok(braid_graph_add_earlier_version(graph, buffer, 1, &before));
    check_ok(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){ .kernel = &kernel,
                              BRAID_ACCESSES({ buffer, BRAID_WRITE }, { before, BRAID_READ }),
                              BRAID_ARGS(BRAID_ARG(second), BRAID_TRAP()) },
        NULL));
    braid_exec *exec = own_exec(device, graph, &(braid_exec_options){ .capture = true });
    for (int i = 0; i < 2; i++) {
        capture_and_read(exec, &file);
        const struct capture_argument *arguments = file.arguments.items;
        const struct capture_word *held = file.words.items;
        assert_int_equal(arguments[0].num_words, 1);
        assert_string_equal(file.resources[held[0].resource].name, i ? "state" : "state[-1]");
        assert_int_equal(held[0].offset, 8);
        assert_true(held[1].is_trap);
        capture_file_finish(&file);
        check_ok(braid_exec_launch(exec, NULL));
    }
    check_ok(braid_exec_wait(exec));
}

static const struct capture_resource *resource_of_kind(const struct capture_file *file,
                                                       enum capture_resource_kind kind)
{
    for (uint32_t i = 0; i < file->num_resources; i++) {
        if (file->resources[i].kind == kind)
            return &file->resources[i];
    }
    fail_msg("no resource of kind %d", (int)kind);
    return NULL;
}

// The next frame has scratch of the size that was asked for last.
static void scratch_is_held_as_it_has_grown(void **state)
{
    const uint64_t before = 64, after = 4096;
    struct capture_file file;
    braid_resource scratch;
    (void)state;
    braid_device *device = own_device("cpu");
    braid_graph *graph = own_graph();
    check_ok(braid_graph_add_scratch(graph, "scratch", before, 0, &scratch));
    const braid_kernel_node node = { .kernel = &kernel,
                                     BRAID_ARGS(braid_resource_address(&scratch)) };
    check_ok(braid_graph_add_kernel(graph, &node, NULL));
    braid_exec *exec = own_exec(device, graph, &(braid_exec_options){ .capture = true });
    for (int i = 0; i < 2; i++) {
        capture_and_read(exec, &file);
        assert_int_equal(resource_of_kind(&file, CAPTURE_TRANSIENT)->bytes, i ? after : before);
        capture_file_finish(&file);
        check_ok(braid_exec_set_scratch(exec, scratch, after));
    }
}

// By a value of the next frame, which no launch has taken yet.
static void nodes_that_nothing_needs_are_disabled(void **state)
{
    static uint32_t words[4];
    const uint32_t is_off = 0, is_on = 1;
    struct capture_file file;
    braid_resource buffer, local;
    braid_parameter on;
    braid_node needs;
    (void)state;
    braid_device *device = own_device("cpu");
    braid_graph *graph = own_graph();
    check_ok(braid_graph_add_buffer(graph, "words", words, 16, &buffer));
    check_ok(braid_graph_add_transient(graph, "local", 16, 0, &local));
    const braid_kernel maker = { .name = "makes", .cpu = do_nothing };
    check_ok(braid_graph_add_kernel(
        graph, &(braid_kernel_node){ .kernel = &maker, BRAID_ARGS(BRAID_OUT(local)) }, NULL));
    check_ok(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){ .kernel = &kernel, BRAID_ARGS(BRAID_INOUT(buffer), BRAID_IN(local)) },
        &needs));
    check_ok(braid_graph_set_output(graph, buffer));
    check_ok(braid_graph_add_parameter(graph, "on", sizeof(is_off), &on));
    check_ok(braid_graph_use_parameter(
        graph, on, &(braid_parameter_use){ .node = needs, .target = BRAID_TARGET_ENABLED }));
    braid_exec *exec = own_exec(device, graph, &(braid_exec_options){ .capture = true });
    check_ok(braid_exec_set_parameter(exec, on, &is_on));
    capture_and_read(exec, &file);
    assert_true(node_named(&file, "makes")->is_enabled);
    capture_file_finish(&file);
    check_ok(braid_exec_set_parameter(exec, on, &is_off));
    capture_and_read(exec, &file);
    assert_false(node_named(&file, "makes")->is_enabled);
    capture_file_finish(&file);
}

static braid_node add_fill(braid_graph *graph, const char *name, braid_resource to)
{
    braid_node node;
    const braid_fill fill = { .node.name = name,
                              BRAID_ACCESSES({ to, BRAID_ACCUMULATE }),
                              .to_resource = to,
                              .num_values = 4 };
    check_ok(braid_graph_add_fill(graph, &fill, &node));
    return node;
}

static uint32_t place_of(const struct capture_file *file, const char *name)
{
    uint32_t node = (uint32_t)(node_named(file, name) - file->nodes), at = 0;
    while (file->order[at] != node)
        at++;
    return at;
}

// Edges to earlier nodes give the plan's order, with a node that is left out behind it. The reader
// sees that bodies are in one piece.
static void bodies_are_held_in_order(void **state)
{
    static uint32_t words[4], flag;
    const uint64_t times = 5;
    struct capture_file file;
    braid_resource buffer, condition;
    braid_node loop;
    (void)state;
    braid_device *device = own_device("cpu");
    braid_graph *graph = own_graph();
    check_ok(braid_graph_add_buffer(graph, "words", words, 16, &buffer));
    check_ok(braid_graph_add_buffer(graph, "flag", &flag, 4, &condition));
    check_ok(braid_graph_set_output(graph, buffer));
    check_ok(braid_graph_add_empty(graph, &(braid_empty){ .node.name = "unneeded" }, NULL));
    check_ok(braid_graph_begin_loop(
        graph, &(braid_loop){ .node.name = "loop", .times = 9, .expected = 4 }, &loop));
    braid_node early = add_fill(graph, "early", buffer);
    check_ok(braid_graph_begin_if(graph, &(braid_if){ .node.name = "if", .condition = condition },
                                  NULL));
    add_fill(graph, "first arm", buffer);
    check_ok(braid_graph_else(graph));
    braid_node other = add_fill(graph, "second arm", buffer);
    braid_node last = add_fill(graph, "last", buffer);
    check_ok(braid_graph_end(graph));
    check_ok(braid_graph_end(graph));
    braid_node behind = add_fill(graph, "behind", buffer);
    check_ok(braid_graph_add_edge(graph, last, other));
    check_ok(braid_graph_add_edge(graph, behind, early));
    braid_exec *exec = own_exec(device, graph, &(braid_exec_options){ .capture = true });
    check_ok(braid_exec_set(exec, loop, BRAID_TARGET_TIMES, 0, &times));
    capture_and_read(exec, &file);
    const struct capture_node *held = node_named(&file, "loop"), *branch = node_named(&file, "if");
    assert_true(held->most == times && held->expected == 4 && held->condition == CAPTURE_NONE);
    assert_true(held->num_nodes == 5 && held->num_else == 0);
    assert_true(branch->num_nodes == 1 && branch->num_else == 2 && branch->condition == 1);
    assert_ptr_equal(&file.nodes[node_named(&file, "last")->around], branch);
    assert_ptr_equal(&file.nodes[branch->around], held);
    assert_int_equal(held->around, CAPTURE_NONE);
    assert_int_equal(place_of(&file, "unneeded"), 7);
    assert_true(place_of(&file, "behind") < place_of(&file, "loop"));
    assert_true(place_of(&file, "last") < place_of(&file, "second arm"));
    capture_file_finish(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = { owning_test(the_next_frame_is_held),
                                        owning_test(values_and_code_are_held),
                                        owning_test(pointers_to_versions_and_traps_are_held),
                                        owning_test(scratch_is_held_as_it_has_grown),
                                        owning_test(nodes_that_nothing_needs_are_disabled),
                                        owning_test(bodies_are_held_in_order) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
