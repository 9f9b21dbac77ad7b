// SPDX-License-Identifier: Apache-2.0
// Whichever allocation of an exec with loops on streams fails, a call says so or the frame is
// right.
#include <string.h>

#include <braid/braid.h>

#include "support/check.h"
#include "support/failing_memory.h"

enum { ROUNDS = 3, INSIDE = 2, FRAMES = 40 };

static void add_one_on_cpu(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    ++**(uint32_t *const *)args[0];
}

static const braid_kernel add_one = { .name = "add one", .cpu = add_one_on_cpu };

static braid_graph *make_graph(uint32_t *word)
{
    braid_graph *graph;
    braid_resource all;
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_buffer(graph, "word", word, sizeof(*word), &all));
    check_ok(braid_graph_begin_loop(graph, &(braid_loop){ .times = ROUNDS }, NULL));
    check_ok(braid_graph_begin_loop(graph, &(braid_loop){ .times = INSIDE }, NULL));
    check_ok(braid_graph_add_kernel(
        graph, &(braid_kernel_node){ .kernel = &add_one, BRAID_ARGS(BRAID_INOUT(all)) }, NULL));
    check_ok(braid_graph_end(graph));
    check_ok(braid_graph_end(graph));
    return graph;
}

static uint64_t count_bytes(braid_device *device, braid_exec_mode mode, int num_loops)
{
    uint32_t word = 0;
    braid_resource all;
    braid_graph *graph;
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_buffer(graph, "word", &word, sizeof(word), &all));
    for (int i = 0; i < num_loops; i++) {
        check_ok(braid_graph_begin_loop(graph, &(braid_loop){ .times = 1 }, NULL));
        check_ok(braid_graph_add_kernel(
            graph, &(braid_kernel_node){ .kernel = &add_one, BRAID_ARGS(BRAID_INOUT(all)) }, NULL));
        check_ok(braid_graph_end(graph));
    }
    uint64_t bytes = failing_memory_num_bytes();
    braid_exec *exec;
    const braid_exec_options options = { .mode = mode };
    check_ok(braid_exec_create(device, graph, &options, &exec));
    bytes = failing_memory_num_bytes() - bytes;
    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
    return bytes;
}

// A loop on streams is a program of its own. As a graph, all are in one.
static void many_loops_take_little_more_memory_than_in_a_graph(void **state)
{
    (void)state;
    enum { NUM_LOOPS = 1600 };
    braid_device *device;
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cpu" }, &device));
    uint64_t bytes = count_bytes(device, BRAID_MODE_STREAMS, NUM_LOOPS),
             graph_bytes = count_bytes(device, BRAID_MODE_GRAPH, NUM_LOOPS);
    print_message("summary: %llu bytes on streams, %llu as a graph\n", (unsigned long long)bytes,
                  (unsigned long long)graph_bytes);
    assert_true(bytes < 2 * graph_bytes);
    check_ok(braid_device_close(device));
}

// Creates an exec, and launches frames without a wait between.
static braid_status live(braid_device *device, const braid_graph *graph)
{
    const braid_exec_options options = { .mode = BRAID_MODE_STREAMS, .frames_in_flight = 2 };
    braid_exec *exec = NULL;
    braid_status status = braid_exec_create(device, graph, &options, &exec);
    for (int i = 0; i < FRAMES && !status; i++)
        status = braid_exec_launch(exec, NULL);
    if (!status)
        status = braid_exec_wait(exec);
    braid_exec_destroy(exec);
    return status;
}

// A device that is new has room for no work yet.
static bool fail_nth(const braid_graph *graph, const uint32_t *word, uint64_t nth)
{
    braid_device *device;
    const braid_device_options options = { .backend = "cpu", .num_workers = 2 };
    check_ok(braid_device_open(&options, &device));
    failing_memory_arm_once(nth);
    braid_status status = live(device, graph);
    bool failed = failing_memory_disarm();
    check_ok(braid_device_close(device));
    assert_true(status == BRAID_OK || (failed && status == BRAID_NO_MEMORY));
    if (!status)
        assert_int_equal(*word, FRAMES * ROUNDS * INSIDE);
    return failed;
}

static void any_allocation_may_fail(void **state)
{
    (void)state;
    uint32_t word = 0;
    braid_graph *graph = make_graph(&word);
    uint64_t nth = 1;
    for (; fail_nth(graph, &word, nth); nth++)
        word = 0;
    print_message("summary: %llu allocations failed\n", (unsigned long long)nth - 1);
    assert_true(nth > 20);
    braid_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(any_allocation_may_fail),
                                        cmocka_unit_test(
                                            many_loops_take_little_more_memory_than_in_a_graph) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
