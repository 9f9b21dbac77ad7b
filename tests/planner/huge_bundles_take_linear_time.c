// SPDX-License-Identifier: Apache-2.0
// A bundle of a million nodes is planned, explained and proven in no time to speak of. A pass that
// took each node's place by counting from the first would take 5 * 10^11 steps, and this test would
// not end.
#include "planner/plan_testing.h"

#define NUM_PRELUDES 1000000

static void a_million_preludes_of_one_node(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_node main = new_node(graph, "main", 1, NO_NODE, NO_NODE), last = NO_NODE;
    for (uint32_t i = 0; i < NUM_PRELUDES; i++) {
        braid_empty part = { .node = { .cost_ns = 1, .prelude_of = main } };
        braid_node prelude;
        check_ok(braid_graph_add_empty(graph, &part, &prelude));
        if (i > 0) // between nodes of one bundle, along their order
            new_edge(graph, last, prelude);
        last = prelude;
    }
    new_node(graph, "other", 1, last, NO_NODE);
    braid_schedule *schedule = plan_on(graph, 2); // proves it too
    assert_int_equal(info_of(schedule).critical_path_ns, NUM_PRELUDES + 1);
    assert_int_equal(info_of(schedule).num_waits, 1);
    check_explains(schedule, last, main, "empty runs before main in the bundle of main");
    braid_schedule_destroy(schedule);
    braid_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_million_preludes_of_one_node) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
