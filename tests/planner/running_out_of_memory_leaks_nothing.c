// SPDX-License-Identifier: Apache-2.0
// Whichever allocation fails while planning, proving or explaining, the call says so, the output
// stays as it was, and nothing is leaked (the sanitizer builds see that).
#include "planner/plan_testing.h"
#include "support/failing_memory.h"
#include "support/wide_plan.h"

// Bundles, accesses, hints, names and edges that make waits: every pass has something to do.
static braid_graph *everything(void)
{
    braid_graph *graph = new_graph();
    braid_resource list = new_resource(graph, "list");
    braid_node last = NO_NODE, before = NO_NODE;
    for (int i = 0; i < 30; i++) {
        braid_node main =
            new_user(graph, "main", list, i % 3 ? BRAID_READ : BRAID_WRITE, NO_RESOURCE, 0);
        new_prelude(graph, main, "prelude", list, BRAID_READ);
        if (i % 4)
            new_edge(graph, last, main);
        braid_node next = new_node(graph, NULL, 7, before, NO_NODE);
        before = last;
        last = next;
        braid_empty hinted = { .node = { .lane_hint = 1 + (uint32_t)i % 2 } };
        check_ok(braid_graph_add_empty(graph, &hinted, NULL));
    }
    // Against the order of adding, so that the plan needs one of its own.
    new_edge(graph, new_node(graph, "late", 1, NO_NODE, NO_NODE), last);
    return graph;
}

static void plan_until_it_works(const braid_graph *graph, const braid_schedule_options *options)
{
    for (uint64_t nth = 1;; nth++) {
        braid_schedule *schedule = NULL;
        failing_memory_arm(nth);
        braid_status status = braid_schedule_create(graph, options, &schedule);
        bool failed = failing_memory_disarm();
        if (!failed) {
            check_ok(status);
            braid_schedule_destroy(schedule);
            return;
        }
        assert_int_equal(status, BRAID_NO_MEMORY);
        assert_null(schedule);
    }
}

static void planning(void **state)
{
    (void)state;
    braid_graph *graph = everything();
    plan_until_it_works(graph, &(braid_schedule_options){ .costs = &free_costs });
    plan_until_it_works(graph, &(braid_schedule_options){
                                   .costs = &free_costs, .max_lanes = 3, .fixed_lanes = true });
    plan_until_it_works(graph, &(braid_schedule_options){
                                   .max_lanes = 3, .costs = &(braid_cost_model){ .wait_ns = 5 } });
    const braid_schedule_options all = wide_plan();
    plan_until_it_works(graph, &all);
}

static void a_cycle(void **state)
{
    (void)state;
    braid_graph *graph = everything();
    new_edge(graph, braid_graph_get_node(graph, 60), braid_graph_get_node(graph, 3));
    new_edge(graph, braid_graph_get_node(graph, 3), braid_graph_get_node(graph, 60));
    braid_status status = BRAID_NO_MEMORY;
    for (uint64_t nth = 1; status == BRAID_NO_MEMORY; nth++) {
        braid_schedule *schedule = NULL;
        failing_memory_arm(nth);
        status = braid_schedule_create(graph, &(braid_schedule_options){ .costs = &free_costs },
                                       &schedule);
        failing_memory_disarm();
        assert_null(schedule);
    }
    assert_int_equal(status, BRAID_CYCLE);
}

static void proving_and_explaining(void **state)
{
    (void)state;
    braid_graph *graph = everything();
    braid_schedule *schedule = plan_on(graph, 3);
    bool failed = true;
    for (uint64_t nth = 1; failed; nth++) {
        failing_memory_arm(nth);
        braid_status status = braid_schedule_verify(schedule, graph);
        failed = failing_memory_disarm();
        assert_int_equal(status, failed ? BRAID_NO_MEMORY : BRAID_OK);
    }
    failed = true;
    for (uint64_t nth = 1; failed; nth++) {
        char line[256];
        const braid_node pair[] = { braid_graph_get_node(graph, 2),
                                    braid_graph_get_node(graph, 7) };
        failing_memory_arm(nth);
        braid_status status = braid_schedule_explain(schedule, pair, 2, line, sizeof(line));
        failed = failing_memory_disarm();
        assert_int_equal(status, failed ? BRAID_NO_MEMORY : BRAID_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(planning),
        owning_test(a_cycle),
        owning_test(proving_and_explaining),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
