// SPDX-License-Identifier: Apache-2.0
// The info and a line tell what limits a planned frame; a host that starts nodes slowly counts.
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "planner/plan_testing.h"
#include "support/wide_plan.h"

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
    braid_cost_model costs = model;
    braid_schedule_options options = { .costs = &costs };
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
    // By the formula for devices that start nodes, lanes would gain a fifth.
    costs.host_issues = 0;
    assert_true(plan_info(graph, options).num_lanes > 1);
    // Longer kernels: the host is no longer in their way.
    costs.host_issues = 1;
    for (uint32_t i = 0; i < 441; i++)
        check_ok(braid_graph_set_cost(graph, braid_graph_get_node(graph, i), 20000));
    info = plan_info(graph, options);
    assert_int_equal(info.num_lanes, 3);
    assert_int_equal(info.limit, BRAID_LIMITED_BY_CRITICAL_PATH);
}

static void check_limit(const braid_graph *graph, const braid_schedule_options *options,
                        braid_limit limit, const char *text)
{
    char found[160];
    braid_schedule *schedule = plan_with(graph, options);
    assert_int_equal(info_of(schedule).limit, limit);
    check_ok(braid_schedule_explain(schedule, NULL, 0, found, sizeof(found)));
    assert_string_equal(found, text);
    destroy_now(schedule);
}

static void what_limits_a_frame_is_told(void **state)
{
    (void)state;
    const braid_schedule_options two = { .costs = &free_costs,
                                         .max_lanes = 2,
                                         .fixed_lanes = true };
    braid_graph *graph = new_graph();
    check_limit(graph, &two, BRAID_LIMITED_BY_NOTHING, "limited by nothing: there are no nodes");
    graph = chains(1, 10, 100);
    check_limit(graph, &two, BRAID_LIMITED_BY_CRITICAL_PATH,
                "limited by the critical path: its 10 nodes, one after another, take 100.0 % of "
                "the frame");
    graph = chains(1, 1, 100);
    check_limit(graph, &two, BRAID_LIMITED_BY_CRITICAL_PATH,
                "limited by the critical path: its one node takes 100.0 % of the frame");
    graph = chains(4, 10, 100);
    check_limit(graph, &two, BRAID_LIMITED_BY_LANES,
                "limited by 2 lanes: busy 100.0 % of the frame");
    graph = chains(3, 1, 100);
    check_limit(graph, &two, BRAID_LIMITED_BY_PATH_AND_LANES,
                "limited by critical path (50.0 % of the frame) and lanes (busy 75.0 % of it) "
                "together");
}

// One that is installed, or one that is made in a folder. False: neither.
static bool take_locale_with_comma(char *folder)
{
    static const char *const names[] = { "de_DE.UTF-8", "de_DE", "fr_FR.UTF-8", "comma" };
    char command[128];
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (setlocale(LC_ALL, names[i]) && *localeconv()->decimal_point == ',')
            return true;
    }
    snprintf(command, sizeof(command), "localedef -c -i de_DE -f UTF-8 %s/comma >/dev/null 2>&1",
             folder);
    (void)!system(command);
    return setenv("LOCPATH", folder, 1) == 0 && setlocale(LC_ALL, "comma") &&
           *localeconv()->decimal_point == ',';
}

static void numbers_have_a_point_in_every_locale(void **state)
{
    char folder[] = "/tmp/braid-locale-XXXXXX", command[64], text[16];
    assert_non_null(mkdtemp(folder));
    bool has_comma = take_locale_with_comma(folder);
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
    if (!has_comma)
        skip_because("no locale with a decimal comma is here, and localedef makes none");
    snprintf(text, sizeof(text), "%.1f", 0.5);
    assert_string_equal(text, "0,5");
    what_limits_a_frame_is_told(state);
    a_host_that_starts_nodes_slowly_gets_one_lane(state);
    setlocale(LC_ALL, "C");
}

static void decimals_are_rounded(void **state)
{
    (void)state;
    assert_string_equal(braid_text_decimal(0, 1).text, "0.0");
    assert_string_equal(braid_text_decimal(99.96, 1).text, "100.0");
    assert_string_equal(braid_text_decimal(2.034, 2).text, "2.03");
    assert_string_equal(braid_text_decimal(7.5, 0).text, "8");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(a_host_that_starts_nodes_slowly_gets_one_lane),
        owning_test(what_limits_a_frame_is_told),
        owning_test(numbers_have_a_point_in_every_locale),
        owning_test(decimals_are_rounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
