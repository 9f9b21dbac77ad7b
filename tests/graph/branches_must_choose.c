// SPDX-License-Identifier: Apache-2.0
// A branch that could not choose, or says what means nothing, is refused by name.
#include <string.h>

#include <braid/braid.h>

#include "graph/node_without_work.h"
#include "graph/regions.h"
#include "support/check.h"
#include "support/failing_memory.h"
#include "support/wide_plan.h"

static uint32_t word;

struct world {
    braid_graph *graph;
    braid_resource which, list;
};

static int set_up(void **state)
{
    static struct world world;
    check_ok(braid_graph_create(&world.graph));
    check_ok(braid_graph_add_buffer(world.graph, "which", &word, sizeof(word), &world.which));
    check_ok(braid_graph_add_resource(world.graph, "list", &world.list));
    *state = &world;
    return 0;
}

static int tear_down(void **state)
{
    const struct world *world = *state;
    braid_graph_destroy(world->graph);
    return 0;
}

static braid_node begin(const struct world *world, braid_resource condition)
{
    braid_node node;
    check_ok(braid_graph_begin_if(
        world->graph, &(braid_if){ .node.name = "choose", .condition = condition }, &node));
    return node;
}

static void plan_fails(const struct world *world, braid_status status, const char *why)
{
    braid_schedule *schedule;
    check_fails(braid_schedule_create(world->graph,
                                      &(braid_schedule_options){ .costs = &free_costs }, &schedule),
                status, why);
}

static void plan_works(const struct world *world)
{
    braid_schedule *schedule;
    check_ok(braid_schedule_create(world->graph, &(braid_schedule_options){ .costs = &free_costs },
                                   &schedule));
    check_ok(braid_schedule_verify(schedule, world->graph));
    braid_schedule_destroy(schedule);
}

static void refuses(const struct world *world, braid_if branch, const char *why)
{
    size_t num = braid_graph_get_num_nodes(world->graph);
    branch.node.name = "choose";
    check_fails(braid_graph_begin_if(world->graph, &branch, NULL), BRAID_INVALID_ARGUMENT,
                "branch 'choose'");
    assert_non_null(strstr(braid_error_get_message(), why));
    assert_int_equal(braid_graph_get_num_nodes(world->graph), num);
    check_fails(braid_graph_end(world->graph), BRAID_WRONG_STATE, "is open");
}

static void what_is_no_condition_is_refused(void **state)
{
    const struct world *world = *state;
    const braid_access access = { world->which, BRAID_READ };
    refuses(world, (braid_if){ 0 }, "it has no .condition");
    refuses(world, (braid_if){ .condition = world->list }, "'list' has less than the four bytes");
    refuses(
        world,
        (braid_if){ .condition = world->which, .node = { .accesses = &access, .num_accesses = 1 } },
        "no .accesses");
    refuses(world, (braid_if){ .condition = world->which, .node.cost_ns = 5 }, "no .cost_ns");
}

static void a_second_arm_is_one_of_a_branch(void **state)
{
    const struct world *world = *state;
    braid_graph *graph = world->graph;
    check_fails(braid_graph_else(graph), BRAID_WRONG_STATE, "no branch is open");
    begin(world, world->which);
    check_fails(braid_graph_else(graph), BRAID_WRONG_STATE, "'choose': an arm of it has no");
    check_ok(braid_graph_begin_loop(graph, &(braid_loop){ .times = 2 }, NULL));
    check_fails(braid_graph_else(graph), BRAID_WRONG_STATE, "loop 'loop' is open");
    add_node(graph, "inside", world->list, BRAID_READ);
    check_ok(braid_graph_end(graph));
    check_ok(braid_graph_else(graph));
    check_fails(braid_graph_end(graph), BRAID_WRONG_STATE, "'choose': an arm of it has no");
    add_node(graph, "instead", world->list, BRAID_READ);
    check_fails(braid_graph_else(graph), BRAID_WRONG_STATE, "'choose' has two arms already");
    plan_fails(world, BRAID_WRONG_STATE, "branch 'choose' was begun and has not ended");
    check_ok(braid_graph_end(graph));
    plan_works(world);
}

static void arms_are_ordered_by_nothing(void **state)
{
    const struct world *world = *state;
    braid_node branch = begin(world, world->which), inside[2];
    inside[0] = add_node(world->graph, "inside", world->list, BRAID_READ_WRITE);
    check_ok(braid_graph_else(world->graph));
    inside[1] = add_node(world->graph, "instead", world->list, BRAID_READ_WRITE);
    check_ok(braid_graph_end(world->graph));
    plan_works(world);
    check_ok(braid_graph_add_edge(world->graph, inside[1], inside[0]));
    plan_fails(world, BRAID_INVALID_ARGUMENT,
               "the edge from 'instead' to 'inside' orders nodes of two arms of 'choose'");
    check_fails(braid_graph_add_empty(
                    world->graph,
                    &(braid_empty){ .node = { .name = "prelude", .prelude_of = branch } }, NULL),
                BRAID_INVALID_ARGUMENT, "'prelude': it cannot be a prelude of the branch 'choose'");
}

static void a_bundle_is_in_one_arm(void **state)
{
    const struct world *world = *state;
    begin(world, world->which);
    braid_node main = add_node(world->graph, "main", world->list, BRAID_READ_WRITE);
    check_ok(braid_graph_else(world->graph));
    check_ok(braid_graph_add_empty(
        world->graph, &(braid_empty){ .node = { .name = "prelude", .prelude_of = main } }, NULL));
    check_ok(braid_graph_end(world->graph));
    plan_fails(world, BRAID_INVALID_ARGUMENT,
               "'prelude' and its main node 1 'main' are in two bodies");
}

static void exec_fails(const struct world *world, const char *why)
{
    braid_device *device;
    braid_exec *exec;
    check_ok(
        braid_device_open(&(braid_device_options){ .backend = "cpu", .num_workers = 1 }, &device));
    check_fails(braid_exec_create(device, world->graph, NULL, &exec), BRAID_INVALID_ARGUMENT, why);
    check_ok(braid_device_close(device));
}

static void a_condition_that_nobody_wrote_is_refused(void **state)
{
    const struct world *world = *state;
    braid_resource condition;
    check_ok(braid_graph_add_transient(world->graph, "unknown", 4, 0, &condition));
    begin(world, condition);
    add_node(world->graph, "inside", condition, BRAID_WRITE);
    check_ok(braid_graph_end(world->graph));
    exec_fails(world, "transient 'unknown': node 0 'choose' reads it before any node writes it");
}

static void what_one_arm_wrote_the_other_cannot_read(void **state)
{
    const struct world *world = *state;
    braid_resource value;
    check_ok(braid_graph_add_transient(world->graph, "value", 4, 0, &value));
    begin(world, world->which);
    add_node(world->graph, "writer", value, BRAID_WRITE);
    check_ok(braid_graph_else(world->graph));
    add_node(world->graph, "reader", value, BRAID_READ);
    check_ok(braid_graph_end(world->graph));
    exec_fails(world, "transient 'value': node 0 'choose' reads it before any node writes it");
}

// What the node accesses by what its arms do: the first resource's mode in each of them.
static void check_mode(int first, int second, braid_access_mode expected)
{
    struct world *world;
    set_up((void **)&world);
    begin(world, world->which);
    for (int i = 0; i < 2; i++) {
        int mode = i ? second : first;
        add_node(world->graph, "node", mode < 0 ? world->which : world->list,
                 mode < 0 ? BRAID_READ : (braid_access_mode)mode);
        if (!i)
            check_ok(braid_graph_else(world->graph));
    }
    check_ok(braid_graph_end(world->graph));
    const struct graph_access *accesses = world->graph->accesses.items;
    assert_int_equal(graph_nodes(world->graph)[0].num_accesses, 2);
    assert_int_equal(accesses[0].resource, world->which.index);
    assert_int_equal(accesses[0].mode, BRAID_READ);
    assert_int_equal(accesses[1].resource, world->list.index);
    assert_int_equal(accesses[1].mode, expected);
    plan_works(world);
    tear_down((void **)&world);
}

static void a_branch_accesses_what_either_arm_does(void **state)
{
    (void)state;
    check_mode(BRAID_WRITE, BRAID_WRITE, BRAID_WRITE);
    check_mode(BRAID_WRITE, BRAID_EXCLUSIVE, BRAID_WRITE);
    check_mode(BRAID_WRITE, BRAID_READ, BRAID_READ_WRITE);
    check_mode(BRAID_READ, BRAID_WRITE, BRAID_READ_WRITE);
    check_mode(BRAID_READ, BRAID_READ, BRAID_READ);
    check_mode(BRAID_ACCUMULATE, BRAID_ACCUMULATE, BRAID_ACCUMULATE);
    check_mode(BRAID_ACCUMULATE, BRAID_READ, BRAID_READ_WRITE);
    check_mode(BRAID_WRITE, -1, BRAID_WRITE);
    check_mode(-1, BRAID_READ_WRITE, BRAID_READ_WRITE);
}

// The graph can be used on whichever allocation fails.
static void running_out_of_memory_leaves_the_arms_as_they_were(void **state)
{
    const struct world *world = *state;
    uint32_t num = 0;
    braid_status status = BRAID_NO_MEMORY;
    begin(world, world->which);
    add_node(world->graph, "inside", world->list, BRAID_WRITE);
    for (uint32_t nth = 1; status; nth++) {
        failing_memory_arm(nth);
        status = braid_graph_else(world->graph);
        num += failing_memory_disarm();
        assert_true(!status || status == BRAID_NO_MEMORY);
    }
    status = BRAID_NO_MEMORY;
    for (int i = 0; i < 20; i++)
        add_node(world->graph, "instead", i ? world->which : world->list, BRAID_WRITE);
    for (uint32_t nth = 1; status; nth++) {
        failing_memory_arm(nth);
        status = braid_graph_end(world->graph);
        num += failing_memory_disarm();
        assert_true(!status || status == BRAID_NO_MEMORY);
    }
    assert_true(num > 0);
    plan_works(world);
}

#define branch_test(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        branch_test(what_is_no_condition_is_refused),
        branch_test(a_second_arm_is_one_of_a_branch),
        branch_test(arms_are_ordered_by_nothing),
        branch_test(a_bundle_is_in_one_arm),
        branch_test(a_condition_that_nobody_wrote_is_refused),
        branch_test(what_one_arm_wrote_the_other_cannot_read),
        cmocka_unit_test(a_branch_accesses_what_either_arm_does),
        branch_test(running_out_of_memory_leaves_the_arms_as_they_were),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
