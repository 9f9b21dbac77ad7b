// SPDX-License-Identifier: Apache-2.0
// What thousands of lanes know of each other takes memory as lanes times waits. Past half a
// gibibyte fewer lanes are taken, unless the number is fixed: then the message names it.
#include <string.h>

#include "planner/plan_testing.h"
#include "support/wide_plan.h"

// Two to the power of 27 numbers are the limit: 18,000 lanes for 9,000 waits are over it, and half
// as many lanes are not.
#define WIDTH 9000

// Two rows; each node of the second needs its own two of the first, one of them on another lane.
static braid_graph *two_rows(void)
{
    braid_graph *graph = new_graph();
    for (uint32_t i = 0; i < WIDTH; i++)
        new_node(graph, NULL, 10, NO_NODE, NO_NODE);
    for (uint32_t i = 0; i < WIDTH; i++)
        new_node(graph, NULL, 10, braid_graph_get_node(graph, i),
                 braid_graph_get_node(graph, (i + 1) % WIDTH));
    return graph;
}

static void fewer_lanes_are_taken_unless_fixed(void **state)
{
    (void)state;
    braid_graph *graph = two_rows();
    braid_schedule_options options = { .costs = &free_costs, .max_lanes = 65535 };
    braid_schedule *schedule;
    check_ok(braid_schedule_create(graph, &options, &schedule));
    assert_in_range(info_of(schedule).num_lanes, 129, WIDTH);
    check_ok(braid_schedule_verify(schedule, graph));
    braid_schedule_destroy(schedule);
    options.fixed_lanes = true;
    assert_int_equal(braid_schedule_create(graph, &options, &schedule), BRAID_NO_MEMORY);
    assert_non_null(strstr(braid_error_get_message(), "18000 lanes"));
}

int main(void)
{
    const struct CMUnitTest tests[] = { owning_test(fewer_lanes_are_taken_unless_fixed) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
