// SPDX-License-Identifier: Apache-2.0
// A node that reads a whole buffer takes no memory for each of its declared ranges, neither in
// planning nor in the proof, and is ordered with each of them all the same.
#include <stdlib.h>
#include <string.h>

#include "plan/schedule.h"
#include "planner/plan_testing.h"
#include "support/failing_memory.h"

static void memory_is_for_nodes_and_ranges(void **state)
{
    (void)state;
    enum { RANGES = 1000, READERS = 500 };
    braid_graph *graph = new_graph();
    braid_resource buffer, range = { 0 };
    check_ok(braid_graph_add_buffer(graph, "tiles", NULL, RANGES * 16, &buffer));
    for (uint32_t i = 0; i < RANGES; i++)
        check_ok(braid_graph_add_range(graph, buffer, i * 16, 16, &range));
    for (uint32_t i = 0; i < READERS; i++)
        new_user(graph, NULL, buffer, BRAID_READ, NO_RESOURCE, 0);
    new_user(graph, "last", range, BRAID_WRITE, NO_RESOURCE, 0);
    uint64_t before = failing_memory_num_bytes();
    plan_on(graph, 2); // and proves it
    assert_true(failing_memory_num_bytes() - before < 1000 * (uint64_t)(RANGES + READERS));
}

// Runs the last of two nodes beside the first, on a lane of its own; the proof must name them.
static void finds_a_missing_order(const braid_graph *graph, const char *text)
{
    braid_schedule *schedule = plan_on(graph, 1);
    braid_schedule copy = *schedule;
    braid_step steps[8];
    assert_true(copy.program.num_ops <= 8);
    memcpy(steps, schedule->program.ops, copy.program.num_ops * sizeof(*steps));
    copy.program.ops = steps;
    copy.program.num_lanes = 2;
    steps[copy.program.num_ops - 1].lane = 1;
    check_fails(braid_schedule_verify(&copy, graph), BRAID_INTERNAL, text);
    destroy_now(schedule);
}

static void missing_orders_are_found(void **state)
{
    (void)state;
    // The last node's access, before it one of the whole buffer or of a part.
    static const struct {
        int first, last; // 0: whole, 1 and 2: its ranges
        braid_access_mode first_mode, last_mode;
    } cases[] = {
        { 0, 1, BRAID_READ, BRAID_WRITE },     { 0, 0, BRAID_READ, BRAID_WRITE },
        { 0, 2, BRAID_READ, BRAID_EXCLUSIVE }, { 1, 0, BRAID_WRITE, BRAID_READ },
        { 2, 0, BRAID_WRITE, BRAID_READ },     { 2, 0, BRAID_READ, BRAID_READ_WRITE },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        braid_graph *graph = new_graph();
        braid_resource parts[3];
        check_ok(braid_graph_add_buffer(graph, "tiles", NULL, 32, &parts[0]));
        check_ok(braid_graph_add_range(graph, parts[0], 0, 16, &parts[1]));
        check_ok(braid_graph_add_range(graph, parts[0], 16, 16, &parts[2]));
        new_user(graph, "first", parts[cases[i].first], cases[i].first_mode, NO_RESOURCE, 0);
        new_user(graph, "last", parts[cases[i].last], cases[i].last_mode, NO_RESOURCE, 0);
        finds_a_missing_order(graph, "node 1 'last' start before node 0 'first'");
        destroy_now(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(memory_is_for_nodes_and_ranges),
        owning_test(missing_orders_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
