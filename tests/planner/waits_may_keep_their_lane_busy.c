// SPDX-License-Identifier: Apache-2.0
// Where looking for what has ended takes time of a lane (wait_busy_ns), the plan counts it, and
// fewer lanes are worth their waits.
#include <stdlib.h>

#include "islands/plan_divide.h"
#include "plan/plan_times.h"
#include "planner/plan_testing.h"
#include "support/wide_plan.h"

// As one island, in which calls that wait take so much of their lane.
static braid_schedule *plan_inside(const braid_graph *graph, braid_schedule_options options,
                                   uint64_t wait_busy_ns)
{
    braid_schedule *schedule;
    struct island_fit *fits = calloc(braid_graph_get_num_nodes(graph) + 1, sizeof(*fits));
    assert_non_null(fits);
    for (size_t i = 0; i < braid_graph_get_num_nodes(graph); i++)
        fits[i].is_empty = true;
    const struct plan_inside inside = { .fits = fits,
                                        .room = { .groups = 1, .wait_busy_ns = wait_busy_ns } };
    const struct plan_options plan = { .max_lanes = options.max_lanes,
                                       .fixed_lanes = options.fixed_lanes,
                                       .costs = *options.costs };
    check_ok(braid_schedule_create_inside(graph, &plan, &inside, &schedule));
    check_ok(braid_schedule_verify(schedule, graph));
    free(fits);
    return schedule;
}

static braid_schedule_info info_inside(const braid_graph *graph, braid_schedule_options options,
                                       uint64_t wait_busy_ns)
{
    braid_schedule *schedule = plan_inside(graph, options, wait_busy_ns);
    braid_schedule_info info = info_of(schedule);
    braid_schedule_destroy(schedule);
    return info;
}

static uint64_t start_of(const braid_schedule *schedule, braid_node node)
{
    return placement_of(schedule, node).start_ns;
}

static void a_wait_that_is_long_over_takes_its_time(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_node early = new_hinted(graph, 1, 10, NO_NODE);
    braid_node late = new_hinted(graph, 1, 500, NO_NODE);
    braid_node busy = new_hinted(graph, 2, 100, NO_NODE);
    braid_node waits = new_hinted(graph, 2, 10, early);
    braid_node follows = new_hinted(graph, 2, 10, NO_NODE);
    braid_node waits_long = new_hinted(graph, 2, 10, late);
    const braid_schedule_options options = {
        .max_lanes = 2,
        .fixed_lanes = true,
        .costs = &(braid_cost_model){ .node_ns = 5, .wait_ns = 20 },
    };
    braid_schedule *schedule = plan_inside(graph, options, 30);
    assert_int_equal(info_of(schedule).num_lanes, 2);
    assert_int_equal(start_of(schedule, busy), 0);
    assert_int_equal(start_of(schedule, waits), 100 + 5 + 30);
    assert_int_equal(start_of(schedule, follows), 145 + 5);
    assert_int_equal(start_of(schedule, late), 10 + 5);
    assert_int_equal(start_of(schedule, waits_long), 515 + 20); // it looks meanwhile
    braid_schedule_destroy(schedule);
}

// Two lanes save little of short nodes that need each other's all the time.
static void lanes_are_fewer_where_waits_keep_them_busy(void **state)
{
    (void)state;
    struct random random = { 12 };
    braid_graph *graph = new_graph();
    for (uint32_t i = 0; i < 200; i++)
        new_node(graph, "short", 10,
                 i ? braid_graph_get_node(graph, random_below(&random, i)) : NO_NODE,
                 i > 4 ? braid_graph_get_node(graph, i - 4) : NO_NODE);
    const braid_schedule_options options = {
        .max_lanes = 4, .costs = &(braid_cost_model){ .node_ns = 5, .wait_ns = 5 }
    };
    assert_true(info_inside(graph, options, 0).num_lanes > 1);
    assert_int_equal(info_inside(graph, options, 250).num_lanes, 1);
}

// The same nodes in the same places are timed anew, with few lanes and with all.
static void every_plan_counts_it(void **state)
{
    (void)state;
    struct random random = { 9 };
    for (uint32_t trial = 0; trial < 60; trial++) {
        uint32_t from[240], to[240], num;
        size_t num_edges;
        braid_graph *graph = random_graph(&random, 60, &num, from, to, &num_edges);
        braid_schedule_options options = wide_plan();
        const braid_cost_model costs = { .node_ns = 2, .wait_ns = 9 };
        if (trial % 2)
            options = (braid_schedule_options){ .max_lanes = 4 };
        options.costs = &costs;
        braid_schedule *schedule = plan_inside(graph, options, 40);
        uint64_t makespan_ns = schedule->info.makespan_ns;
        check_ok(braid_plan_find_times(schedule, &costs, 40));
        assert_int_equal(schedule->info.makespan_ns, makespan_ns);
        braid_schedule_destroy(schedule);
        destroy_now(graph);
    }
}

// Lanes are chosen by what the plan says in the end.
static void more_lanes_never_give_a_longer_plan(void **state)
{
    (void)state;
    struct random random = { 5 };
    for (uint32_t trial = 0; trial < 100; trial++) {
        uint32_t from[240], to[240], num;
        size_t num_edges;
        braid_graph *graph = random_graph(&random, 60, &num, from, to, &num_edges);
        uint64_t before = UINT64_MAX;
        for (uint32_t lanes = 1; lanes <= 4; lanes++) {
            const braid_schedule_options options = {
                .max_lanes = lanes,
                .costs = &(braid_cost_model){ .node_ns = 2, .wait_ns = 9 },
            };
            uint64_t makespan = info_inside(graph, options, 40).makespan_ns;
            assert_true(makespan <= before);
            before = makespan;
        }
        destroy_now(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(a_wait_that_is_long_over_takes_its_time),
        owning_test(lanes_are_fewer_where_waits_keep_them_busy),
        owning_test(every_plan_counts_it),
        owning_test(more_lanes_never_give_a_longer_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
