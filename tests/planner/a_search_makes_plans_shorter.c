// SPDX-License-Identifier: Apache-2.0
// Every plan is searched for beyond list scheduling, always with the same result.
#include <string.h>

#include "planner/minimum.h"
#include "planner/plan_testing.h"
#include "support/wide_plan.h"

// The longest first leaves 3 + 2 and 3 + 2 + 2 on two lanes; 3 + 3 and 2 + 2 + 2 are as long.
static void what_list_scheduling_misses_is_found(void **state)
{
    (void)state;
    static const uint64_t costs[] = { 3, 3, 2, 2, 2 };
    braid_graph *graph = new_graph();
    for (int i = 0; i < 5; i++)
        new_node(graph, NULL, costs[i], NO_NODE, NO_NODE);
    braid_schedule_options options = { .costs = &free_costs, .max_lanes = 2, .fixed_lanes = true };
    braid_schedule_info info = plan_info(graph, options);
    assert_int_equal(info.makespan_ns, 6);
    assert_int_equal(info.num_lanes, 2);
}

// Node 1 may start at once, and must not: node 2 and node 3 want both lanes right after node 0.
static void a_lane_stays_idle_beside_a_ready_node_where_that_gains(void **state)
{
    (void)state;
    static const uint64_t costs[] = { 1, 37, 36, 36, 27, 10 };
    braid_graph *graph = new_graph();
    braid_node nodes[6];
    for (int i = 0; i < 6; i++)
        nodes[i] = new_node(graph, NULL, costs[i], NO_NODE, NO_NODE);
    new_edge(graph, nodes[0], nodes[2]);
    new_edge(graph, nodes[0], nodes[3]);
    new_edge(graph, nodes[2], nodes[4]);
    new_edge(graph, nodes[3], nodes[4]);
    new_edge(graph, nodes[4], nodes[5]);
    braid_schedule_options options = { .costs = &free_costs, .max_lanes = 2, .fixed_lanes = true };
    assert_int_equal(plan_info(graph, options).makespan_ns, 74);
}

struct waiting {
    uint64_t costs[10], wait_ns, makespan_ns;
    int num_nodes, num_edges, edges[24][2];
};

// Waits take about as much as nodes. In the second graph each plan near a single lane is longer
// than that lane, so a search that takes no longer plan stays at 140.
static void nodes_go_where_waits_are_spared(void **state)
{
    (void)state;
    static const struct waiting cases[] = {
        { { 1, 4, 4, 1, 4, 7 },
          4,
          13,
          6,
          8,
          { { 0, 1 }, { 0, 2 }, { 0, 3 }, { 1, 3 }, { 0, 4 }, { 1, 4 }, { 2, 4 }, { 3, 5 } } },
        { { 4, 1, 29, 16, 7, 6, 21, 10, 31, 19 },
          49,
          98,
          10,
          20,
          { { 0, 2 }, { 1, 2 }, { 1, 3 }, { 0, 5 }, { 1, 5 }, { 4, 5 }, { 4, 6 },
            { 5, 6 }, { 0, 7 }, { 3, 7 }, { 4, 7 }, { 6, 7 }, { 2, 8 }, { 5, 8 },
            { 0, 9 }, { 1, 9 }, { 2, 9 }, { 4, 9 }, { 5, 9 }, { 8, 9 } } },
    };
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        braid_graph *graph = new_graph();
        braid_node nodes[10];
        for (int i = 0; i < cases[k].num_nodes; i++)
            nodes[i] = new_node(graph, NULL, cases[k].costs[i], NO_NODE, NO_NODE);
        for (int i = 0; i < cases[k].num_edges; i++)
            new_edge(graph, nodes[cases[k].edges[i][0]], nodes[cases[k].edges[i][1]]);
        braid_cost_model costs = { 0 };
        braid_schedule_options options = { .costs = &costs, .max_lanes = 2, .fixed_lanes = true };
        costs.wait_ns = cases[k].wait_ns;
        assert_int_equal(plan_info(graph, options).makespan_ns, cases[k].makespan_ns);
        destroy_now(graph);
    }
}

// Each further lane costs, and list scheduling takes all that it may.
static void many_lanes_that_cost_are_left(void **state)
{
    (void)state;
    struct random random = { 83 };
    uint32_t from[480], to[480], num_nodes;
    size_t num_edges;
    for (int trial = 0; trial < 10; trial++) {
        braid_graph *graph = random_graph(&random, 120, &num_nodes, from, to, &num_edges);
        braid_cost_model costs = { 0 };
        braid_schedule_options options = { .costs = &costs, .max_lanes = 3, .fixed_lanes = true };
        costs = (braid_cost_model){ .wait_ns = 5, .root_ns = 20 };
        uint64_t before_ns = plan_info(graph, options).makespan_ns;
        options.max_lanes = 112;
        assert_true(plan_info(graph, options).makespan_ns <= before_ns);
        destroy_now(graph);
    }
}

// The costs are written to *costs.
static braid_schedule_options random_options(struct random *random, braid_cost_model *costs)
{
    const braid_schedule_options options = { .costs = costs,
                                             .max_lanes = 2 + random_below(random, 7),
                                             .fixed_lanes = random_chance(random, 70) };
    *costs = free_costs;
    if (random_chance(random, 60))
        *costs = (braid_cost_model){ .node_ns = random_below(random, 20),
                                     .wait_ns = random_below(random, 60),
                                     .root_ns = random_below(random, 30) };
    if (random_chance(random, 30))
        costs->max_concurrent = 1 + random_below(random, 4);
    if (random_chance(random, 30))
        costs->issue_ns = 1 + random_below(random, 30);
    if (random_chance(random, 30))
        costs->host_issues = 1;
    return options;
}

static void check_same(const braid_schedule *a, const braid_schedule *b)
{
    braid_schedule_info of_a, of_b;
    braid_schedule_get_info(a, &of_a);
    braid_schedule_get_info(b, &of_b);
    const braid_step *steps_a = of_a.steps, *steps_b = of_b.steps;
    size_t num_a = of_a.num_steps, num_b = of_b.num_steps;
    assert_int_equal(num_a, num_b);
    assert_memory_equal(steps_a, steps_b, num_a * sizeof(*steps_a));
}

// plan_with proves each plan; what it predicts is what its steps take, by another way to the times.
static void plans_are_the_same_again_and_waits_the_fewest(void **state)
{
    (void)state;
    struct random random = { 81 };
    uint32_t from[480], to[480], num_nodes;
    size_t num_edges;
    for (int trial = 0; trial < 200; trial++) {
        braid_graph *graph = random_graph(&random, 120, &num_nodes, from, to, &num_edges);
        braid_cost_model costs;
        braid_schedule_options options = random_options(&random, &costs);
        braid_schedule *found = plan_with(graph, &options), *again = plan_with(graph, &options);
        braid_schedule_info info = info_of(found);
        assert_int_equal(info.num_waits, minimum_waits(found, num_nodes, from, to, num_edges));
        check_same(found, again);
        destroy_now(found);
        destroy_now(again);
        destroy_now(graph);
    }
}

// Loops that take preludes along; hints beside them.
static void bundles_and_hints_are_kept(void **state)
{
    (void)state;
    struct random random = { 82 };
    for (int trial = 0; trial < 60; trial++) {
        braid_graph *graph = new_graph();
        braid_resource lists[4];
        for (int i = 0; i < 4; i++)
            lists[i] = new_resource(graph, "list");
        for (int i = 0; i < 30; i++) {
            braid_node loop = new_user(graph, NULL, lists[random_below(&random, 4)],
                                       i % 3 ? BRAID_READ : BRAID_READ_WRITE, NO_RESOURCE, 0);
            if (random_chance(&random, 50))
                new_prelude(graph, loop, NULL, lists[random_below(&random, 4)], BRAID_WRITE);
            check_ok(braid_graph_set_cost(graph, loop, 1 + random_below(&random, 100)));
        }
        braid_cost_model costs;
        braid_schedule_options options = random_options(&random, &costs);
        destroy_now(plan_with(graph, &options));
        destroy_now(graph);
    }
}

// Node 2 starts first on the lane of node 0, and must go to that of node 1, where node 4 needs it.
// Chains behind node 4 make the graph too large for all plans to be looked at.
static void a_lane_is_chosen_for_what_comes_behind(void **state)
{
    (void)state;
    static const uint64_t costs[] = { 1, 2, 2, 50, 4, 48 };
    static const int edges[][2] = { { 0, 2 }, { 1, 2 }, { 1, 3 }, { 2, 4 }, { 3, 4 }, { 0, 5 } };
    for (uint64_t behind = 0; behind <= 120; behind += 12) {
        braid_graph *graph = new_graph();
        braid_node nodes[6], last;
        for (int i = 0; i < 6; i++)
            nodes[i] = new_node(graph, NULL, costs[i], NO_NODE, NO_NODE);
        for (int i = 0; i < 6; i++)
            new_edge(graph, nodes[edges[i][0]], nodes[edges[i][1]]);
        last = nodes[4];
        for (uint64_t i = 0; i < behind; i++)
            last = new_node(graph, NULL, 1, last, NO_NODE);
        for (int fixed = 0; fixed < 2; fixed++) {
            braid_cost_model ordering = { 0 };
            braid_schedule_options options = { .costs = &ordering,
                                               .max_lanes = 2,
                                               .fixed_lanes = fixed };
            ordering.wait_ns = 49;
            assert_int_equal(plan_info(graph, options).makespan_ns, 58 + behind);
        }
        destroy_now(graph);
    }
}

// The graph has few nodes that others run beside, yet most plans of it have the same bound. The
// chain comes after all sinks, and takes 22.
static void all_plans_of_a_small_graph_before_a_chain_are_looked_at(void **state)
{
    (void)state;
    static const uint64_t costs[] = { 9, 1, 28, 31, 10, 26, 3, 17, 3, 28 };
    static const int edges[][2] = { { 0, 1 }, { 1, 2 }, { 0, 3 }, { 1, 5 },
                                    { 0, 6 }, { 2, 6 }, { 0, 9 }, { 4, 9 } };
    braid_graph *graph = new_graph();
    braid_node nodes[10], last;
    for (int i = 0; i < 10; i++)
        nodes[i] = new_node(graph, NULL, costs[i], NO_NODE, NO_NODE);
    for (int i = 0; i < 8; i++)
        new_edge(graph, nodes[edges[i][0]], nodes[edges[i][1]]);
    last = new_node(graph, NULL, 1, nodes[3], nodes[5]);
    for (int i = 6; i < 10; i++)
        new_edge(graph, nodes[i], last);
    for (int i = 1; i < 22; i++)
        last = new_node(graph, NULL, 1, last, NO_NODE);
    braid_cost_model ordering = { .wait_ns = 46 };
    braid_schedule_options options = { .costs = &ordering, .max_lanes = 2, .fixed_lanes = true };
    assert_int_equal(plan_info(graph, options).makespan_ns, 136);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(what_list_scheduling_misses_is_found),
        owning_test(a_lane_stays_idle_beside_a_ready_node_where_that_gains),
        owning_test(many_lanes_that_cost_are_left),
        owning_test(nodes_go_where_waits_are_spared),
        owning_test(a_lane_is_chosen_for_what_comes_behind),
        owning_test(all_plans_of_a_small_graph_before_a_chain_are_looked_at),
        owning_test(plans_are_the_same_again_and_waits_the_fewest),
        owning_test(bundles_and_hints_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
