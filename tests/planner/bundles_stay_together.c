// SPDX-License-Identifier: Apache-2.0
// Preludes and epilogues run with their main node, on its lane, and nothing comes between.
#include "planner/plan_testing.h"

// Whether nothing runs between two nodes on the lane of the first.
static bool runs_next(const braid_schedule *schedule, braid_node first, braid_node second)
{
    braid_schedule_info info;
    braid_schedule_get_info(schedule, &info);
    const braid_step *steps = info.steps;
    uint32_t lane = placement_of(schedule, first).lane;
    bool seen = false;
    for (size_t i = 0; i < info.num_steps; i++) {
        if (steps[i].kind != BRAID_STEP_RUN || steps[i].lane != lane)
            continue;
        if (seen)
            return steps[i].node == second.index;
        seen = steps[i].node == first.index;
    }
    return false;
}

// Many loops, each with two preludes and an epilogue, among plain nodes that want lanes too.
static void nothing_comes_between(void **state)
{
    (void)state;
    struct random random = { 1 };
    for (uint32_t lanes = 1; lanes <= 8; lanes++) {
        braid_graph *graph = new_graph();
        braid_node mains[40], last = NO_NODE;
        for (int i = 0; i < 40; i++) {
            braid_node after = random_chance(&random, 50) ? last : NO_NODE;
            last = mains[i] = new_node(graph, "loop", 5, after, NO_NODE);
            last = new_node(graph, "plain", 1 + random_below(&random, 9), last, NO_NODE);
        }
        for (int i = 0; i < 80; i++) {
            braid_empty part = { .node.cost_ns = 1 + random_below(&random, 9) };
            part.node.prelude_of = mains[i % 40];
            check_ok(braid_graph_add_empty(graph, &part, NULL));
        }
        for (int i = 0; i < 40; i++) {
            braid_empty part = { .node = { .cost_ns = 2, .epilogue_of = mains[i] } };
            check_ok(braid_graph_add_empty(graph, &part, NULL));
        }
        braid_schedule *schedule = plan_on(graph, lanes);
        for (uint32_t i = 0; i < 40; i++) {
            const braid_node order[] = {
                braid_graph_get_node(graph, 80 + i),
                braid_graph_get_node(graph, 120 + i),
                mains[i],
                braid_graph_get_node(graph, 160 + i),
            };
            for (int k = 1; k < 4; k++) {
                braid_placement a = placement_of(schedule, order[k - 1]);
                braid_placement b = placement_of(schedule, order[k]);
                assert_int_equal(a.lane, b.lane);
                assert_true(runs_next(schedule, order[k - 1], order[k]));
            }
        }
        destroy_now(schedule);
        destroy_now(graph);
    }
}

static void their_order_is_explained(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_node loop = new_node(graph, "loop", 10, NO_NODE, NO_NODE);
    braid_resource list = new_resource(graph, "list");
    braid_node clear = new_prelude(graph, loop, "clear", list, BRAID_WRITE);
    braid_node gather = new_epilogue(graph, loop, "gather", list, BRAID_READ);
    braid_schedule *schedule = plan_on(graph, 2);
    check_explains(schedule, clear, gather, "clear runs before gather in the bundle of loop");
    check_explains(schedule, gather, clear, "clear runs before gather in the bundle of loop");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(nothing_comes_between),
        owning_test(their_order_is_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
