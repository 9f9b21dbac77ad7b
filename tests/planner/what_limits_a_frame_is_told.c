// SPDX-License-Identifier: Apache-2.0
// The info and a line tell what limits a planned frame; a host that starts nodes slowly counts.
#include "planner/plan_testing.h"

// The shape of sparse_mpm, on the model of CUDA streams: kernels of 2 to 3 us, and 3.5 us a launch.
static void a_host_that_starts_nodes_slowly_gets_one_lane(void **state)
{
    (void)state;
    braid_graph *graph = chains(3, 147, 2500);
    const braid_cost_model model = { .node_ns = 840,
                                     .wait_ns = 2500,
                                     .root_ns = 500,
                                     .host_issues = 1,
                                     .issue_ns = 3500,
                                     .issue_wait_ns = 1000 };
    braid_schedule_options options = { .costs = model };
    braid_schedule *schedule = plan_with(graph, &options);
    braid_schedule_info info = info_of(schedule);
    assert_int_equal(info.num_lanes, 1);
    assert_int_equal(info.issue_ns, 441 * 3500);
    assert_true(info.expected_ns >= info.issue_ns);
    assert_int_equal(info.limit, BRAID_LIMITED_BY_LAUNCH_COST);
    char text[160];
    check_ok(braid_schedule_explain(schedule, NULL, 0, text, sizeof(text)));
    assert_string_equal(text, "limited by launch cost: starting 441 nodes and 0 waits one after "
                              "another takes 1.05 times as long as running them");
    braid_schedule_destroy(schedule);
    // By the formula for devices that start nodes, lanes would gain a fifth.
    options.costs.host_issues = 0;
    assert_true(plan_info(graph, options).num_lanes > 1);
    // Longer kernels: the host is no longer in their way.
    options.costs.host_issues = 1;
    for (uint32_t i = 0; i < 441; i++)
        check_ok(braid_graph_set_cost(graph, braid_graph_node(graph, i), 20000));
    info = plan_info(graph, options);
    assert_int_equal(info.num_lanes, 3);
    assert_int_equal(info.limit, BRAID_LIMITED_BY_CRITICAL_PATH);
    braid_graph_destroy(graph);
}

static void check_limit(const braid_graph *graph, const braid_schedule_options *options,
                        braid_limit limit, const char *text)
{
    char found[160];
    braid_schedule *schedule = plan_with(graph, options);
    assert_int_equal(info_of(schedule).limit, limit);
    check_ok(braid_schedule_explain(schedule, NULL, 0, found, sizeof(found)));
    assert_string_equal(found, text);
    braid_schedule_destroy(schedule);
}

static void what_limits_a_frame_is_told(void **state)
{
    (void)state;
    const braid_schedule_options two = { .max_lanes = 2, .fixed_lanes = true };
    braid_graph *graph = new_graph();
    check_limit(graph, &two, BRAID_LIMITED_BY_NOTHING, "limited by nothing: there are no nodes");
    braid_graph_destroy(graph);
    graph = chains(1, 10, 100);
    check_limit(graph, &two, BRAID_LIMITED_BY_CRITICAL_PATH,
                "limited by the critical path: its 10 nodes, one after another, take 100.0 % of "
                "the frame");
    braid_graph_destroy(graph);
    graph = chains(1, 1, 100);
    check_limit(graph, &two, BRAID_LIMITED_BY_CRITICAL_PATH,
                "limited by the critical path: its one node takes 100.0 % of the frame");
    braid_graph_destroy(graph);
    graph = chains(4, 10, 100);
    check_limit(graph, &two, BRAID_LIMITED_BY_LANES,
                "limited by 2 lanes: busy 100.0 % of the frame");
    braid_graph_destroy(graph);
    graph = chains(3, 1, 100);
    check_limit(graph, &two, BRAID_LIMITED_BY_PATH_AND_LANES,
                "limited by critical path (50.0 % of the frame) and lanes (busy 75.0 % of it) "
                "together");
    braid_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_that_starts_nodes_slowly_gets_one_lane),
        cmocka_unit_test(what_limits_a_frame_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
