// SPDX-License-Identifier: Apache-2.0
// Scratch is each node's own while it runs, and others' as soon as the plan has it ended.
#include "planner/plan_testing.h"

static void call(void *user)
{
    (void)user;
}

// Three nodes with one scratch: one after another they share memory, side by side they do not.
static void nodes_share_scratch_where_they_are_ordered(void **state)
{
    (void)state;
    for (uint32_t lanes = 1; lanes <= 3; lanes += 2) {
        braid_graph *graph = new_graph();
        braid_resource scratch;
        check_ok(braid_graph_add_scratch(graph, "scratch", 1000, 0, &scratch));
        for (int i = 0; i < 3; i++)
            check_ok(braid_graph_add_host_call(
                graph,
                &(braid_host_call){ .node.cost_ns = 1000, .call = call, .user_resource = scratch },
                NULL));
        braid_schedule *schedule = plan_on(graph, lanes);
        struct memory_plan plan = memory_of(schedule, graph);
        struct memory_info info = plan.info;
        assert_int_equal(info.arena_bytes, lanes * 1024);
        assert_int_equal(info.unshared_bytes, 3 * 1024);
        braid_memory_plan_finish(&plan);
        destroy_now(schedule);
        destroy_now(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(nodes_share_scratch_where_they_are_ordered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
