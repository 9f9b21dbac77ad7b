// SPDX-License-Identifier: Apache-2.0
// Placements, steps, the critical path, serialisations and explanations are what they say; bad
// questions are refused; a schedule outlives its graph.
#include <string.h>

#include "planner/plan_testing.h"
#include "support/wide_plan.h"

static void a_critical_path_is_a_heaviest_path(void **state)
{
    (void)state;
    struct random random = { 41 };
    uint32_t from[1200], to[1200], num_nodes;
    size_t num_edges;
    for (int trial = 0; trial < 50; trial++) {
        braid_graph *graph = random_graph(&random, 300, &num_nodes, from, to, &num_edges);
        braid_schedule *schedule = plan_on(graph, 3);
        const uint32_t *path = info_of(schedule).critical_path;
        uint64_t sum = 0;
        for (size_t i = 0; i < info_of(schedule).num_critical; i++) {
            braid_placement placement =
                placement_of(schedule, braid_graph_get_node(graph, path[i]));
            sum += placement.end_ns - placement.start_ns;
            bool joined = i == 0;
            for (size_t e = 0; e < num_edges; e++)
                joined = joined || (from[e] == path[i - 1] && to[e] == path[i]);
            assert_true(joined);
        }
        assert_int_equal(sum, info_of(schedule).critical_path_ns);
        assert_true(info_of(schedule).bound_ns >= sum);
        destroy_now(schedule);
        destroy_now(graph);
    }
}

static void a_lack_of_lanes_is_told(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_node a = new_node(graph, "a", 30, NO_NODE, NO_NODE);
    braid_node b = new_node(graph, "b", 20, NO_NODE, NO_NODE);
    braid_node c = new_node(graph, "c", 10, NO_NODE, NO_NODE);
    braid_schedule *schedule = plan_on(graph, 2);
    assert_int_equal(placement_of(schedule, c).lane, placement_of(schedule, b).lane);
    assert_int_equal(info_of(schedule).num_serialisations, 1);
    assert_int_equal(num_serialised(schedule, b, c, BRAID_SERIALISED_BY_LANES, NULL), 1);
    check_explains(schedule, b, c, "share lane 1: no lane was idle");
    check_explains(schedule, a, c, "free");
    check_explains(schedule, a, a, "not in an island: there are none on what it was planned for");
    // With a lane for each nothing is lost.
    schedule = plan_on(graph, 3);
    assert_int_equal(info_of(schedule).num_serialisations, 0);
    check_explains(schedule, b, c, "free");
}

static void orders_are_explained(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_node a = new_node(graph, "a", 10, NO_NODE, NO_NODE);
    braid_node b = new_node(graph, "b", 10, a, NO_NODE);
    braid_node c = new_node(graph, "c", 10, b, NO_NODE);
    braid_node d = new_node(graph, "d", 10, c, NO_NODE);
    braid_schedule *schedule = plan_on(graph, 2);
    check_explains(schedule, a, b, "ordered by an edge from a to b");
    check_explains(schedule, a, d, "ordered through b, c");
    char line[12];
    const braid_node ends[] = { a, d };
    check_ok(braid_schedule_explain(schedule, ends, 2, line, sizeof(line)));
    assert_string_equal(line, "ordered thr"); // cut to fit
}

static void names_break_no_line(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_resource list = new_resource(graph, "list\nof all");
    braid_node a = new_user(graph, "a\tb", list, BRAID_EXCLUSIVE, NO_RESOURCE, 0);
    braid_node b = new_user(graph, "c\x7f", list, BRAID_EXCLUSIVE, NO_RESOURCE, 0);
    braid_schedule *schedule = plan_on(graph, 2);
    check_explains(schedule, a, b, "serialised by list of all (held by a b, held by c )");
}

static void an_order_of_the_plan_alone_is_explained(void **state)
{
    (void)state;
    // guest follows a on lane 0 for want of lanes; z waits for guest on lane 1.
    braid_graph *graph = new_graph();
    braid_node a = new_node(graph, "a", 10, NO_NODE, NO_NODE);
    braid_node x = new_node(graph, "x", 100, NO_NODE, NO_NODE);
    braid_node guest = new_node(graph, "guest", 5, NO_NODE, NO_NODE);
    new_node(graph, "tail", 200, a, NO_NODE);
    braid_node z = new_node(graph, "z", 10, x, guest);
    braid_schedule *schedule = plan_on(graph, 2);
    char line[256];
    check_ok(braid_schedule_explain(schedule, (braid_node[]){ a, z }, 2, line, sizeof(line)));
    if (placement_of(schedule, guest).lane == placement_of(schedule, z).lane)
        assert_true(strcmp(line, "free") == 0);
    else
        assert_string_equal(line, "ordered by the plan alone, through guest (lane 0)");
}

static void bad_questions_are_refused(void **state)
{
    (void)state;
    braid_graph *graph = new_graph(), *other = new_graph();
    braid_node a = new_node(graph, "a", 10, NO_NODE, NO_NODE);
    braid_node foreign = new_node(other, "b", 10, NO_NODE, NO_NODE);
    braid_schedule *schedule = plan_on(graph, 2);
    braid_placement placement;
    char line[64] = "as it was";
    check_fails(braid_schedule_get_placement(schedule, foreign, &placement), BRAID_INVALID_ARGUMENT,
                "not in this schedule");
    check_fails(braid_schedule_get_placement(schedule, NO_NODE, &placement), BRAID_INVALID_ARGUMENT,
                "not in this schedule");
    const braid_node nodes[] = { a, foreign, a };
    check_fails(braid_schedule_explain(schedule, nodes, 2, line, sizeof(line)),
                BRAID_INVALID_ARGUMENT, "not in this schedule");
    check_fails(braid_schedule_explain(schedule, &foreign, 1, line, sizeof(line)),
                BRAID_INVALID_ARGUMENT, "not in this schedule");
    check_fails(braid_schedule_explain(schedule, nodes, 3, line, sizeof(line)),
                BRAID_INVALID_ARGUMENT, "3 nodes, and two at most");
    assert_string_equal(line, "as it was");
    check_fails(braid_schedule_explain(schedule, nodes, 1, line, 0), BRAID_INVALID_ARGUMENT,
                "size is 0");
    braid_schedule *none = NULL;
    check_fails(
        braid_schedule_create(NULL, &(braid_schedule_options){ .costs = &free_costs }, &none),
        BRAID_INVALID_ARGUMENT, "graph is NULL");
    assert_null(none);
    braid_schedule_destroy(NULL);
}

static void times_beyond_64_bits_are_refused(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    new_node(graph, NULL, UINT64_MAX, NO_NODE, NO_NODE);
    new_node(graph, NULL, UINT64_MAX, NO_NODE, NO_NODE);
    braid_schedule *schedule = NULL;
    check_fails(
        braid_schedule_create(graph, &(braid_schedule_options){ .costs = &free_costs }, &schedule),
        BRAID_INVALID_ARGUMENT, "2^63");
    assert_null(schedule);
}

static void a_schedule_outlives_its_graph(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_resource list = new_resource(graph, "list");
    braid_node a = new_user(graph, "first", list, BRAID_EXCLUSIVE, NO_RESOURCE, 0);
    braid_node b = new_user(graph, "second", list, BRAID_EXCLUSIVE, NO_RESOURCE, 0);
    braid_schedule *schedule = plan_on(graph, 2);
    check_explains(schedule, a, b, "serialised by list (held by first, held by second)");
    assert_int_equal(num_serialised(schedule, a, b, BRAID_SERIALISED_BY_RESOURCE, "list"), 1);
}

// A lane is idle, but what would run there has a dear wait before it.
static void a_queue_is_told_as_what_a_wait_costs(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_node p = new_node(graph, "p", 10, NO_NODE, NO_NODE);
    new_node(graph, "s", 10, NO_NODE, NO_NODE);
    braid_node a = new_node(graph, "a", 5, p, NO_NODE);
    braid_node b = new_node(graph, "b", 5, p, NO_NODE);
    braid_schedule *schedule = plan_with(
        graph, &(braid_schedule_options){ .max_lanes = 8,
                                          .fixed_lanes = true,
                                          .costs = &(braid_cost_model){ .wait_ns = 100 } });
    assert_int_equal(info_of(schedule).num_lanes, 2);
    assert_int_equal(num_serialised(schedule, a, b, BRAID_SERIALISED_BY_WAIT_COST, NULL), 1);
    assert_int_equal(info_of(schedule).num_serialisations, 1);
    check_explains(schedule, a, b, "share lane 0: on another it would wait and start no earlier");
}

static void all_have_the_cause(const braid_graph *graph, const braid_schedule_options *options,
                               braid_serialisation_cause cause)
{
    braid_schedule *schedule = plan_with(graph, options);
    uint32_t num = info_of(schedule).num_serialisations;
    assert_int_equal(info_of(schedule).num_lanes, 3);
    assert_int_equal(num, 3);
    for (uint32_t i = 0; i < num; i++)
        assert_int_equal(info_of(schedule).serialisations[i].cause, cause);
    destroy_now(schedule);
}

static void a_limit_of_concurrent_nodes_is_told(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    for (int i = 0; i < 6; i++)
        new_node(graph, NULL, 10, NO_NODE, NO_NODE);
    braid_cost_model costs = { 0 };
    braid_schedule_options options = { .costs = &costs, .max_lanes = 3, .fixed_lanes = true };
    costs.max_concurrent = 1;
    all_have_the_cause(graph, &options, BRAID_SERIALISED_BY_MAX_CONCURRENT);
    costs.max_concurrent = 3; // the lanes are no more
    all_have_the_cause(graph, &options, BRAID_SERIALISED_BY_LANES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(a_critical_path_is_a_heaviest_path),
        owning_test(a_lack_of_lanes_is_told),
        owning_test(orders_are_explained),
        owning_test(names_break_no_line),
        owning_test(an_order_of_the_plan_alone_is_explained),
        owning_test(bad_questions_are_refused),
        owning_test(times_beyond_64_bits_are_refused),
        owning_test(a_schedule_outlives_its_graph),
        owning_test(a_queue_is_told_as_what_a_wait_costs),
        owning_test(a_limit_of_concurrent_nodes_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
