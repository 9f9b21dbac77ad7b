// SPDX-License-Identifier: Apache-2.0
// What it takes to plan a bundle, to explain, prove and plan it again, grows as the bundle does. A
// pass that took each node's place by counting from the first would take the square of it.
//
// Counted, not timed: the compiler puts a call into every block of the planner, the verifier and
// the graph (-fsanitize-coverage=trace-pc).
#include "planner/plan_testing.h"

enum { num_few = 3000, growth = 8 };

static uint64_t num_blocks;

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
    num_blocks++;
}

// The blocks that are run for a main node with so many preludes, each behind the one before.
static uint64_t count(uint32_t num_preludes)
{
    braid_graph *graph = new_graph();
    braid_node main = new_node(graph, "main", 1, NO_NODE, NO_NODE), last = NO_NODE;
    num_blocks = 0;
    for (uint32_t i = 0; i < num_preludes; i++) {
        braid_empty part = { .node = { .cost_ns = 1, .prelude_of = main } };
        braid_node prelude;
        check_ok(braid_graph_add_empty(graph, &part, &prelude));
        if (i > 0) // between nodes of one bundle, along their order
            new_edge(graph, last, prelude);
        last = prelude;
    }
    new_node(graph, "other", 1, last, NO_NODE);
    braid_schedule *schedule = plan_on(graph, 2); // proves it too
    assert_int_equal(info_of(schedule).critical_path_ns, num_preludes + 1);
    assert_int_equal(info_of(schedule).num_waits, 1);
    check_explains(schedule, last, main, "empty runs before main in the bundle of main");
    uint64_t num = num_blocks;
    destroy_now(schedule);
    destroy_now(graph);
    return num;
}

// A half more is granted: what is searched or sorted takes n log n.
static void work_grows_as_the_bundle_does(void **state)
{
    (void)state;
    uint64_t few = count(num_few), many = count(num_few * growth);
    print_message("summary: %llu blocks for %d preludes, %llu for %d\n", (unsigned long long)few,
                  num_few, (unsigned long long)many, num_few * growth);
    assert_true(few > num_few);
    assert_in_range(many, few * growth / 2, few * growth * 3 / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = { owning_test(work_grows_as_the_bundle_does) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
