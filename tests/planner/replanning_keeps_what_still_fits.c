// SPDX-License-Identifier: Apache-2.0
// Planning again after costs changed gives a proven plan for the new costs, and keeps lanes and
// waits while they are good enough.
#include <pthread.h>
#include <string.h>

#include "planner/plan_testing.h"

static braid_schedule *replan(const braid_schedule *schedule, const braid_graph *graph,
                              const braid_schedule_options *options)
{
    braid_schedule *out;
    check_ok(braid_schedule_replan(schedule, graph, options, &out));
    check_ok(braid_schedule_verify(out, graph));
    return out;
}

static bool same_steps(const braid_schedule *a, const braid_schedule *b)
{
    size_t num_a, num_b;
    const braid_step *steps_a = braid_schedule_steps(a, &num_a);
    const braid_step *steps_b = braid_schedule_steps(b, &num_b);
    return num_a == num_b && memcmp(steps_a, steps_b, num_a * sizeof(*steps_a)) == 0;
}

// Timing the steps alone must find the times that placing found.
static void unchanged_costs_give_the_same_times(void **state)
{
    (void)state;
    struct random random = { 51 };
    uint32_t from[1200], to[1200], num_nodes;
    size_t num_edges;
    for (int trial = 0; trial < 200; trial++) {
        braid_graph *graph = random_graph(&random, 300, &num_nodes, from, to, &num_edges);
        braid_schedule_options options = { .max_lanes = 1 + random_below(&random, 8) };
        options.fixed_lanes = random_chance(&random, 50);
        if (random_chance(&random, 50))
            options.costs = (braid_cost_model){ .node_ns = 3, .wait_ns = 11, .root_ns = 5 };
        if (random_chance(&random, 20))
            options.policy = BRAID_POLICY_MAX_CONCURRENCY;
        braid_schedule *schedule = plan_with(graph, &options);
        braid_schedule *again = replan(schedule, graph, NULL);
        assert_true(same_steps(schedule, again));
        assert_int_equal(info_of(schedule).makespan_ns, info_of(again).makespan_ns);
        assert_int_equal(info_of(schedule).bound_ns, info_of(again).bound_ns);
        for (uint32_t i = 0; i < num_nodes; i++) {
            braid_node node = braid_graph_node(graph, i);
            assert_int_equal(placement_of(schedule, node).start_ns,
                             placement_of(again, node).start_ns);
        }
        braid_schedule_destroy(schedule);
        braid_schedule_destroy(again);
        braid_graph_destroy(graph);
    }
}

static void small_changes_keep_the_steps(void **state)
{
    (void)state;
    struct random random = { 52 };
    braid_graph *graph = new_graph();
    for (uint32_t i = 0; i < 1000; i++)
        new_node(graph, NULL, 1000, i < 8 ? NO_NODE : braid_graph_node(graph, i - 8), NO_NODE);
    braid_schedule *schedule = plan_on(graph, 8);
    for (uint32_t i = 0; i < 1000; i++)
        check_ok(braid_graph_set_cost(graph, braid_graph_node(graph, i),
                                      995 + random_below(&random, 11)));
    braid_schedule *again = replan(schedule, graph, NULL);
    assert_true(same_steps(schedule, again));
    // The first may go before the second, and the second outlives a third.
    braid_schedule_destroy(schedule);
    braid_schedule *third = replan(again, graph, NULL);
    braid_schedule_destroy(again);
    check_ok(braid_schedule_verify(third, graph));
    assert_int_equal(info_of(third).num_lanes, 8);
    braid_schedule_destroy(third);
    braid_graph_destroy(graph);
}

// Kept lanes and steps are those of the plan before, not a copy: a million nodes have many.
static void kept_steps_are_not_copied(void **state)
{
    (void)state;
    struct random random = { 57 };
    uint32_t from[1200], to[1200], num_nodes;
    size_t num_edges, num_steps;
    braid_graph *graph = random_graph(&random, 300, &num_nodes, from, to, &num_edges);
    braid_schedule *schedule = plan_on(graph, 4);
    braid_schedule *again = replan(schedule, graph, NULL);
    const braid_step *steps = braid_schedule_steps(schedule, &num_steps);
    assert_ptr_equal(steps, braid_schedule_steps(again, NULL));
    braid_schedule_destroy(schedule);
    check_ok(braid_schedule_verify(again, graph));
    assert_true(num_steps >= num_nodes);
    braid_schedule_destroy(again);
    braid_graph_destroy(graph);
}

enum { num_threads = 4, num_replans = 200 };

struct replanner {
    pthread_t thread;
    const braid_graph *graph;
    braid_schedule *schedule; // its own
    braid_status status;
};

static void *replan_often(void *user)
{
    struct replanner *replanner = user;
    for (int i = 0; i < num_replans && !replanner->status; i++) {
        braid_schedule *again = NULL;
        replanner->status =
            braid_schedule_replan(replanner->schedule, replanner->graph, NULL, &again);
        if (replanner->status)
            break;
        braid_schedule_destroy(replanner->schedule);
        replanner->schedule = again;
        if (i % 50 == 0)
            replanner->status = braid_schedule_verify(again, replanner->graph);
    }
    return NULL;
}

// Plans that share what they keep are made and destroyed by several threads, in any order; the one
// that they all came from goes first.
static void threads_plan_again_at_once(void **state)
{
    (void)state;
    struct random random = { 58 };
    uint32_t from[1200], to[1200], num_nodes;
    size_t num_edges;
    braid_graph *graph = random_graph(&random, 100, &num_nodes, from, to, &num_edges);
    braid_schedule *schedule = plan_on(graph, 3);
    struct replanner replanners[num_threads];
    for (int i = 0; i < num_threads; i++)
        replanners[i] =
            (struct replanner){ .graph = graph, .schedule = replan(schedule, graph, NULL) };
    braid_schedule_destroy(schedule);
    for (int i = 0; i < num_threads; i++)
        assert_int_equal(pthread_create(&replanners[i].thread, NULL, replan_often, &replanners[i]),
                         0);
    for (int i = 0; i < num_threads; i++)
        pthread_join(replanners[i].thread, NULL);
    for (int i = 0; i < num_threads; i++) {
        check_ok(replanners[i].status);
        check_ok(braid_schedule_verify(replanners[i].schedule, graph));
        braid_schedule_destroy(replanners[i].schedule);
    }
    braid_graph_destroy(graph);
}

static void great_changes_place_anew(void **state)
{
    (void)state;
    // Six nodes of 10 on two lanes; then one takes as long as the five others.
    braid_graph *graph = new_graph();
    for (int i = 0; i < 6; i++)
        new_node(graph, NULL, 10, NO_NODE, NO_NODE);
    braid_schedule *schedule = plan_on(graph, 2);
    assert_int_equal(info_of(schedule).makespan_ns, 30);
    check_ok(braid_graph_set_cost(graph, braid_graph_node(graph, 5), 50));
    braid_schedule *again = replan(schedule, graph, NULL);
    assert_false(same_steps(schedule, again));
    assert_int_equal(info_of(again).makespan_ns, 50);
    braid_schedule_destroy(schedule);
    braid_schedule_destroy(again);
    braid_graph_destroy(graph);
}

// No plan is shorter than the bound on the lanes allowed, however many of them were used before.
static void the_bound_is_that_of_the_lanes_allowed(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    for (uint32_t i = 0; i < 64; i++)
        new_node(graph, NULL, 1000, NO_NODE, NO_NODE);
    braid_schedule_options options = { .max_lanes = 8, .costs = { .root_ns = 5000 } };
    braid_schedule *schedule = plan_with(graph, &options);
    assert_int_equal(info_of(schedule).num_lanes, 4);
    for (uint32_t i = 0, num = 0; i < 64 && num < 10; i++) {
        if (placement_of(schedule, braid_graph_node(graph, i)).lane > 0)
            continue;
        check_ok(braid_graph_set_cost(graph, braid_graph_node(graph, i), 4000));
        num++;
    }
    braid_schedule *again = replan(schedule, graph, NULL);
    assert_false(same_steps(schedule, again));
    assert_int_equal(info_of(again).num_lanes, 4);
    braid_schedule *fresh = plan_with(graph, &options);
    assert_int_equal(info_of(fresh).bound_ns, 11750);
    assert_int_equal(info_of(again).bound_ns, 11750);
    braid_schedule *third = replan(again, graph, NULL);
    assert_true(same_steps(again, third));
    assert_int_equal(info_of(third).bound_ns, 11750);
    braid_schedule_destroy(schedule);
    braid_schedule_destroy(again);
    braid_schedule_destroy(fresh);
    braid_schedule_destroy(third);
    braid_graph_destroy(graph);
}

static void other_options_plan_anew(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    for (int i = 0; i < 6; i++)
        new_node(graph, NULL, 10, NO_NODE, NO_NODE);
    braid_schedule *schedule = plan_on(graph, 2);
    braid_schedule_options options = { .max_lanes = 3 };
    braid_schedule *again = replan(schedule, graph, &options);
    assert_int_equal(info_of(again).num_lanes, 3);
    assert_int_equal(info_of(again).makespan_ns, 20);
    braid_schedule_destroy(schedule);
    braid_schedule_destroy(again);
    braid_graph_destroy(graph);
}

static void another_structure_is_refused(void **state)
{
    (void)state;
    braid_graph *graph = new_graph(), *other = new_graph();
    braid_node a = new_node(graph, "a", 10, NO_NODE, NO_NODE);
    braid_node b = new_node(graph, "b", 10, NO_NODE, NO_NODE);
    braid_schedule *schedule = plan_on(graph, 2), *out = NULL;
    check_fails(braid_schedule_replan(schedule, other, NULL, &out), BRAID_INVALID_ARGUMENT,
                "another graph");
    new_edge(graph, a, b);
    check_fails(braid_schedule_replan(schedule, graph, NULL, &out), BRAID_INVALID_ARGUMENT,
                "changed");
    check_fails(braid_schedule_replan(NULL, graph, NULL, &out), BRAID_INVALID_ARGUMENT,
                "schedule is NULL");
    assert_null(out);
    braid_schedule_destroy(schedule);
    braid_graph_destroy(graph);
    braid_graph_destroy(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unchanged_costs_give_the_same_times),
        cmocka_unit_test(small_changes_keep_the_steps),
        cmocka_unit_test(kept_steps_are_not_copied),
        cmocka_unit_test(threads_plan_again_at_once),
        cmocka_unit_test(great_changes_place_anew),
        cmocka_unit_test(the_bound_is_that_of_the_lanes_allowed),
        cmocka_unit_test(other_options_plan_anew),
        cmocka_unit_test(another_structure_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
