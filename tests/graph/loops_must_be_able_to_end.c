// SPDX-License-Identifier: Apache-2.0
// A loop that could not end, or says what means nothing, is refused by name, and the graph stays as
// it was.
#include <string.h>

#include <braid/braid.h>

#include "graph/graph.h"
#include "graph/node_without_work.h"
#include "support/check.h"
#include "support/failing_memory.h"
#include "support/wide_plan.h"

static uint32_t words[4];

struct world {
    braid_graph *graph;
    braid_resource left, part, list, other;
    braid_node before;
};

static int set_up(void **state)
{
    static struct world world;
    memset(&world, 0, sizeof(world));
    check_ok(braid_graph_create(&world.graph));
    check_ok(braid_graph_add_buffer(world.graph, "words", words, sizeof(words), &world.other));
    check_ok(braid_graph_add_range(world.graph, world.other, 0, 4, &world.left));
    check_ok(braid_graph_add_range(world.graph, world.other, 8, 4, &world.part));
    check_ok(braid_graph_add_resource(world.graph, "list", &world.list));
    world.before = add_node(world.graph, "before", world.other, BRAID_WRITE);
    *state = &world;
    return 0;
}

static int tear_down(void **state)
{
    const struct world *world = *state;
    braid_graph_destroy(world->graph);
    return 0;
}

static void refuses(const struct world *world, braid_loop loop, const char *why)
{
    braid_node node = { 77, 77 };
    size_t num = braid_graph_get_num_nodes(world->graph);
    uint64_t version = world->graph->version;
    loop.node.name = "until done";
    check_fails(braid_graph_begin_loop(world->graph, &loop, &node), BRAID_INVALID_ARGUMENT,
                "'until done'");
    assert_non_null(strstr(braid_error_get_message(), why));
    assert_int_equal(braid_graph_get_num_nodes(world->graph), num);
    assert_int_equal(world->graph->version, version);
    assert_int_equal(node.index, 77);
    check_fails(braid_graph_end(world->graph), BRAID_WRONG_STATE, "no loop is open");
}

static void bounds_that_are_none_are_refused(void **state)
{
    const struct world *world = *state;
    const braid_resource left = world->left;
    const char nothing[] = "give .times, or a .condition with .most or .unbounded";
    refuses(world, (braid_loop){ 0 }, nothing);
    refuses(world, (braid_loop){ .most = 3 }, nothing);
    refuses(world, (braid_loop){ .condition = left }, "no bound");
    refuses(world, (braid_loop){ .condition = left, .tests_first = true }, "no bound");
    refuses(world, (braid_loop){ .condition = left, .most = 3, .unbounded = true },
            "more than one");
    refuses(world, (braid_loop){ .condition = left, .most = 3, .times = 3 }, "more than one");
    refuses(world, (braid_loop){ .times = 3, .most = 3 }, "are for loops with a .condition");
    refuses(world, (braid_loop){ .times = 3, .unbounded = true }, "with a .condition");
    refuses(world, (braid_loop){ .times = 3, .tests_first = true }, "with a .condition");
    refuses(world, (braid_loop){ .unbounded = true }, nothing);
}

static void conditions_that_are_no_word_are_refused(void **state)
{
    const struct world *world = *state;
    braid_graph *graph = world->graph;
    braid_resource bad;
    refuses(world, (braid_loop){ .condition = { 99, graph->id }, .most = 3 }, "not a resource");
    refuses(world, (braid_loop){ .condition = { 0, graph->id + 1 }, .most = 3 }, "not a resource");
    refuses(world, (braid_loop){ .condition = world->list, .most = 3 }, "'list' has less than");
    check_ok(braid_graph_add_range(graph, world->other, 4, 2, &bad));
    refuses(world, (braid_loop){ .condition = bad, .most = 3 }, "has less than the four bytes");
    check_ok(braid_graph_add_range(graph, world->other, 6, 4, &bad));
    refuses(world, (braid_loop){ .condition = bad, .most = 3 }, "is not aligned");
    check_ok(braid_graph_add_scratch(graph, "spare", 4, 0, &bad));
    refuses(world, (braid_loop){ .condition = bad, .most = 3 }, "'spare' is scratch");
    check_ok(braid_graph_add_versioned_buffer(graph, "state", NULL, 2, 4, &bad));
    refuses(world, (braid_loop){ .condition = bad, .most = 3 }, "'state' has versions");
    check_ok(braid_graph_add_buffer(graph, "nowhere", NULL, 4, &bad));
    refuses(world, (braid_loop){ .condition = bad, .most = 3 }, "without an address");
    check_ok(braid_graph_add_transient(graph, "bytes", 4, 1, &bad));
    refuses(world, (braid_loop){ .condition = bad, .most = 3 }, "is not aligned");
}

static void options_that_a_loop_has_not_are_refused(void **state)
{
    const struct world *world = *state;
    const braid_access access = { world->left, BRAID_READ };
    refuses(world, (braid_loop){ .times = 2, .node = { .accesses = &access, .num_accesses = 1 } },
            "no .accesses");
    refuses(world, (braid_loop){ .times = 2, .node.prelude_of = world->before }, "prelude");
    refuses(world, (braid_loop){ .times = 2, .node.epilogue_of = world->before }, "prelude");
    refuses(world, (braid_loop){ .times = 2, .node.place = 1 }, ".place");
    refuses(world, (braid_loop){ .times = 2, .node.cost_ns = 5 }, "no .cost_ns");
    const braid_node nothing = { 99, world->graph->id };
    refuses(world, (braid_loop){ .times = 2, .node = { .after = &nothing, .num_after = 1 } },
            "is not a node");
}

static void plan_fails(const struct world *world, braid_status status, const char *why)
{
    braid_schedule *schedule;
    braid_device *device;
    braid_exec *exec;
    check_fails(braid_schedule_create(world->graph,
                                      &(braid_schedule_options){ .costs = &free_costs }, &schedule),
                status, why);
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cpu" }, &device));
    check_fails(braid_exec_create(device, world->graph, NULL, &exec), status, why);
    check_ok(braid_device_close(device));
}

static void begin(const struct world *world, const char *name)
{
    check_ok(braid_graph_begin_loop(
        world->graph, &(braid_loop){ .node.name = name, .condition = world->left, .most = 5 },
        NULL));
}

static void a_loop_that_does_not_write_its_condition_is_refused(void **state)
{
    const struct world *world = *state;
    static const char why[] = "'until converged' never ends: no node in it writes 'words[0, 4)'";
    begin(world, "until converged");
    add_node(world->graph, "reader", world->left, BRAID_READ);
    add_node(world->graph, "keeper", world->left, BRAID_EXCLUSIVE);
    add_node(world->graph, "aside", world->part, BRAID_WRITE); // another range of the buffer
    check_ok(braid_graph_end(world->graph));
    add_node(world->graph, "behind", world->left, BRAID_WRITE);
    plan_fails(world, BRAID_INVALID_ARGUMENT, why);
}

static void a_loop_inside_may_write_the_condition(void **state)
{
    const struct world *world = *state;
    braid_schedule *schedule;
    begin(world, "until converged");
    check_ok(braid_graph_begin_loop(world->graph, &(braid_loop){ .times = 2 }, NULL));
    add_node(world->graph, "whole", world->other, BRAID_ACCUMULATE);
    plan_fails(world, BRAID_WRONG_STATE, "loop 'loop' was begun and has not ended");
    check_ok(braid_graph_end(world->graph));
    plan_fails(world, BRAID_WRONG_STATE, "loop 'until converged' was begun and has not ended");
    check_ok(braid_graph_end(world->graph));
    check_ok(braid_schedule_create(world->graph, &(braid_schedule_options){ .costs = &free_costs },
                                   &schedule));
    check_ok(braid_schedule_verify(schedule, world->graph));
    braid_schedule_destroy(schedule);
}

static void loops_nest_at_most_256_deep(void **state)
{
    const struct world *world = *state;
    const braid_loop loop = { .node.name = "deepest", .times = 2 };
    for (int i = 0; i < 256; i++)
        check_ok(braid_graph_begin_loop(world->graph, &(braid_loop){ .times = 2 }, NULL));
    size_t num = braid_graph_get_num_nodes(world->graph);
    check_fails(braid_graph_begin_loop(world->graph, &loop, NULL), BRAID_INVALID_ARGUMENT,
                "loop 'deepest': loops and branches nest at most 256 deep");
    assert_int_equal(braid_graph_get_num_nodes(world->graph), num);
    add_node(world->graph, "inside", world->list, BRAID_READ);
    for (int i = 0; i < 256; i++)
        check_ok(braid_graph_end(world->graph));
}

static void a_loop_without_nodes_stays_open(void **state)
{
    const struct world *world = *state;
    begin(world, "empty");
    check_fails(braid_graph_end(world->graph), BRAID_WRONG_STATE, "loop 'empty': it has no");
    add_node(world->graph, "less", world->left, BRAID_READ_WRITE);
    check_ok(braid_graph_end(world->graph));
    check_fails(braid_graph_end(world->graph), BRAID_WRONG_STATE, "no loop is open");
}

static void bundles_and_edges_that_cross_a_loop_are_refused(void **state)
{
    const struct world *world = *state;
    braid_node loop, inside;
    check_ok(braid_graph_begin_loop(world->graph, &(braid_loop){ .times = 2 }, &loop));
    inside = add_node(world->graph, "inside", world->left, BRAID_WRITE);
    check_ok(braid_graph_end(world->graph));
    check_fails(braid_graph_add_empty(
                    world->graph,
                    &(braid_empty){ .node = { .name = "prelude", .prelude_of = loop } }, NULL),
                BRAID_INVALID_ARGUMENT, "'prelude': it cannot be a prelude of the loop 'loop'");
    check_fails(braid_graph_use_parameter(
                    world->graph, (braid_parameter){ 0 },
                    &(braid_parameter_use){ .node = loop, .target = BRAID_TARGET_ENABLED }),
                BRAID_INVALID_ARGUMENT, "");
    check_ok(braid_graph_add_edge(world->graph, loop, inside));
    plan_fails(world, BRAID_INVALID_ARGUMENT,
               "the edge from 'loop' to 'inside' orders a loop and a node inside it");
}

static void a_bundle_is_in_one_body(void **state)
{
    const struct world *world = *state;
    check_ok(braid_graph_begin_loop(world->graph, &(braid_loop){ .times = 2 }, NULL));
    check_ok(braid_graph_add_empty(
        world->graph, &(braid_empty){ .node = { .name = "prelude", .prelude_of = world->before } },
        NULL));
    check_ok(braid_graph_end(world->graph));
    plan_fails(world, BRAID_INVALID_ARGUMENT,
               "'prelude' and its main node 0 'before' are in two bodies");
    check_ok(braid_graph_set_output(world->graph, world->other)); // which leaves the loop out
    plan_fails(world, BRAID_INVALID_ARGUMENT,
               "'prelude' and its main node 0 'before' are in two bodies");
}

static void an_order_around_a_loop_is_a_cycle(void **state)
{
    const struct world *world = *state;
    braid_schedule *schedule;
    braid_node inside[2];
    check_ok(braid_graph_begin_loop(world->graph, &(braid_loop){ .times = 2 }, NULL));
    for (int i = 0; i < 2; i++)
        inside[i] = add_node(world->graph, "inside", world->list, BRAID_READ);
    check_ok(braid_graph_end(world->graph));
    braid_node outside = add_node(world->graph, "outside", world->part, BRAID_READ);
    check_ok(braid_graph_add_edge(world->graph, inside[0], outside));
    check_ok(braid_graph_add_edge(world->graph, outside, inside[1]));
    check_fails(braid_schedule_create(world->graph,
                                      &(braid_schedule_options){ .costs = &free_costs }, &schedule),
                BRAID_CYCLE, "'outside'");
}

// The graph can be used on whichever allocation fails.
static void running_out_of_memory_leaves_the_loop_as_it_was(void **state)
{
    const struct world *world = *state;
    uint32_t num = 0;
    for (uint32_t nth = 1;; nth++) {
        failing_memory_arm(nth);
        braid_status status = braid_graph_begin_loop(
            world->graph, &(braid_loop){ .condition = world->left, .most = 2 }, NULL);
        if (!failing_memory_disarm())
            break;
        num++;
        assert_int_equal(status, BRAID_NO_MEMORY);
        check_fails(braid_graph_end(world->graph), BRAID_WRONG_STATE, "no loop is open");
    }
    for (int i = 0; i < 20; i++)
        add_node(world->graph, "inside", i ? world->part : world->left, BRAID_WRITE);
    for (uint32_t nth = 1;; nth++) {
        failing_memory_arm(nth);
        braid_status status = braid_graph_end(world->graph);
        if (!failing_memory_disarm())
            break;
        num++;
        assert_int_equal(status, BRAID_NO_MEMORY);
    }
    braid_schedule *schedule;
    assert_true(num > 2);
    check_ok(braid_schedule_create(world->graph, &(braid_schedule_options){ .costs = &free_costs },
                                   &schedule));
    check_ok(braid_schedule_verify(schedule, world->graph));
    braid_schedule_destroy(schedule);
}

#define loop_test(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        loop_test(bounds_that_are_none_are_refused),
        loop_test(conditions_that_are_no_word_are_refused),
        loop_test(options_that_a_loop_has_not_are_refused),
        loop_test(a_loop_that_does_not_write_its_condition_is_refused),
        loop_test(a_loop_inside_may_write_the_condition),
        loop_test(loops_nest_at_most_256_deep),
        loop_test(a_loop_without_nodes_stays_open),
        loop_test(bundles_and_edges_that_cross_a_loop_are_refused),
        loop_test(a_bundle_is_in_one_body),
        loop_test(an_order_around_a_loop_is_a_cycle),
        loop_test(running_out_of_memory_leaves_the_loop_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
