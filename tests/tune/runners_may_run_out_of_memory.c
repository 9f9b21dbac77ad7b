// SPDX-License-Identifier: Apache-2.0
// Whichever allocation of a runner fails, it says so or goes on with other ways. Each launch that
// succeeds plays its frame.
#include <string.h>

#include <braid/braid.h>

#include "support/check.h"
#include "support/failing_memory.h"

enum { NUM_NODES = 3, NUM_FRAMES = 90, STEP = 7 };

static uint64_t counts[NUM_NODES];

static void count(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    ++**(uint64_t *const *)args[0];
}

static braid_graph *make_graph(void)
{
    static const braid_kernel kernel = { .name = "count", .cpu = count };
    braid_graph *graph;
    check_ok(braid_graph_create(&graph));
    for (int i = 0; i < NUM_NODES; i++) {
        uint64_t *at = &counts[i];
        check_ok(braid_graph_add_kernel(
            graph, &(braid_kernel_node){ .kernel = &kernel, BRAID_ARGS(BRAID_ARG(at)) }, NULL));
    }
    return graph;
}

static void run_with(braid_device *device, uint64_t nth, bool *out_failed)
{
    braid_graph *graph = make_graph();
    braid_runner *runner = NULL;
    uint64_t num = 0;
    memset(counts, 0, sizeof(counts));
    failing_memory_arm_once(nth);
    braid_status status = braid_runner_create(device, graph, NULL, &runner);
    assert_true(status == BRAID_OK || status == BRAID_NO_MEMORY);
    for (int i = 0; i < NUM_FRAMES && runner; i++) {
        status = braid_runner_launch(runner, NULL);
        assert_true(status == BRAID_OK || status == BRAID_NO_MEMORY);
        num += status == BRAID_OK;
        check_ok(braid_runner_wait(runner));
    }
    *out_failed = failing_memory_disarm();
    for (int i = 0; i < NUM_NODES; i++)
        assert_int_equal(counts[i], num);
    assert_true(num + 1 >= NUM_FRAMES || !runner);
    braid_runner_destroy(runner);
    braid_graph_destroy(graph);
}

static void any_allocation_may_fail(void **state)
{
    (void)state;
    braid_device *device;
    check_ok(
        braid_device_open(&(braid_device_options){ .backend = "cpu", .num_workers = 2 }, &device));
    bool failed = true;
    uint64_t num = 0;
    for (uint64_t nth = 1; failed; nth += STEP, num++)
        run_with(device, nth, &failed);
    print_message("summary: %llu allocations of a runner failed\n", (unsigned long long)num);
    assert_true(num > 10);
    check_ok(braid_device_close(device));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(any_allocation_may_fail) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
