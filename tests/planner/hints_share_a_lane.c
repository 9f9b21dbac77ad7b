// SPDX-License-Identifier: Apache-2.0
// Nodes with one lane hint share a lane, in insertion order, at any number of lanes.
#include "planner/plan_testing.h"
#include "support/wide_plan.h"

static void hinted_nodes_keep_lane_and_order(void **state)
{
    (void)state;
    struct random random = { 7 };
    for (uint32_t trial = 0; trial < 200; trial++) {
        braid_graph *graph = new_graph();
        uint32_t num = 1 + random_below(&random, 60), num_hints = 1 + random_below(&random, 8);
        uint32_t hints[60];
        braid_node nodes[60];
        const struct random_shape shape = {
            .edges = 1, .hinted = 80, .num_hints = num_hints, .most_ns = 50
        };
        for (uint32_t i = 0; i < num; i++) {
            struct random_choice choice;
            random_choose(&random, &shape, nodes, i, NULL, &choice);
            hints[i] = choice.options.lane_hint;
            check_ok(braid_graph_add_empty(graph, &(braid_empty){ choice.options }, &nodes[i]));
        }
        braid_cost_model costs = { 0 };
        braid_schedule_options options = { .costs = &costs,
                                           .max_lanes = 1 + random_below(&random, 6) };
        options.fixed_lanes = true;
        if (random_chance(&random, 30))
            options.max_lanes = BRAID_ALL_LANES;
        if (random_chance(&random, 30))
            costs = (braid_cost_model){ .node_ns = 3, .wait_ns = 20 };
        braid_schedule *schedule = plan_with(graph, &options);
        for (uint32_t hint = 1; hint <= num_hints; hint++) {
            uint32_t before = UINT32_MAX;
            for (uint32_t i = 0; i < num; i++) {
                if (hints[i] != hint)
                    continue;
                if (before != UINT32_MAX) {
                    braid_placement a = placement_of(schedule, braid_graph_get_node(graph, before));
                    braid_placement b = placement_of(schedule, braid_graph_get_node(graph, i));
                    assert_int_equal(a.lane, b.lane);
                    assert_true(a.end_ns <= b.start_ns);
                }
                before = i;
            }
        }
        destroy_now(schedule);
        destroy_now(graph);
    }
}

static void the_plan_says_that_a_hint_serialised(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_node a = new_hinted(graph, 5, 10, NO_NODE);
    braid_node b = new_hinted(graph, 5, 10, NO_NODE);
    braid_schedule *schedule = plan_on(graph, 2);
    assert_int_equal(info_of(schedule).num_lanes, 1);
    assert_int_equal(num_serialised(schedule, a, b, BRAID_SERIALISED_BY_HINT, NULL), 1);
    assert_int_equal(info_of(schedule).num_serialisations, 1);
    check_explains(schedule, a, b, "serialised by lane hint 5");
}

static void a_unit_that_waits_for_its_lane_is_told(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_node first = new_hinted(graph, 1, 10, NO_NODE);
    braid_node other = new_hinted(graph, 2, 5, NO_NODE);
    // Takes the lane of the first hint while the second node of that hint is not ready yet.
    braid_node guest = new_node(graph, "guest", 100, first, NO_NODE);
    braid_node slow = new_node(graph, "slow", 30, other, NO_NODE);
    braid_node second = new_hinted(graph, 1, 10, slow);
    braid_schedule *schedule = plan_on(graph, 2);
    assert_int_equal(placement_of(schedule, second).lane, placement_of(schedule, first).lane);
    assert_int_equal(placement_of(schedule, second).start_ns, placement_of(schedule, guest).end_ns);
    assert_int_equal(num_serialised(schedule, guest, second, BRAID_SERIALISED_BY_HINT, NULL), 1);
}

// With a lane for all, a heavy node that nothing but an edge ties to a hinted one leaves the lane
// to the next with that hint.
static void a_wide_plan_puts_no_free_node_between_hinted_ones(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_node first = new_hinted(graph, 7, 10, NO_NODE);
    braid_node heavy = new_hinted(graph, 0, 1000, first);
    braid_node second = new_hinted(graph, 7, 10, NO_NODE);
    const braid_schedule_options all = wide_plan();
    braid_schedule *schedule = plan_with(graph, &all);
    assert_int_equal(placement_of(schedule, first).lane, placement_of(schedule, second).lane);
    assert_int_not_equal(placement_of(schedule, heavy).lane, placement_of(schedule, second).lane);
    assert_int_equal(placement_of(schedule, second).start_ns, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(hinted_nodes_keep_lane_and_order),
        owning_test(the_plan_says_that_a_hint_serialised),
        owning_test(a_unit_that_waits_for_its_lane_is_told),
        owning_test(a_wide_plan_puts_no_free_node_between_hinted_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
