// SPDX-License-Identifier: Apache-2.0
// A graph whose kernels have source becomes one kernel that walks its plan, or it is said why not.
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <braid/timings.h>

#include "base/host_memory.h"
#include "gpu/gpu_testing.h"
#include "gpu/island_graph.h"
#include "islands/gpu_island_kernel.h"
#include "islands/gpu_island_lists.h"
#include "support/check.h"

enum { FRAMES = 20 };

static void every_order_is_kept(void **state)
{
    (void)state;
    const braid_exec_options options = { .islands = BRAID_ISLANDS_WHOLE };
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct island_graph made = { .seed = seed };
        reset_standin();
        braid_device *device = own_device("cuda");
        island_graph_make(&made, device);
        braid_exec *exec = own_exec(device, made.graph, &options);
        for (int frame = 0; frame < FRAMES; frame++)
            check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        island_graph_check(&made, FRAMES);
        braid_exec_info info;
        braid_exec_get_info(exec, &info);
        assert_int_equal(info.num_island_nodes, ISLAND_NODES);
        finish_standin();
    }
}

// Arguments of 32 bytes for each of the calls, and the kernel's own, are just as many as it takes.
// With a reason, the graph is refused, and nothing of an island is loaded.
static void run_chain(uint32_t num_calls, const char *reason)
{
    const braid_exec_options options = { .islands = BRAID_ISLANDS_WHOLE };
    braid_device *device;
    braid_graph *graph;
    braid_exec *exec;
    braid_node last;
    void *ran;
    reset_standin();
    const long before = standin_calls("cuModuleLoadData");
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cuda" }, &device));
    check_ok(braid_memory_allocate(device, BRAID_MEMORY_DEVICE, 256, &ran));
    memset(ran, 0, 256); // the stand-in's device memory is the host's
    check_ok(braid_graph_create(&graph));
    for (uint32_t i = 0; i < num_calls; i++) {
        const uint32_t node = 0;
        const unsigned long unused = i;
        const braid_arg args[] = { BRAID_ARG(ran), BRAID_ARG(node), BRAID_ARG(unused) };
        const braid_kernel_node launch = { .node = { .after = &last, .num_after = i > 0 },
                                           .kernel = &island_note,
                                           .block = { 1, 1, 1 },
                                           .grid = { 1, 1, 1 },
                                           .args = args,
                                           .num_args = 3 };
        check_ok(braid_graph_add_kernel(graph, &launch, &last));
    }
    if (reason) {
        check_fails(braid_exec_create(device, graph, &options, &exec), BRAID_UNSUPPORTED, reason);
        assert_int_equal(standin_calls("cuModuleLoadData") - before, 1); // the program's
    } else {
        check_ok(braid_exec_create(device, graph, &options, &exec));
        if (num_calls > 2000) {                // the copy of the arguments
            fail_calls("cuMemcpyAsync:1=999"); // unknown
            check_fails(braid_exec_launch(exec, NULL), BRAID_DEVICE_ERROR, "cuMemcpyAsync");
            fail_calls(NULL);
        }
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        assert_int_equal(*(const unsigned *)ran, num_calls);
        braid_exec_destroy(exec);
    }
    braid_graph_destroy(graph);
    braid_memory_free(device, ran);
    braid_device_close(device);
    check_nothing_is_left();
}

static void frames_are_ordered_as_wholes(void **state)
{
    (void)state;
    const braid_exec_options options = { .islands = BRAID_ISLANDS_WHOLE, .frames_in_flight = 3 };
    struct island_graph made = { .seed = 1, .has_accesses = true };
    braid_device *device = own_device("cuda");
    island_graph_make(&made, device);
    braid_exec *exec = own_exec(device, made.graph, &options);
    braid_exec_info info;
    braid_exec_get_info(exec, &info);
    assert_true(info.frames_in_flight == 3 && info.whole_frames);
    assert_string_equal(
        info.frames_reason,
        "whole frames: island replay does not order nodes of two frames; no gain: a "
        "further frame takes as long as one alone, by the plan's times");
}

struct launches {
    long graphs, kernels, changes;
};

static struct launches count_launches(void)
{
    return (struct launches){ standin_calls("cuGraphLaunch"), standin_calls("cuLaunchKernelEx"),
                              standin_calls("cuGraphExecKernelNodeSetParams") };
}

static void check_launches(struct launches before, long graphs, long kernels, long changes)
{
    struct launches now = count_launches();
    assert_int_equal(now.graphs - before.graphs, graphs);
    assert_int_equal(now.kernels - before.kernels, kernels);
    assert_int_equal(now.changes - before.changes, changes);
}

// Calls of several blocks keep every order, too, and each has times.
static void calls_have_many_blocks(void **state)
{
    (void)state;
    enum { FEW_FRAMES = 8 };
    const uint64_t cost_ns = 20000;
    const braid_exec_options options = { .islands = BRAID_ISLANDS_WHOLE, .frames_kept = 2 };
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct island_graph made = { .seed = seed, .most_blocks = 12, .cost_ns = cost_ns };
        reset_standin();
        braid_device *device = own_device("cuda");
        island_graph_make(&made, device);
        braid_exec *exec = own_exec(device, made.graph, &options);
        for (int frame = 0; frame < FEW_FRAMES; frame++)
            check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_launch_many(exec, NULL, FEW_FRAMES, NULL, 0));
        check_ok(braid_exec_wait(exec));
        island_graph_check(&made, 2 * FEW_FRAMES);
        braid_timings timings;
        check_ok(braid_exec_get_timings(exec, &timings));
        for (uint32_t i = 0; i < ISLAND_NODES; i++) {
            braid_placement placement;
            check_ok(braid_schedule_get_placement(braid_exec_get_schedule(exec), made.nodes[i],
                                                  &placement));
            uint64_t planned_ns = placement.end_ns - placement.start_ns;
            assert_true(planned_ns >= cost_ns);
            assert_true(timings.nodes[made.nodes[i].index].time.least_ns > 0);
        }
        finish_standin();
    }
}

// As parameters of the launch, and where these are too many in memory.
static void a_kernel_has_room_for_the_arguments_of_all_calls(void **state)
{
    (void)state;
    run_chain(1020, NULL);
    run_chain(4000, NULL);
    run_chain(6000, "the lists of an island take ");
    run_chain(7000, "the arguments of an island take ");
}

// What the program changes between frames reaches later ones only. Frames of the same arguments are
// launched as a graph, which takes the host less, and those of new ones as a kernel.
static void a_frame_keeps_its_arguments(void **state)
{
    (void)state;
    const braid_exec_options options = { .islands = BRAID_ISLANDS_WHOLE };
    braid_node node;
    unsigned index = 0;
    unsigned long unused = 0;
    void *first, *second;
    braid_device *device = own_device("cuda");
    check_ok(braid_memory_allocate(device, BRAID_MEMORY_DEVICE, 4, &first));
    check_ok(braid_memory_allocate(device, BRAID_MEMORY_DEVICE, 4, &second));
    memset(first, 0, 4);
    memset(second, 0, 4);
    braid_graph *graph = own_graph();
    const braid_kernel_node launch = {
        .kernel = &island_note,
        BRAID_ARGS(BRAID_ARG(first), BRAID_ARG(index), BRAID_ARG(unused)),
    };
    check_ok(braid_graph_add_kernel(graph, &launch, &node));
    braid_exec *exec = own_exec(device, graph, &options);
    assert_true(standin_configure("BRAID_STANDIN_SLOW_US", "2000"));
    struct launches before = count_launches();
    for (int frame = 0; frame < 3; frame++)
        check_ok(braid_exec_launch(exec, NULL));
    check_launches(before, 3, 0, 0);
    check_ok(braid_exec_set_arg(exec, node, 0, BRAID_ARG(second)));
    check_ok(braid_exec_launch(exec, NULL));
    check_launches(before, 3, 1, 0);
    for (int frame = 0; frame < 2; frame++)
        check_ok(braid_exec_launch(exec, NULL));
    check_launches(before, 5, 1, 1);
    check_ok(braid_exec_wait(exec));
    assert_int_equal(*(unsigned *)first, 3);
    assert_int_equal(*(unsigned *)second, 3);
    braid_memory_free(device, first);
    braid_memory_free(device, second);
}

static atomic_bool is_running;
static atomic_uint num_overlaps;

static bool look_for_others(unsigned node)
{
    (void)node;
    const struct timespec moment = { 0, 200000 };
    if (atomic_exchange(&is_running, true))
        atomic_fetch_add(&num_overlaps, 1);
    nanosleep(&moment, NULL);
    atomic_store(&is_running, false);
    return false;
}

// As graphs, as kernels, and several frames at once: only a kernel waits for the launch before it,
// or is waited for. Graphs of one executable are in order anyway.
static void launches_on_two_streams_do_not_overlap(void **state)
{
    (void)state;
    enum { ROUNDS = 6 };
    static const long waits[] = { 0, 0, 1, 1, 0, 1, 1, 0 }; // at each launch of a round
    const braid_exec_options options = { .islands = BRAID_ISLANDS_WHOLE };
    struct island_chain chain;
    island_chain_make(&chain, &island_other);
    braid_exec *exec = own_exec(chain.device, chain.graph, &options);
    braid_stream *const streams[] = { own_stream(chain.device), own_stream(chain.device) };
    atomic_store(&num_overlaps, 0);
    island_fails = look_for_others;
    for (int i = 0; i < 8 * ROUNDS; i++) {
        unsigned *ran = i / 8 % 2 ? chain.ran : chain.other;
        long before = standin_calls("cuStreamWaitEvent");
        if (i % 8 == 2)
            check_ok(braid_exec_set_arg(exec, chain.nodes[1], 0, BRAID_ARG(ran)));
        if (i % 8 == 5)
            check_ok(braid_exec_launch_many(exec, streams[i % 2], 2, NULL, 0));
        else
            check_ok(braid_exec_launch(exec, streams[i % 2]));
        assert_int_equal(standin_calls("cuStreamWaitEvent") - before, waits[i % 8]);
    }
    check_ok(braid_exec_wait(exec));
    island_fails = NULL;
    assert_int_equal(atomic_load(&num_overlaps), 0);
}

// Where a driver has no graph of such a kernel, each frame is launched as a kernel.
static void an_island_needs_no_graph_of_the_driver(void **state)
{
    (void)state;
    static const char *const rules[] = { "cuGraphAddKernelNode:1=801", "cuGraphAddKernelNode:1=1",
                                         "cuGraphInstantiateWithFlags:1=1",
                                         "cuGraphKernelNodeSetAttribute:1=1",
                                         "cuGraphInstantiateWithFlags:1=801" };
    const braid_exec_options options = { .islands =
                                             BRAID_ISLANDS_WHOLE, // its lanes take several blocks
                                         .max_lanes = ISLAND_NODES,
                                         .fixed_lanes = true };
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        reset_standin();
        braid_device *device = own_device("cuda");
        struct island_graph made = { .seed = 1, .threads = 512 };
        island_graph_make(&made, device);
        assert_true(standin_configure("BRAID_STANDIN_FAIL", rules[i]));
        braid_exec *exec = own_exec(device, made.graph, &options);
        struct launches before = count_launches();
        for (int frame = 0; frame < FRAMES; frame++)
            check_ok(braid_exec_launch(exec, NULL));
        check_launches(before, 0, FRAMES, 0);
        check_ok(braid_exec_wait(exec));
        island_graph_check(&made, FRAMES);
        finish_standin();
    }
}

// An exec of kernels in a row, of which none is before another. How many modules were loaded for it
// beside that of the kernels themselves, which is the program's and may be another the next time.
static long load_row(braid_device *device, const braid_kernel *const *kernels, uint32_t num)
{
    const braid_exec_options options = { .islands = BRAID_ISLANDS_WHOLE, .max_lanes = 1 };
    unsigned *ran = NULL, index = 0;
    unsigned long unused = 0;
    long before = standin_calls("cuModuleLoadData");
    braid_graph *graph = own_graph();
    for (uint32_t i = 0; i < num; i++) {
        const braid_arg args[] = { BRAID_ARG(ran), BRAID_ARG(index), BRAID_ARG(unused) };
        const braid_kernel_node launch = { .kernel = kernels[i],
                                           .args = args,
                                           .num_args = kernels[i] == &island_note ? 3 : 2 };
        check_ok(braid_graph_add_kernel(graph, &launch, NULL));
    }
    braid_exec *exec = own_exec(device, graph, &options);
    destroy_now(exec);
    return standin_calls("cuModuleLoadData") - before - 1;
}

// Whichever kernel comes first, and about as large as another.
static void graphs_alike_share_their_code(void **state)
{
    (void)state;
    const braid_kernel *row[11], *other[12];
    for (uint32_t i = 0; i < 12; i++) {
        if (i < 11)
            row[i] = i % 2 ? &island_note : &island_other;
        other[i] = i % 3 ? &island_other : &island_note;
    }
    braid_device *device = own_device("cuda");
    assert_true(load_row(device, row, 11) > 0);
    assert_int_equal(load_row(device, other, 12), 0);
    assert_true(load_row(device, &row[0], 1) > 0); // a kernel less is another code
}

static void check_refusal(const char *backend, const braid_kernel *kernel, const char *reason)
{
    braid_device *device;
    braid_exec *exec;
    unsigned index = 0;
    void *none = NULL;
    reset_standin();
    check_ok(braid_device_open(&(braid_device_options){ .backend = backend }, &device));
    braid_graph *graph = own_graph();
    const braid_kernel_node launch = { .node = { .name = "outsider" },
                                       .kernel = kernel,
                                       BRAID_ARGS(BRAID_ARG(none), BRAID_ARG(index)) };
    check_ok(braid_graph_add_kernel(graph, &launch, NULL));
    check_fails(braid_exec_create(device, graph,
                                  &(braid_exec_options){ .islands = BRAID_ISLANDS_WHOLE }, &exec),
                BRAID_UNSUPPORTED, reason);
    braid_device_close(device);
}

static void run_other_on_cpu(const braid_blocks *blocks, void *const *args)
{
    (void)blocks, (void)args;
}

static void what_cannot_be_inside_is_named(void **state)
{
    (void)state;
    static const char image[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
                                ".visible .entry island_other(.param .u64 a, .param .u32 b)\n"
                                "{ griddepcontrol.wait; ret; }\n";
    const braid_kernel depends = { .name = "island_other", .cuda = { .data = image } };
    const braid_kernel on_cpu = { .name = "on_cpu", .cpu = run_other_on_cpu };
    check_refusal("cuda", &depends,
                  "'outsider' cannot be in an island: it has the instruction "
                  "'griddepcontrol.wait', which islands do not have");
    check_refusal("cpu", &on_cpu, "has no islands");
}

// The message has all that it has room for, and the details have the rest.
static void all_that_cannot_be_inside_are_named(void **state)
{
    (void)state;
    enum { NUM = 40 };
    unsigned index = 0;
    void *none = NULL;
    braid_exec *exec;
    braid_device *device = own_device("cuda");
    braid_graph *graph = own_graph();
    for (uint32_t i = 0; i < NUM; i++) {
        const braid_kernel_node launch = { .kernel = i % 4 ? &island_outsider : &island_other,
                                           BRAID_ARGS(BRAID_ARG(none), BRAID_ARG(index)) };
        check_ok(braid_graph_add_kernel(graph, &launch, NULL));
    }
    check_fails(
        braid_exec_create(device, graph,
                          &(braid_exec_options){ .islands = BRAID_ISLANDS_WHOLE, .max_lanes = 1 },
                          &exec),
        BRAID_UNSUPPORTED,
        "node 1 'island_outsider' cannot be in an island: it reads '%gridid'; nor can node 2 "
        "'island_outsider': it reads '%gridid'; nor can node 3 ");
    const char *details = braid_error_get_details();
    for (uint32_t i = 0; i < NUM; i++) {
        char name[40];
        snprintf(name, sizeof(name), "node %u 'island_outsider'", i);
        assert_int_equal(strstr(details, name) != NULL, i % 4 != 0);
    }
    assert_null(strstr(braid_error_get_message(), "node 39 "));
}

static void check_call(const struct ptx_callable *needs, uint32_t threads, uint32_t blocks,
                       const char *reason)
{
    const struct gpu_callable callable = { .needs = *needs };
    const struct backend_launch launch = { .grid = { blocks, 1, 1 }, .block = { threads, 1, 1 } };
    const char *why = braid_gpu_callable_refuse(&callable, &launch);
    assert_int_equal(!why, !reason);
    if (reason)
        assert_string_equal(why, reason);
}

static void calls_that_may_hang_are_kept_out(void **state)
{
    (void)state;
    const struct ptx_callable waits = { .fences = true }, meets = { .barriers = true },
                              talks = { .warps = true }, counts = { .counts = true },
                              takes = { .num_args = 1 };
    check_call(&waits, 32, 1, NULL);
    check_call(&waits, 32, 2, "its blocks may wait for each other");
    check_call(&meets, 48, 1, "its blocks are not whole warps");
    check_call(&talks, 16, 1, "its blocks are not whole warps");
    check_call(&meets, 64, 8, NULL);
    check_call(&counts, 64, 1, NULL);
    check_call(&counts, 32, 1, "it counts at a barrier of one warp");
    check_call(&takes, 32, 1, "its arguments have other sizes than its parameters");
}

static void lanes_that_wait_for_each_other_are_found(void **state)
{
    (void)state;
    struct island_wait waits[] = { { 1, 1 }, { 0, 1 } };
    struct island_call calls[] = { { .num_waits = 1, .publishes = true },
                                   { .first_wait = 1, .num_waits = 1, .publishes = true } };
    uint32_t lane_first[] = { 0, 1, 2 };
    const struct island_lists lists = { calls, lane_first, 2, 2, waits, 2 };
    check_fails(braid_island_lists_check(&lists), BRAID_INTERNAL, "wait for each other");
    calls[0].num_waits = 0;
    check_ok(braid_island_lists_check(&lists));
}

// The walker reads two calls ahead, also behind the last.
static void lists_end_with_what_is_read_ahead(void **state)
{
    (void)state;
    struct island_call calls[] = { { .publishes = true }, { 0 } };
    uint32_t lane_first[] = { 0, 2 }, entry_of[2] = { 0 }, args_of[2] = { 0 };
    const struct island_lists lists = { calls, lane_first, 1, 2, NULL, 0 };
    struct island_layout layout = { .num_groups = 1, .num_blocks = 1, .team = 1 };
    struct island_words words;
    check_ok(braid_island_words_create(&lists, entry_of, args_of, &layout, &words));
    const uint32_t *head = words.words, *own = words.words + (size_t)4 * head[0];
    uint32_t end = own[4 * head[2] + 1];
    static const uint32_t zeros[8];
    assert_int_equal(end - own[4 * head[2]], 2);
    assert_true(end + 2 <= head[1]);
    assert_memory_equal(own + (size_t)4 * end, zeros, sizeof(zeros));
    braid_free(words.words);
}

// A shape's words: entry, threads, blocks, whether the grid varies, grid, block.
static void fills_take_the_threads_of_their_groups(void **state)
{
    (void)state;
    static const struct {
        uint32_t group, bytes, blocks;
    } rows[] = { { 256, 100000, 4 }, { 256, 40000, 3 }, { 256, 4, 1 }, { 32, 100000, 32 } };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct backend_task fill = {
            .kind = WORK_FILL, .fill = { .num_values = rows[i].bytes, .value_bytes = 1 }
        };
        struct island_call call = { .task = &fill };
        uint32_t lane_first[] = { 0, 1 }, entry_of[1] = { 0 }, args_of[1] = { 0 };
        const struct island_lists lists = { &call, lane_first, 1, 1, NULL, 0 };
        struct island_layout layout = {
            .group_threads = rows[i].group, .num_groups = 1, .num_blocks = 1, .team = 1
        };
        struct island_words words;
        check_ok(braid_island_words_create(&lists, entry_of, args_of, &layout, &words));
        const uint32_t *shape = words.words + (size_t)4 * words.words[0];
        assert_int_equal(shape[1], rows[i].group);
        assert_int_equal(shape[2], rows[i].blocks);
        assert_int_equal(shape[4], rows[i].blocks);
        assert_int_equal(shape[7], rows[i].group);
        braid_free(words.words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        standin_test(every_order_is_kept),
        cmocka_unit_test(a_kernel_has_room_for_the_arguments_of_all_calls),
        standin_test(frames_are_ordered_as_wholes),
        standin_test(calls_have_many_blocks),
        standin_test(a_frame_keeps_its_arguments),
        standin_test(launches_on_two_streams_do_not_overlap),
        standin_test(an_island_needs_no_graph_of_the_driver),
        standin_test(graphs_alike_share_their_code),
        standin_test(what_cannot_be_inside_is_named),
        standin_test(all_that_cannot_be_inside_are_named),
        standin_test(calls_that_may_hang_are_kept_out),
        standin_test(lanes_that_wait_for_each_other_are_found),
        standin_test(lists_end_with_what_is_read_ahead),
        standin_test(fills_take_the_threads_of_their_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
