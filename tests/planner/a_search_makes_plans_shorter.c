// SPDX-License-Identifier: Apache-2.0
// Every plan is searched for a little beyond list scheduling, and further by
// braid_schedule_options.effort: that finds shorter plans, never a longer one, and always the same.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "planner/corpus.h"
#include "planner/minimum.h"
#include "planner/plan_testing.h"

// The longest first leaves 3 + 2 and 3 + 2 + 2 on two lanes; 3 + 3 and 2 + 2 + 2 are as long.
static void what_list_scheduling_misses_is_found(void **state)
{
    (void)state;
    static const uint64_t costs[] = { 3, 3, 2, 2, 2 };
    braid_graph *graph = new_graph();
    for (int i = 0; i < 5; i++)
        new_node(graph, NULL, costs[i], NO_NODE, NO_NODE);
    braid_schedule_options options = { .max_lanes = 2, .fixed_lanes = true };
    braid_schedule_info info = plan_info(graph, options);
    assert_int_equal(info.makespan_ns, 6);
    assert_int_equal(info.saved_ns, 0);
    assert_int_equal(info.num_lanes, 2);
    braid_graph_destroy(graph);
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
    braid_schedule_options options = { .max_lanes = 2, .fixed_lanes = true };
    assert_int_equal(plan_info(graph, options).makespan_ns, 74);
    braid_graph_destroy(graph);
}

// Waits take as much as nodes: 13 is the optimum, and list scheduling alone takes 21.
static void nodes_go_where_waits_are_spared(void **state)
{
    (void)state;
    static const uint64_t costs[] = { 1, 4, 4, 1, 4, 7 };
    static const int edges[][2] = { { 0, 1 }, { 0, 2 }, { 0, 3 }, { 1, 3 },
                                    { 0, 4 }, { 1, 4 }, { 2, 4 }, { 3, 5 } };
    braid_graph *graph = new_graph();
    braid_node nodes[6];
    for (int i = 0; i < 6; i++)
        nodes[i] = new_node(graph, NULL, costs[i], NO_NODE, NO_NODE);
    for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++)
        new_edge(graph, nodes[edges[i][0]], nodes[edges[i][1]]);
    braid_schedule_options options = { .max_lanes = 2, .fixed_lanes = true };
    options.costs.wait_ns = 4;
    assert_int_equal(plan_info(graph, options).makespan_ns, 13);
    braid_graph_destroy(graph);
}

static braid_schedule_options random_options(struct random *random)
{
    braid_schedule_options options = { .max_lanes = 2 + random_below(random, 7),
                                       .fixed_lanes = random_chance(random, 70) };
    if (random_chance(random, 60))
        options.costs = (braid_cost_model){ .node_ns = random_below(random, 20),
                                            .wait_ns = random_below(random, 60),
                                            .root_ns = random_below(random, 30) };
    if (random_chance(random, 30))
        options.costs.max_concurrent = 1 + random_below(random, 4);
    if (random_chance(random, 30))
        options.costs.issue_ns = 1 + random_below(random, 30);
    if (random_chance(random, 30))
        options.costs.host_issues = 1;
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
static void no_plan_is_longer_and_waits_stay_the_fewest(void **state)
{
    (void)state;
    struct random random = { 81 };
    uint32_t from[480], to[480], num_nodes;
    size_t num_edges;
    uint32_t num_shorter = 0;
    for (int trial = 0; trial < 200; trial++) {
        braid_graph *graph = random_graph(&random, 120, &num_nodes, from, to, &num_edges);
        braid_schedule_options options = random_options(&random);
        braid_schedule_info listed = plan_info(graph, options);
        options.effort = 30;
        braid_schedule *found = plan_with(graph, &options), *again = plan_with(graph, &options);
        braid_schedule_info info = info_of(found);
        assert_true(info.expected_ns <= listed.expected_ns);
        if (options.fixed_lanes)
            assert_int_equal(info.makespan_ns + info.saved_ns, listed.makespan_ns);
        if (info.makespan_ns == listed.makespan_ns && info.num_lanes == listed.num_lanes)
            assert_true(info.num_waits <= listed.num_waits);
        assert_int_equal(info.num_waits, minimum_waits(found, num_nodes, from, to, num_edges));
        check_same(found, again);
        num_shorter += info.makespan_ns < listed.makespan_ns;
        braid_schedule_destroy(found);
        braid_schedule_destroy(again);
        braid_graph_destroy(graph);
    }
    assert_true(num_shorter > 0);
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
        braid_schedule_options options = random_options(&random);
        braid_schedule_info listed = plan_info(graph, options);
        options.effort = 20;
        assert_true(plan_info(graph, options).expected_ns <= listed.expected_ns);
        braid_graph_destroy(graph);
    }
}

static void maximum_concurrency_has_nothing_to_search(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    for (uint32_t i = 0; i < 20; i++)
        new_node(graph, NULL, 5, i < 4 ? NO_NODE : braid_graph_node(graph, i - 4), NO_NODE);
    braid_schedule_options options = { .policy = BRAID_POLICY_MAX_CONCURRENCY, .effort = 100 };
    braid_schedule_info info = plan_info(graph, options);
    assert_int_equal(info.num_lanes, 4);
    assert_int_equal(info.saved_ns, 0);
    braid_graph_destroy(graph);
    graph = new_graph();
    options.policy = BRAID_POLICY_DEFAULT;
    assert_int_equal(plan_info(graph, options).num_nodes, 0);
    braid_graph_destroy(graph);
}

// A wait as long as half a node; graphs that the moves were not chosen by (every other one).
static void real_graphs_gain(void **state)
{
    (void)state;
    struct corpus corpus;
    if (!corpus_folder())
        skip_because("the corpus is not here: BRAID_CORPUS names no folder, and there is no "
                     "shared/dags in or beside the source tree");
    assert_true(corpus_read(corpus_folder(), &corpus));
    uint32_t num = 0, num_shorter = 0;
    double most = 0, sum = 0;
    for (size_t i = 1; i < corpus.num_graphs; i += 2) {
        if (corpus.graphs[i].num_nodes < 20 || corpus.graphs[i].num_nodes > 400)
            continue;
        braid_graph *graph;
        check_ok(corpus_make_graph(&corpus.graphs[i], &graph));
        braid_schedule_options options = { .max_lanes = 1, .fixed_lanes = true };
        braid_schedule_info one = plan_info(graph, options);
        options.max_lanes = 8;
        options.costs.wait_ns = one.work_ns / one.num_nodes / 2;
        braid_schedule_info listed = plan_info(graph, options);
        options.effort = 50;
        braid_schedule_info info = plan_info(graph, options);
        double gain = (double)info.saved_ns / (double)listed.makespan_ns;
        assert_true(info.makespan_ns <= listed.makespan_ns);
        num++;
        num_shorter += info.saved_ns > 0;
        most = gain > most ? gain : most;
        sum += gain;
        braid_graph_destroy(graph);
    }
    printf("summary: effort 50, 8 lanes, a wait half a node: %u of %u graphs (n <= 400) are "
           "shorter, %.2f %% in the mean, %.2f %% at most\n",
           num_shorter, num, 100 * sum / num, 100 * most);
    corpus_finish(&corpus);
    assert_true(num_shorter * 20 > num);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_list_scheduling_misses_is_found),
        cmocka_unit_test(a_lane_stays_idle_beside_a_ready_node_where_that_gains),
        cmocka_unit_test(nodes_go_where_waits_are_spared),
        cmocka_unit_test(no_plan_is_longer_and_waits_stay_the_fewest),
        cmocka_unit_test(bundles_and_hints_are_kept),
        cmocka_unit_test(maximum_concurrency_has_nothing_to_search),
        cmocka_unit_test(real_graphs_gain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
