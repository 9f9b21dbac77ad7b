// SPDX-License-Identifier: Apache-2.0
// Where measuring has told that nodes slow each other, plans are as long as frames then are, and
// take no lanes that gain nothing.
#include "base/array.h"
#include "graph/graph.h"
#include "plan/plan_inside.h"
#include "plan/schedule.h"
#include "planner/plan_testing.h"
#include "support/failing_memory.h"

enum { ONE = GRAPH_CROWDING_ONE };

static void crowd(braid_graph *graph, uint16_t crowding)
{
    for (uint32_t i = 0; i < graph->nodes.num; i++)
        braid_graph_set_measured(graph, i, graph_nodes(graph)[i].cost_ns, crowding);
}

static void do_nothing(void *user)
{
    (void)user;
}

static const braid_schedule_options three_lanes = { .max_lanes = 3, .fixed_lanes = true };

static void nodes_at_once_are_longer(void **state)
{
    (void)state;
    braid_graph *graph = chains(3, 1, 1000);
    crowd(graph, ONE / 4);
    braid_schedule *schedule = plan_with(graph, &three_lanes);
    braid_schedule_info info = info_of(schedule);
    assert_int_equal(info.num_lanes, 3);
    assert_int_equal(info.makespan_ns, 1500); // two others beside each
    assert_int_equal(info.expected_ns, 1500);
    assert_int_equal(info.work_ns, 3000); // as nodes take alone
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(placement_of(schedule, braid_graph_node(graph, i)).end_ns, 1500);
    braid_schedule_destroy(schedule);
    braid_graph_destroy(graph);
}

// The short one has the long one beside it all the time, and this is alone for the rest.
static void only_the_time_beside_others_counts(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_node lone = new_node(graph, NULL, 3000, NO_NODE, NO_NODE);
    braid_node brief = new_node(graph, NULL, 1000, NO_NODE, NO_NODE);
    braid_node behind = new_node(graph, NULL, 100, lone, brief);
    crowd(graph, ONE);
    braid_schedule *schedule = plan_with(graph, &three_lanes);
    assert_int_equal(placement_of(schedule, brief).end_ns, 2000);
    assert_int_equal(placement_of(schedule, lone).end_ns, 4000); // half of 2000, and 2000 alone
    assert_int_equal(placement_of(schedule, behind).start_ns, 4000);
    assert_int_equal(info_of(schedule).makespan_ns, 4100);
    braid_schedule_destroy(schedule);
    braid_graph_destroy(graph);
}

static uint64_t length_inside(uint32_t threads, bool is_measured, bool shares_unit)
{
    enum { NUM = 3, COST_NS = 1600 };
    braid_graph *graph = chains(NUM, 1, COST_NS);
    struct island_fit fits[NUM];
    const struct plan_inside inside = { .fits = fits,
                                        .room = { .groups = 1, .shares_unit = shares_unit } };
    braid_schedule *schedule;
    assert_true(braid_graph_reserve_measured(graph));
    for (int i = 0; i < NUM; i++) {
        const struct graph_measured measured = { .alone_ns = is_measured ? COST_NS : 0 };
        graph_keep_measured(graph, (uint32_t)i, measured);
        fits[i] = (struct island_fit){ .threads = threads, .blocks = 1 };
    }
    check_ok(braid_schedule_create_inside(graph, &three_lanes, &inside, &schedule));
    const uint64_t length_ns = info_of(schedule).makespan_ns;
    braid_schedule_destroy(schedule);
    braid_graph_destroy(graph);
    return length_ns;
}

static void calls_on_one_multiprocessor_slow_each_other(void **state)
{
    (void)state;
    assert_int_equal(length_inside(256, true, true), 1600 + 2 * 700); // 7 of 16 for each other
    assert_int_equal(length_inside(32, true, true), 1600);
    assert_int_equal(length_inside(256, false, true), 1600);
    assert_int_equal(length_inside(256, true, false), 1600);
}

static void calls_that_sleep_slow_nobody(void **state)
{
    (void)state;
    braid_graph *graph = chains(1, 10, 1000);
    braid_node call;
    check_ok(braid_graph_add_host_call(
        graph, &(braid_host_call){ .node.cost_ns = 10000, .call = do_nothing, .blocking = true },
        &call));
    crowd(graph, ONE);
    braid_schedule *schedule = plan_with(graph, &three_lanes);
    assert_int_equal(info_of(schedule).makespan_ns, 10000);
    assert_int_equal(placement_of(schedule, call).end_ns, 10000);
    braid_schedule_destroy(schedule);
    braid_graph_destroy(graph);
}

// Gaps between nodes, waits and lanes cost what they do without.
static void overheads_stay(void **state)
{
    (void)state;
    const braid_schedule_options options = {
        .max_lanes = 2, .fixed_lanes = true, .costs = { .node_ns = 10, .wait_ns = 50, .root_ns = 7 }
    };
    braid_graph *graph = new_graph();
    braid_node first = new_node(graph, NULL, 1000, NO_NODE, NO_NODE);
    braid_node other = new_node(graph, NULL, 1000, NO_NODE, NO_NODE);
    new_node(graph, NULL, 1000, first, other);
    const uint64_t plain_ns = plan_info(graph, options).makespan_ns;
    assert_int_equal(plain_ns, 2057);
    crowd(graph, ONE / 2);
    assert_int_equal(plan_info(graph, options).makespan_ns, plain_ns + 500);
    braid_graph_destroy(graph);
}

// Two lanes gain nothing where two nodes at once take twice as long, and much where they do not.
static void lanes_that_gain_nothing_are_not_taken(void **state)
{
    (void)state;
    braid_graph *graph = chains(4, 10, 1000);
    assert_int_equal(plan_info(graph, (braid_schedule_options){ 0 }).num_lanes, 4);
    crowd(graph, ONE / 4);
    braid_schedule_info info = plan_info(graph, (braid_schedule_options){ 0 });
    assert_int_equal(info.num_lanes, 4);
    assert_int_equal(info.makespan_ns, 17500);
    crowd(graph, ONE);
    info = plan_info(graph, (braid_schedule_options){ 0 });
    assert_int_equal(info.num_lanes, 1);
    assert_int_equal(info.makespan_ns, 40000);
    info = plan_info(graph, (braid_schedule_options){ .ignore_costs = true });
    assert_int_equal(info.num_lanes, 4);
    // With the cost that the program sets, the rest of what was measured goes.
    for (uint32_t i = 0; i < graph->nodes.num; i++)
        check_ok(braid_graph_set_cost(graph, braid_graph_node(graph, i), 1000));
    assert_int_equal(plan_info(graph, (braid_schedule_options){ 0 }).num_lanes, 4);
    braid_graph_destroy(graph);
}

static void plans_for_concurrency_are_timed_too(void **state)
{
    (void)state;
    braid_graph *graph = chains(3, 2, 1000);
    crowd(graph, ONE / 4);
    const braid_schedule_options options = { .policy = BRAID_POLICY_MAX_CONCURRENCY };
    assert_int_equal(plan_info(graph, options).makespan_ns, 3000);
    braid_graph_destroy(graph);
}

static void memory_may_be_missing(void **state)
{
    (void)state;
    braid_graph *graph = chains(3, 2, 1000);
    crowd(graph, ONE / 4);
    for (uint64_t nth = 1;; nth++) {
        braid_schedule *schedule = NULL;
        failing_memory_arm(nth);
        braid_status status = braid_schedule_create(graph, NULL, &schedule);
        if (!failing_memory_disarm()) {
            check_ok(status);
            braid_schedule_destroy(schedule);
            break;
        }
        assert_int_equal(status, BRAID_NO_MEMORY);
    }
    braid_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_at_once_are_longer),
        cmocka_unit_test(only_the_time_beside_others_counts),
        cmocka_unit_test(calls_on_one_multiprocessor_slow_each_other),
        cmocka_unit_test(calls_that_sleep_slow_nobody),
        cmocka_unit_test(overheads_stay),
        cmocka_unit_test(lanes_that_gain_nothing_are_not_taken),
        cmocka_unit_test(plans_for_concurrency_are_timed_too),
        cmocka_unit_test(memory_may_be_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
