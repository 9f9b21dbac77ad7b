// SPDX-License-Identifier: Apache-2.0
// Whichever allocation of a tuning fails, it says so or goes on without: no way is written, nothing
// is reported, and the same graph can be tuned when there is memory again.
#include <string.h>

#include <braid/braid.h>
#include <braid/tune.h>

#include "support/check.h"
#include "support/failing_memory.h"

enum { NUM_NODES = 6, STEP = 31 };

static void do_nothing(const braid_blocks *blocks, void *const *args)
{
    (void)blocks, (void)args;
}

static void count(const braid_tune_trial *trial, void *user)
{
    (void)trial;
    ++*(int *)user;
}

static braid_graph *make_graph(void)
{
    static const braid_kernel kernel = { .name = "nothing", .cpu = do_nothing };
    braid_graph *graph;
    check_ok(braid_graph_create(&graph));
    for (int i = 0; i < NUM_NODES; i++)
        check_ok(braid_graph_add_kernel(
            graph, &(braid_kernel_node){ .node.cost_ns = 100000, .kernel = &kernel }, NULL));
    return graph;
}

static void check_tuning(braid_device *device, braid_graph *graph, uint64_t nth, bool *out_failed)
{
    int num_told = 0;
    const braid_tune_options options = {
        .budget_ns = 1, .max_lanes = 2, .keep_costs = true, .report = count, .user = &num_told
    };
    braid_exec_options way = { .frames_kept = 7 };
    failing_memory_arm_once(nth);
    braid_status status = braid_graph_tune(graph, device, &options, &way);
    *out_failed = failing_memory_disarm();
    assert_true(status == BRAID_OK || (*out_failed && status == BRAID_NO_MEMORY));
    assert_int_equal(status == BRAID_OK, num_told > 0);
    assert_int_equal(status == BRAID_OK, way.frames_kept == 0);
    if (status)
        assert_non_null(strstr(braid_error_get_message(), "memory"));
}

static void any_allocation_may_fail(void **state)
{
    (void)state;
    braid_device *device;
    const braid_device_options options = { .backend = "cpu", .num_workers = 2 };
    check_ok(braid_device_open(&options, &device));
    braid_graph *graph = make_graph();
    bool failed = true;
    uint64_t num = 0;
    for (uint64_t nth = 1; failed; nth += STEP, num++)
        check_tuning(device, graph, nth, &failed);
    print_message("summary: %llu allocations of a tuning failed\n", (unsigned long long)num);
    assert_true(num > 20);
    check_tuning(device, graph, UINT64_MAX, &failed);
    braid_graph_destroy(graph);
    check_ok(braid_device_close(device));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(any_allocation_may_fail) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
