// SPDX-License-Identifier: Apache-2.0
// Submitted in issue order, each wait captures the record it means, there is one record for each
// node waited on, and no more event objects than records whose waits are still to come at once.
#include <stdlib.h>

#include "planner/plan_testing.h"

#define NOBODY UINT32_MAX

static void check_events(const braid_schedule *schedule)
{
    size_t num_steps;
    const braid_step *steps = braid_schedule_steps(schedule, &num_steps);
    braid_schedule_info info = info_of(schedule);
    uint32_t *recorded = malloc((info.num_events + 1) * sizeof(*recorded));
    uint32_t *waits_left = calloc(info.num_nodes + 1, sizeof(*waits_left));
    uint64_t waits = 0, records = 0;
    for (size_t i = 0; i < num_steps; i++) {
        waits += steps[i].kind == BRAID_STEP_WAIT;
        if (steps[i].kind == BRAID_STEP_WAIT)
            waits_left[steps[i].node]++;
    }
    for (uint32_t e = 0; e < info.num_events; e++)
        recorded[e] = NOBODY;
    uint32_t open = 0, most_open = 0; // records whose waits are not all submitted
    for (size_t i = 0; i < num_steps; i++) {
        const braid_step *step = &steps[i];
        if (step->kind == BRAID_STEP_RECORD) {
            uint32_t before = recorded[step->event];
            assert_true(before == NOBODY || waits_left[before] == 0);
            assert_true(waits_left[step->node] > 0);
            recorded[step->event] = step->node;
            records++;
            most_open = ++open > most_open ? open : most_open;
        } else if (step->kind == BRAID_STEP_WAIT) {
            assert_int_equal(recorded[step->event], step->node);
            open -= --waits_left[step->node] == 0;
        }
    }
    assert_int_equal(waits, info.num_waits);
    assert_int_equal(records, info.num_records);
    assert_int_equal(open, 0);
    assert_int_equal(most_open, info.num_events);
    free(recorded);
    free(waits_left);
}

static void on_random_graphs(void **state)
{
    (void)state;
    struct random random = { 11 };
    uint32_t from[2000], to[2000], num_nodes;
    size_t num_edges;
    for (int trial = 0; trial < 300; trial++) {
        braid_graph *graph = random_graph(&random, 500, &num_nodes, from, to, &num_edges);
        braid_schedule_options options = {
            .max_lanes = 1 + random_below(&random, 12),
            .fixed_lanes = true,
        };
        if (random_chance(&random, 20))
            options.policy = BRAID_POLICY_MAX_CONCURRENCY;
        braid_schedule *schedule = plan_with(graph, &options);
        check_events(schedule);
        braid_schedule_destroy(schedule);
        braid_graph_destroy(graph);
    }
}

static void a_long_pipeline_needs_few_events(void **state)
{
    (void)state;
    // Two chains that hand over at each stage: records come and go.
    braid_graph *graph = new_graph();
    braid_node a = NO_NODE, b = NO_NODE;
    for (int i = 0; i < 1000; i++) {
        braid_node next_a = new_node(graph, NULL, 10, a, b);
        b = new_node(graph, NULL, 10, b, a);
        a = next_a;
    }
    braid_schedule *schedule = plan_on(graph, 2);
    assert_true(info_of(schedule).num_waits > 900);
    assert_true(info_of(schedule).num_events <= 4);
    check_events(schedule);
    braid_schedule_destroy(schedule);
    braid_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_random_graphs),
        cmocka_unit_test(a_long_pipeline_needs_few_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
