// SPDX-License-Identifier: Apache-2.0
// No plan waits where the graph and the lane orders say the same already.
#include "planner/minimum.h"
#include "planner/plan_testing.h"
#include "support/wide_plan.h"

static uint64_t waits_on(const braid_graph *graph, uint32_t lanes)
{
    braid_schedule *schedule = plan_on(graph, lanes);
    uint64_t waits = info_of(schedule).num_waits;
    destroy_now(schedule);
    return waits;
}

static void random_graphs_match_brute_force(void **state)
{
    (void)state;
    struct random random = { 5 };
    uint32_t from[480], to[480], num_nodes;
    size_t num_edges;
    for (int trial = 0; trial < 400; trial++) {
        braid_graph *graph = random_graph(&random, 120, &num_nodes, from, to, &num_edges);
        braid_cost_model costs = { 0 };
        braid_schedule_options options = { .costs = &costs,
                                           .max_lanes = 1 + random_below(&random, 9),
                                           .fixed_lanes = true };
        if (random_chance(&random, 30))
            costs = (braid_cost_model){ .node_ns = 2, .wait_ns = 30, .max_concurrent = 3 };
        braid_schedule *schedule = plan_with(graph, &options);
        assert_int_equal(info_of(schedule).num_waits,
                         minimum_waits(schedule, num_nodes, from, to, num_edges));
        destroy_now(schedule);
        destroy_now(graph);
    }
}

static void a_chain_needs_none_at_any_number_of_lanes(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_node last = NO_NODE, before = NO_NODE;
    for (int i = 0; i < 100; i++) {
        braid_node next = new_node(graph, NULL, 1 + (uint64_t)i % 7, last, before);
        before = last;
        last = next;
    }
    for (uint32_t lanes = 1; lanes <= 16; lanes++)
        assert_int_equal(waits_on(graph, lanes), 0);
}

static void one_lane_needs_none(void **state)
{
    (void)state;
    struct random random = { 6 };
    uint32_t from[400], to[400], num_nodes;
    size_t num_edges;
    for (int trial = 0; trial < 100; trial++) {
        braid_graph *graph = random_graph(&random, 100, &num_nodes, from, to, &num_edges);
        braid_schedule *schedule = plan_on(graph, 1);
        braid_schedule_info info = info_of(schedule);
        assert_int_equal(info.num_waits, 0);
        assert_int_equal(info.num_records, 0);
        assert_int_equal(info.num_records, 0);
        assert_int_equal(info.makespan_ns, info.work_ns);
        destroy_now(schedule);
        destroy_now(graph);
    }
}

// Independent chains: each stays on its lane.
static void independent_chains_need_none(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_node last[4] = { { 0 } };
    for (int i = 0; i < 400; i++)
        last[i % 4] = new_node(graph, NULL, 10, last[i % 4], NO_NODE);
    assert_int_equal(waits_on(graph, 4), 0);
}

static bool reaches(uint32_t from, uint32_t to, const uint32_t *edge_from, const uint32_t *edge_to,
                    size_t num_edges)
{
    if (from == to)
        return true;
    for (size_t i = 0; i < num_edges; i++) {
        if (edge_from[i] == from && edge_to[i] <= to &&
            reaches(edge_to[i], to, edge_from, edge_to, num_edges))
            return true;
    }
    return false;
}

static void an_implied_edge_never_adds_a_wait(void **state)
{
    (void)state;
    struct random random = { 8 };
    uint32_t from[120], to[120], num_nodes;
    size_t num_edges, added = 0;
    for (int trial = 0; trial < 300; trial++) {
        braid_graph *graph = random_graph(&random, 30, &num_nodes, from, to, &num_edges);
        uint32_t lanes = 1 + random_below(&random, 6);
        uint64_t before = waits_on(graph, lanes);
        for (int i = 0; i < 30; i++) {
            uint32_t a = random_below(&random, num_nodes), b = random_below(&random, num_nodes);
            if (a >= b || !reaches(a, b, from, to, num_edges))
                continue;
            new_edge(graph, braid_graph_get_node(graph, a), braid_graph_get_node(graph, b));
            added++;
            assert_int_equal(waits_on(graph, lanes), before);
        }
        destroy_now(graph);
    }
    assert_true(added > 1000);
}

// With a lane for all, nodes share a lane only where the graph orders them.
static void lanes_for_all_never_join_free_nodes(void **state)
{
    (void)state;
    struct random random = { 10 };
    uint32_t from[400], to[400], num_nodes;
    size_t num_edges;
    for (int trial = 0; trial < 60; trial++) {
        braid_graph *graph = random_graph(&random, 100, &num_nodes, from, to, &num_edges);
        braid_schedule_options options = wide_plan();
        braid_schedule *schedule = plan_with(graph, &options);
        assert_int_equal(info_of(schedule).makespan_ns, info_of(schedule).critical_path_ns);
        assert_int_equal(info_of(schedule).num_serialisations, 0);
        for (uint32_t a = 0; a < num_nodes; a++) {
            for (uint32_t b = a + 1; b < num_nodes; b++) {
                if (placement_of(schedule, braid_graph_get_node(graph, a)).lane !=
                    placement_of(schedule, braid_graph_get_node(graph, b)).lane)
                    continue;
                char line[256];
                const braid_node pair[] = { braid_graph_get_node(graph, a),
                                            braid_graph_get_node(graph, b) };
                check_ok(braid_schedule_explain(schedule, pair, 2, line, sizeof(line)));
                assert_memory_equal(line, "ordered ", 8);
            }
        }
        destroy_now(schedule);
        destroy_now(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(random_graphs_match_brute_force),
        owning_test(a_chain_needs_none_at_any_number_of_lanes),
        owning_test(one_lane_needs_none),
        owning_test(independent_chains_need_none),
        owning_test(an_implied_edge_never_adds_a_wait),
        owning_test(lanes_for_all_never_join_free_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
