// SPDX-License-Identifier: Apache-2.0
// A graph with a cycle is refused, and the message names the nodes on it and where its edges come
// from.
#include "planner/plan_testing.h"
#include "support/wide_plan.h"

static void check_cycle(const braid_graph *graph, const char *text)
{
    braid_schedule *schedule = NULL;
    check_fails(
        braid_schedule_create(graph, &(braid_schedule_options){ .costs = &free_costs }, &schedule),
        BRAID_CYCLE, text);
    assert_null(schedule);
}

static void explicit_edges(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    new_node(graph, "before", 1, NO_NODE, NO_NODE);
    braid_node load = new_node(graph, "load", 1, braid_graph_get_node(graph, 0), NO_NODE);
    braid_node blur = new_node(graph, "blur", 1, load, NO_NODE);
    braid_node mix = new_node(graph, "mix", 1, blur, NO_NODE);
    new_node(graph, "after", 1, mix, NO_NODE);
    new_edge(graph, mix, load);
    check_cycle(graph, "cycle: 1 'load' -> 2 'blur' -> 3 'mix' -> 1 'load'");
}

static void an_edge_from_a_resource_is_told(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_resource image = new_resource(graph, "image");
    braid_node load = new_user(graph, "load", image, BRAID_WRITE, NO_RESOURCE, 0);
    braid_node blur = new_user(graph, "blur", image, BRAID_READ, NO_RESOURCE, 0);
    new_edge(graph, blur, load);
    check_cycle(graph, "cycle: 0 'load' -> 1 'blur' -> 0 'load' (0 'load' -> 1 'blur' by 'image')");
}

static void a_bundle_can_close_a_cycle(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_resource list = new_resource(graph, "list");
    braid_node loop = new_node(graph, "loop", 1, NO_NODE, NO_NODE);
    braid_node clear = new_prelude(graph, loop, "clear", list, BRAID_WRITE);
    braid_node other = new_node(graph, "other", 1, clear, NO_NODE);
    new_edge(graph, other, loop);
    check_cycle(
        graph,
        "cycle: 0 'loop' -> 2 'other' -> 0 'loop' (0 'loop' is a bundle: 1 'clear' 0 'loop')");
}

static void an_edge_against_a_bundle_is_told(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_resource list = new_resource(graph, "list");
    braid_node loop = new_node(graph, "loop", 1, NO_NODE, NO_NODE);
    braid_node clear = new_prelude(graph, loop, "clear", list, BRAID_WRITE);
    new_edge(graph, loop, clear);
    check_cycle(graph, "cycle: 0 'loop' -> 1 'clear' -> 0 'loop' (in the bundle of 0 'loop', 1 "
                       "'clear' runs before 0 'loop')");
}

static void a_hint_can_close_a_cycle(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_empty hinted = { .node = { .name = "first", .lane_hint = 3 } };
    braid_node first, second;
    check_ok(braid_graph_add_empty(graph, &hinted, &first));
    hinted.node.name = "second";
    check_ok(braid_graph_add_empty(graph, &hinted, &second));
    new_edge(graph, second, first);
    check_cycle(
        graph,
        "cycle: 0 'first' -> 1 'second' -> 0 'first' (0 'first' -> 1 'second' by lane hint 3)");
}

static void a_long_cycle_is_cut(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_node first = new_node(graph, "first", 1, NO_NODE, NO_NODE);
    braid_node last = first;
    for (int i = 0; i < 1000; i++)
        last = new_node(graph, "link", 1, last, NO_NODE);
    new_edge(graph, last, first);
    check_cycle(graph, "cycle: 0 'first' -> 1 'link'");
    check_cycle(graph, "more) -> 993 'link'");
    check_cycle(graph, "1000 'link' -> 0 'first'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(explicit_edges),
        owning_test(an_edge_from_a_resource_is_told),
        owning_test(a_bundle_can_close_a_cycle),
        owning_test(an_edge_against_a_bundle_is_told),
        owning_test(a_hint_can_close_a_cycle),
        owning_test(a_long_cycle_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
