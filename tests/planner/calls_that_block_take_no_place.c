// SPDX-License-Identifier: Apache-2.0
// Host calls that block get lanes beside those of the nodes that run at once, and hold up nothing
// that runs.
#include "planner/plan_testing.h"
#include "support/wide_plan.h"

static void call(void *user)
{
    (void)user;
}

static braid_node add_call(braid_graph *graph, bool blocking, const braid_node *after)
{
    braid_node node;
    check_ok(braid_graph_add_host_call(
        graph,
        &(braid_host_call){ .node = { .cost_ns = 1000000, .after = after, .num_after = !!after },
                            .call = call,
                            .blocking = blocking },
        &node));
    return node;
}

static braid_schedule_info plan_for_two(braid_graph *graph, braid_schedule_options options)
{
    const braid_cost_model costs = { .node_ns = 1, .wait_ns = 1, .max_concurrent = 2 };
    options.costs = &costs;
    braid_schedule *schedule = plan_with(graph, &options);
    braid_schedule_info info = info_of(schedule);
    destroy_now(schedule);
    return info;
}

// Four calls and two kernels of a millisecond, on two cores.
static void calls_that_block_run_beside_all_others(void **state)
{
    (void)state;
    for (int blocking = 0; blocking < 2; blocking++) {
        braid_graph *graph = new_graph();
        for (int i = 0; i < 6; i++)
            add_call(graph, i < 4 && blocking, NULL);
        braid_schedule_info info =
            plan_for_two(graph, (braid_schedule_options){ .costs = &free_costs });
        assert_int_equal(info.num_lanes, blocking ? 6 : 2);
        assert_in_range(info.makespan_ns, blocking ? 1000000 : 3000000,
                        blocking ? 1001000 : 3001000);
        assert_in_range(info.bound_ns, blocking ? 1000000 : 3000000, info.makespan_ns);
        info = plan_for_two(graph, wide_plan());
        assert_int_equal(info.num_lanes, 6);
        assert_in_range(info.makespan_ns, blocking ? 1000000 : 3000000,
                        blocking ? 1001000 : 3001000);
        destroy_now(graph);
    }
}

// They do not let more others run at once: six that compute take three rounds on two cores, with
// three calls that block beside them.
static void others_stay_as_many_as_may_run(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    for (int i = 0; i < 9; i++)
        add_call(graph, i % 3 == 0, NULL);
    braid_schedule_info info =
        plan_for_two(graph, (braid_schedule_options){ .costs = &free_costs });
    assert_in_range(info.makespan_ns, 3000000, 3001000);
    assert_in_range(info.num_lanes, 3, 5);
}

static void a_bundle_that_also_computes_takes_a_place(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    for (int i = 0; i < 4; i++) {
        braid_node node = add_call(graph, true, NULL);
        check_ok(braid_graph_add_host_call(
            graph,
            &(braid_host_call){ .node = { .cost_ns = 1, .epilogue_of = node }, .call = call },
            NULL));
    }
    assert_in_range(
        plan_for_two(graph, (braid_schedule_options){ .costs = &free_costs }).makespan_ns, 2000000,
        2001000);
}

static void lanes_that_were_asked_for_stay_as_many(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    for (int i = 0; i < 4; i++)
        add_call(graph, true, NULL);
    braid_schedule_options options = { .costs = &free_costs, .max_lanes = 2 };
    braid_schedule *schedule = plan_with(graph, &options);
    assert_int_equal(info_of(schedule).num_lanes, 2);
    assert_int_equal(info_of(schedule).bound_ns, 2000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(calls_that_block_run_beside_all_others),
        owning_test(others_stay_as_many_as_may_run),
        owning_test(a_bundle_that_also_computes_takes_a_place),
        owning_test(lanes_that_were_asked_for_stay_as_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
