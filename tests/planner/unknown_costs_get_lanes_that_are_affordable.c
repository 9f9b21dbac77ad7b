// SPDX-License-Identifier: Apache-2.0
// Nodes of unknown cost may be long: they get as many lanes as may run at once, unless that makes
// the frame much longer should they be as short as the cost model's default. In a driver graph,
// nodes of known cost get them unless that makes the frame longer by more than a little.
#include "planner/plan_testing.h"

static const braid_kernel kernel = { .name = "kernel", .source = "not compiled" };

// `width` chains of `length` kernels; with `cross`, each also waits for one of the next chain.
static braid_graph *kernels(uint32_t width, uint32_t length, bool cross, uint64_t cost_ns)
{
    braid_graph *graph = new_graph();
    for (uint32_t i = 0; i < width * length; i++) {
        braid_node before[2] = { NO_NODE, NO_NODE };
        uint32_t row = i / width, column = i % width, num = 0;
        if (row > 0) {
            before[num++] = braid_graph_get_node(graph, i - width);
            if (cross)
                before[num++] =
                    braid_graph_get_node(graph, (row - 1) * width + (column + 1) % width);
        }
        const braid_kernel_node launch = {
            .node = { .after = before, .num_after = num, .cost_ns = cost_ns },
            .kernel = &kernel,
        };
        check_ok(braid_graph_add_kernel(graph, &launch, NULL));
    }
    return graph;
}

static uint32_t lanes_of(braid_graph *graph, braid_cost_model model)
{
    braid_schedule_options options = { .costs = &model };
    braid_schedule *schedule = plan_with(graph, &options);
    uint32_t num_lanes = info_of(schedule).num_lanes;
    destroy_now(schedule);
    destroy_now(graph);
    return num_lanes;
}

static void as_many_as_may_run_at_once(void **state)
{
    (void)state;
    assert_int_equal(lanes_of(kernels(16, 1, false, 0), (braid_cost_model){ 0 }), 16);
    // On a CPU of 16 cores: 10 lanes are better should they take 10 us each.
    braid_cost_model cpu = { .default_cost_ns = 10000,
                             .node_ns = 120,
                             .wait_ns = 600,
                             .root_ns = 3000,
                             .max_concurrent = 16,
                             .issue_wait_ns = 50 };
    assert_int_equal(lanes_of(kernels(16, 1, false, 0), cpu), 16);
    assert_in_range(lanes_of(kernels(16, 1, false, 10000), cpu), 2, 10);
    cpu.max_concurrent = 4;
    assert_int_equal(lanes_of(kernels(16, 1, false, 0), cpu), 4);
}

static void lanes_that_cost_much_are_not_taken(void **state)
{
    (void)state;
    // Further lanes take longer than what they could run.
    const braid_cost_model roots = { .default_cost_ns = 1000, .root_ns = 1000 };
    assert_in_range(lanes_of(kernels(64, 1, false, 0), roots), 8, 20);
    // Starting a node takes as long as the node, and each wait longer.
    const braid_cost_model issue = {
        .default_cost_ns = 1000, .max_concurrent = 128, .issue_ns = 1000, .issue_wait_ns = 3000
    };
    assert_in_range(lanes_of(kernels(128, 8, true, 0), issue), 1, 8);
    // Without waits, nothing is lost by many lanes.
    assert_int_equal(lanes_of(kernels(128, 8, false, 0), issue), 128);
}

// Too big to try many numbers.
static void big_graphs_follow_the_same_rule(void **state)
{
    (void)state;
    const braid_cost_model roots = { .default_cost_ns = 1, .root_ns = 1000000 };
    assert_int_equal(lanes_of(kernels(400, 300, true, 0), roots), 1);
    const braid_cost_model few = { .default_cost_ns = 1000, .max_concurrent = 6 };
    assert_int_equal(lanes_of(kernels(400, 300, true, 0), few), 6);
}

static braid_graph *long_and_short_chains(void)
{
    braid_graph *graph = new_graph();
    braid_node chain = NO_NODE;
    for (int i = 0; i < 100; i++)
        chain = new_node(graph, NULL, 10000, chain, NO_NODE);
    for (int i = 0; i < 2; i++) {
        chain = NO_NODE;
        for (int k = 0; k < 40; k++)
            chain = new_node(graph, NULL, 10000, chain, NO_NODE);
    }
    return graph;
}

// Two lanes are as short as three by the costs. On three, no chain stands behind another.
static void a_device_that_orders_lanes_itself_gets_a_lane_for_each_chain(void **state)
{
    (void)state;
    braid_graph *graph = long_and_short_chains();
    braid_schedule_options options = { .costs =
                                           &(braid_cost_model){ .node_ns = 500, .wait_ns = 800 } };
    braid_cost_model ordering = *options.costs;
    options.costs = &ordering;
    assert_int_equal(plan_info(graph, options).num_lanes, 2);
    ordering.issue_ns = 160;
    assert_int_equal(plan_info(graph, options).num_lanes, 3);
    // A limit of the program's keeps the fewest. So does a host that queues each node.
    options.max_lanes = 8;
    assert_int_equal(plan_info(graph, options).num_lanes, 2);
    options.max_lanes = 0;
    ordering.host_issues = 1;
    assert_int_equal(plan_info(graph, options).num_lanes, 2);
    // A lane that costs more than a thirty-second part of the frame is not taken.
    ordering.host_issues = 0;
    ordering.root_ns = 100000;
    assert_int_equal(plan_info(graph, options).num_lanes, 2);
    // Launches take more than an eighth of the frame.
    ordering.root_ns = 0;
    ordering.issue_ns = 1000;
    assert_int_equal(plan_info(graph, options).num_lanes, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(as_many_as_may_run_at_once),
        owning_test(lanes_that_cost_much_are_not_taken),
        owning_test(big_graphs_follow_the_same_rule),
        owning_test(a_device_that_orders_lanes_itself_gets_a_lane_for_each_chain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
