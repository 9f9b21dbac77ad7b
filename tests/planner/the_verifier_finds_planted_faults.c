// SPDX-License-Identifier: Apache-2.0
// A step list with a fault in it is never called right: waits left out, moved or misdirected, runs
// in the wrong order, events reused too early.
#include <stdlib.h>
#include <string.h>

#include "plan/schedule.h"
#include "planner/plan_testing.h"

// A copy of a schedule whose steps may be spoilt.
static braid_schedule copy_steps(const braid_schedule *schedule)
{
    braid_schedule copy = *schedule;
    copy.program.ops = malloc((schedule->program.num_ops + 1) * sizeof(*copy.program.ops));
    assert_non_null(copy.program.ops);
    memcpy(copy.program.ops, schedule->program.ops,
           schedule->program.num_ops * sizeof(*copy.program.ops));
    return copy;
}

static void remove_step(braid_schedule *copy, size_t index)
{
    copy->program.num_ops--;
    memmove(&copy->program.ops[index], &copy->program.ops[index + 1],
            (copy->program.num_ops - index) * sizeof(*copy->program.ops));
}

static void move_step(braid_schedule *copy, size_t from, size_t to)
{
    braid_step step = copy->program.ops[from];
    for (size_t i = from; i > to; i--)
        copy->program.ops[i] = copy->program.ops[i - 1];
    for (size_t i = from; i < to; i++)
        copy->program.ops[i] = copy->program.ops[i + 1];
    copy->program.ops[to] = step;
}

static size_t find_step(const braid_schedule *schedule, braid_step_kind kind, size_t nth)
{
    for (size_t i = 0; i < schedule->program.num_ops; i++) {
        if (schedule->program.ops[i].kind == kind && nth-- == 0)
            return i;
    }
    fail_msg("no such step");
    return 0;
}

static void fails_naming(const braid_schedule *copy, const braid_graph *graph, const char *text)
{
    check_fails(braid_schedule_verify(copy, graph), BRAID_INTERNAL, text);
}

static braid_graph *diamond(void)
{
    braid_graph *graph = new_graph();
    braid_node top = new_node(graph, "top", 10, NO_NODE, NO_NODE);
    braid_node left = new_node(graph, "left", 10, top, NO_NODE);
    braid_node right = new_node(graph, "right", 10, top, NO_NODE);
    new_node(graph, "bottom", 10, left, right);
    return graph;
}

static void every_wait_of_a_minimal_plan_is_needed(void **state)
{
    (void)state;
    struct random random = { 3 };
    uint32_t from[240], to[240], num_nodes;
    size_t num_edges, removed = 0;
    for (int trial = 0; trial < 100; trial++) {
        braid_graph *graph = random_graph(&random, 60, &num_nodes, from, to, &num_edges);
        braid_schedule *schedule = plan_on(graph, 2 + random_below(&random, 4));
        for (size_t i = 0; i < schedule->program.num_ops; i++) {
            if (schedule->program.ops[i].kind != BRAID_STEP_WAIT)
                continue;
            braid_schedule copy = copy_steps(schedule);
            remove_step(&copy, i);
            fails_naming(&copy, graph, "start before");
            free(copy.program.ops);
            removed++;
        }
        destroy_now(schedule);
        destroy_now(graph);
    }
    assert_true(removed > 500);
}

static void a_wait_for_another_node_is_found(void **state)
{
    (void)state;
    braid_graph *graph = diamond();
    braid_schedule *schedule = plan_on(graph, 2);
    size_t wait = find_step(schedule, BRAID_STEP_WAIT, 1);
    braid_schedule copy = copy_steps(schedule);
    copy.program.ops[wait].node = 0;
    fails_naming(&copy, graph, "is then not recorded");
    free(copy.program.ops);
}

static void a_wait_before_its_record_is_found(void **state)
{
    (void)state;
    braid_graph *graph = diamond();
    braid_schedule *schedule = plan_on(graph, 2);
    braid_schedule copy = copy_steps(schedule);
    move_step(&copy, find_step(schedule, BRAID_STEP_WAIT, 0),
              find_step(schedule, BRAID_STEP_RECORD, 0));
    fails_naming(&copy, graph, "is then not recorded");
    free(copy.program.ops);
}

static void a_node_that_runs_never_or_twice_is_found(void **state)
{
    (void)state;
    braid_graph *graph = diamond();
    braid_schedule *schedule = plan_on(graph, 1);
    braid_schedule copy = copy_steps(schedule);
    copy.program.num_ops--;
    fails_naming(&copy, graph, "does not run node 3 'bottom'");
    copy.program.num_ops++;
    copy.program.ops[3].node = 1;
    fails_naming(&copy, graph, "node 1 'left' twice");
    free(copy.program.ops);
}

static void a_wrong_order_on_a_lane_is_found(void **state)
{
    (void)state;
    braid_graph *graph = diamond();
    braid_schedule *schedule = plan_on(graph, 1);
    braid_schedule copy = copy_steps(schedule);
    move_step(&copy, 3, 1);
    fails_naming(&copy, graph, "node 3 'bottom' start before node 1 'left'");
    free(copy.program.ops);
}

static void a_position_recorded_again_is_found(void **state)
{
    (void)state;
    // Two producers on one lane, both waited for on another.
    braid_graph *graph = new_graph();
    braid_node first = new_node(graph, "first", 10, NO_NODE, NO_NODE);
    braid_node second = new_node(graph, "second", 10, first, NO_NODE);
    new_node(graph, "long", 100, second, NO_NODE);
    braid_node other = new_node(graph, "other", 50, first, NO_NODE);
    new_node(graph, "join", 10, second, other);
    braid_schedule *schedule = plan_on(graph, 2);
    assert_int_equal(info_of(schedule).num_waits, 2);
    braid_schedule copy = copy_steps(schedule);
    for (size_t i = 0; i < copy.program.num_ops; i++) {
        if (copy.program.ops[i].kind != BRAID_STEP_RUN)
            copy.program.ops[i].position = 0;
    }
    // The second record comes before the wait for the first.
    assert_true(find_step(schedule, BRAID_STEP_RECORD, 1) <
                find_step(schedule, BRAID_STEP_WAIT, 0));
    fails_naming(&copy, graph, "records position 0 twice");
    free(copy.program.ops);
}

static void conflicting_accesses_without_a_wait_are_found(void **state)
{
    (void)state;
    static const braid_access_mode pairs[][2] = {
        { BRAID_WRITE, BRAID_READ },          { BRAID_READ, BRAID_WRITE },
        { BRAID_WRITE, BRAID_WRITE },         { BRAID_READ_WRITE, BRAID_READ },
        { BRAID_EXCLUSIVE, BRAID_EXCLUSIVE }, { BRAID_EXCLUSIVE, BRAID_READ },
        { BRAID_READ, BRAID_EXCLUSIVE },      { BRAID_WRITE, BRAID_ACCUMULATE },
        { BRAID_ACCUMULATE, BRAID_READ },     { BRAID_READ, BRAID_ACCUMULATE },
        { BRAID_ACCUMULATE, BRAID_WRITE },
    };
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        braid_graph *graph = new_graph();
        braid_resource buffer, low, high;
        check_ok(braid_graph_add_buffer(graph, "grid", NULL, 100, &buffer));
        check_ok(braid_graph_add_range(graph, buffer, 0, 60, &low));
        check_ok(braid_graph_add_range(graph, buffer, 50, 50, &high));
        new_user(graph, "a", low, pairs[i][0], NO_RESOURCE, 0);
        new_user(graph, "b", high, pairs[i][1], NO_RESOURCE, 0);
        braid_schedule *schedule = plan_on(graph, 2);
        braid_schedule copy = copy_steps(schedule);
        assert_int_equal(copy.program.num_ops, 2); // one lane: the pair leaves no other work
        copy.program.num_lanes = 2;
        copy.program.ops[1].lane = 1;
        fails_naming(&copy, graph, "their accesses to 'grid[");
        free(copy.program.ops);
        copy = copy_steps(schedule);
        move_step(&copy, 0, 1);
        fails_naming(&copy, graph, "node 1 'b' start before node 0 'a'");
        free(copy.program.ops);
        destroy_now(schedule);
        destroy_now(graph);
    }
}

static void a_split_bundle_is_found(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_node main = new_node(graph, "main", 1, NO_NODE, NO_NODE);
    new_node(graph, "guest", 1, NO_NODE, NO_NODE);
    braid_empty part = { .node = { .name = "prelude", .prelude_of = main } };
    check_ok(braid_graph_add_empty(graph, &part, NULL));
    braid_schedule *schedule = plan_on(graph, 1);
    braid_schedule copy = copy_steps(schedule);
    move_step(&copy, 2, 1); // prelude, guest, main
    fails_naming(&copy, graph, "in the midst of a bundle");
    free(copy.program.ops);
}

static void a_broken_hint_is_found(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_empty hinted = { .node = { .name = "a", .lane_hint = 9 } };
    check_ok(braid_graph_add_empty(graph, &hinted, NULL));
    hinted.node.name = "b";
    check_ok(braid_graph_add_empty(graph, &hinted, NULL));
    braid_schedule *schedule = plan_on(graph, 2);
    braid_schedule copy = copy_steps(schedule);
    copy.program.num_lanes = 2;
    copy.program.ops[1].lane = 1;
    fails_naming(&copy, graph, "against hint 9");
    free(copy.program.ops);
    copy = copy_steps(schedule);
    move_step(&copy, 0, 1);
    fails_naming(&copy, graph, "their lane hint");
    free(copy.program.ops);
}

static void nonsense_is_found(void **state)
{
    (void)state;
    braid_graph *graph = diamond();
    braid_schedule *schedule = plan_on(graph, 2);
    braid_schedule copy = copy_steps(schedule);
    copy.program.ops[0].lane = 2;
    fails_naming(&copy, graph, "no such lane");
    copy.program.ops[0].lane = 0;
    copy.program.ops[0].node = 4;
    fails_naming(&copy, graph, "no such node");
    free(copy.program.ops);
}

static void another_graph_is_refused(void **state)
{
    (void)state;
    braid_graph *graph = diamond(), *other = diamond();
    braid_schedule *schedule = plan_on(graph, 2);
    check_fails(braid_schedule_verify(schedule, other), BRAID_INVALID_ARGUMENT, "another graph");
    new_edge(graph, braid_graph_get_node(graph, 0), braid_graph_get_node(graph, 3));
    check_fails(braid_schedule_verify(schedule, graph), BRAID_INVALID_ARGUMENT, "changed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(every_wait_of_a_minimal_plan_is_needed),
        owning_test(a_wait_for_another_node_is_found),
        owning_test(a_wait_before_its_record_is_found),
        owning_test(a_node_that_runs_never_or_twice_is_found),
        owning_test(a_wrong_order_on_a_lane_is_found),
        owning_test(a_position_recorded_again_is_found),
        owning_test(conflicting_accesses_without_a_wait_are_found),
        owning_test(a_split_bundle_is_found),
        owning_test(a_broken_hint_is_found),
        owning_test(nonsense_is_found),
        owning_test(another_graph_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
