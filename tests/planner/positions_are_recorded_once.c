// SPDX-License-Identifier: Apache-2.0
// There is one record for each node waited on, each of another position, which count up in issue
// order; and each wait stands behind the record that it means.
#include <stdlib.h>

#include "planner/plan_testing.h"
#include "support/wide_plan.h"

static void check_positions(const braid_schedule *schedule)
{
    braid_schedule_info info = info_of(schedule);
    const braid_step *steps = info.steps;
    uint32_t *recorded = calloc(info.num_records + 1, sizeof(*recorded)); // by position: the node
    bool *has_record = calloc(info.num_nodes + 1, sizeof(*has_record));
    bool *is_waited = calloc(info.num_nodes + 1, sizeof(*is_waited));
    uint64_t waits = 0, records = 0;
    for (size_t i = 0; i < info.num_steps; i++) {
        const braid_step *step = &steps[i];
        if (step->kind == BRAID_STEP_RECORD) {
            assert_int_equal(step->position, records);
            assert_true(records < info.num_records);
            assert_false(has_record[step->node]);
            has_record[step->node] = true;
            recorded[records++] = step->node;
        } else if (step->kind == BRAID_STEP_WAIT) {
            assert_true(step->position < records);
            assert_int_equal(recorded[step->position], step->node);
            is_waited[step->node] = true;
            waits++;
        } else {
            assert_int_equal(step->position, 0);
        }
    }
    assert_int_equal(waits, info.num_waits);
    assert_int_equal(records, info.num_records);
    for (uint32_t i = 0; i < info.num_nodes; i++)
        assert_int_equal(has_record[i], is_waited[i]);
    free(recorded);
    free(has_record);
    free(is_waited);
}

static void on_random_graphs(void **state)
{
    (void)state;
    struct random random = { 11 };
    uint32_t from[2000], to[2000], num_nodes;
    size_t num_edges;
    for (int trial = 0; trial < 300; trial++) {
        braid_graph *graph = random_graph(&random, 500, &num_nodes, from, to, &num_edges);
        braid_schedule_options options = { .costs = &free_costs,
                                           .max_lanes = 1 + random_below(&random, 12),
                                           .fixed_lanes = true };
        if (random_chance(&random, 20))
            options = wide_plan();
        braid_schedule *schedule = plan_with(graph, &options);
        check_positions(schedule);
        destroy_now(schedule);
        destroy_now(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { owning_test(on_random_graphs) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
