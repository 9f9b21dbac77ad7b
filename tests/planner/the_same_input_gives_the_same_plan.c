// SPDX-License-Identifier: Apache-2.0
// A plan depends on the graph and the options alone, and on the order in which nodes were added
// only where two of them have equal claims.
#include <stdlib.h>
#include <string.h>

#include "planner/plan_testing.h"
#include "support/wide_plan.h"

static void check_same_steps(const braid_schedule *a, const braid_schedule *b)
{
    braid_schedule_info of_a, of_b;
    braid_schedule_get_info(a, &of_a);
    braid_schedule_get_info(b, &of_b);
    const braid_step *steps_a = of_a.steps, *steps_b = of_b.steps;
    size_t num_a = of_a.num_steps, num_b = of_b.num_steps;
    assert_int_equal(num_a, num_b);
    for (size_t i = 0; i < num_a; i++) {
        assert_int_equal(steps_a[i].kind, steps_b[i].kind);
        assert_int_equal(steps_a[i].lane, steps_b[i].lane);
        assert_int_equal(steps_a[i].node, steps_b[i].node);
        assert_int_equal(steps_a[i].position, steps_b[i].position);
    }
}

static void planning_twice(void **state)
{
    (void)state;
    struct random random = { 31 };
    uint32_t from[1200], to[1200], num_nodes;
    size_t num_edges;
    for (int trial = 0; trial < 100; trial++) {
        struct random again = random;
        braid_graph *graph = random_graph(&random, 300, &num_nodes, from, to, &num_edges);
        braid_graph *other = random_graph(&again, 300, &num_nodes, from, to, &num_edges);
        braid_schedule_options options = { .costs = &free_costs,
                                           .max_lanes = 1 + random_below(&random, 8) };
        braid_schedule *a = plan_with(graph, &options), *b = plan_with(other, &options);
        check_same_steps(a, b);
        destroy_now(a);
        destroy_now(b);
        destroy_now(graph);
        destroy_now(other);
    }
}

// Costs so large and random that no two paths weigh the same.
static void relabelling_changes_nothing(void **state)
{
    (void)state;
    enum { NUM = 200, LANES = 5 };
    struct random random = { 32 };
    for (int trial = 0; trial < 60; trial++) {
        uint32_t label[NUM];
        uint64_t cost[NUM];
        uint32_t pred[NUM][3], num_preds[NUM];
        for (uint32_t i = 0; i < NUM; i++) {
            cost[i] = 1000000 + random_next(&random) % (UINT64_C(1) << 40);
            num_preds[i] = i ? random_below(&random, 4) : 0;
            for (uint32_t k = 0; k < num_preds[i]; k++)
                pred[i][k] = random_below(&random, i);
            uint32_t swap = random_below(&random, i + 1);
            label[i] = label[swap];
            label[swap] = i;
        }
        // label[i] is the index of node i in the second graph.
        braid_graph *graph = new_graph(), *other = new_graph();
        uint64_t other_cost[NUM];
        for (uint32_t i = 0; i < NUM; i++)
            other_cost[label[i]] = cost[i];
        for (uint32_t i = 0; i < NUM; i++) {
            new_node(graph, NULL, cost[i], NO_NODE, NO_NODE);
            new_node(other, NULL, other_cost[i], NO_NODE, NO_NODE);
        }
        for (uint32_t i = 0; i < NUM; i++) {
            for (uint32_t k = 0; k < num_preds[i]; k++) {
                new_edge(graph, braid_graph_get_node(graph, pred[i][k]),
                         braid_graph_get_node(graph, i));
                new_edge(other, braid_graph_get_node(other, label[pred[i][k]]),
                         braid_graph_get_node(other, label[i]));
            }
        }
        braid_schedule *a = plan_on(graph, LANES), *b = plan_on(other, LANES);
        assert_int_equal(info_of(a).makespan_ns, info_of(b).makespan_ns);
        assert_int_equal(info_of(a).num_waits, info_of(b).num_waits);
        assert_int_equal(info_of(a).num_records, info_of(b).num_records);
        for (uint32_t i = 0; i < NUM; i++) {
            braid_placement x = placement_of(a, braid_graph_get_node(graph, i));
            braid_placement y = placement_of(b, braid_graph_get_node(other, label[i]));
            assert_int_equal(x.lane, y.lane);
            assert_int_equal(x.start_ns, y.start_ns);
        }
        destroy_now(a);
        destroy_now(b);
        destroy_now(graph);
        destroy_now(other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(planning_twice),
        owning_test(relabelling_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
