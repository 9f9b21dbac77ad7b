// SPDX-License-Identifier: Apache-2.0
// Plans as Graphviz DOT: lanes in their order, bundles, waits, the critical path, what was
// serialised; Graphviz takes it, and the same plan is always the same text.
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <braid/braid.h>

#include "dot/svg.h"
#include "support/check.h"
#include "support/owner.h"
#include "support/random_choice.h"
#include "support/wide_plan.h"
#include "support/without_islands.h"

static void kernel_function(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    (void)args;
}

static const braid_kernel loop_kernel = { .name = "loop", .cpu = kernel_function };
static const braid_kernel clear_kernel = { .name = "clear_list", .cpu = kernel_function };

// Inlined, gcc 12 takes what the stream writes to `drawing` for the variable's own address.
static __attribute__((noinline)) char *draw(const braid_schedule *schedule)
{
    char *drawing = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&drawing, &length);
    check_ok(braid_schedule_write(schedule, BRAID_DRAWING_DOT, NULL, file));
    fclose(file);
    return drawing;
}

static char *plan_and_draw(const braid_graph *graph, uint32_t num_lanes)
{
    braid_schedule_options options = { .costs = &free_costs,
                                       .max_lanes = num_lanes,
                                       .fixed_lanes = true };
    braid_schedule *schedule;
    check_ok(braid_schedule_create(graph, &options, &schedule));
    char *drawing = draw(schedule);
    braid_schedule_destroy(schedule);
    return drawing;
}

static void assert_has(const char *drawing, const char *text)
{
    if (!drawing || !strstr(drawing, text))
        fail_msg("no '%s' in:\n%s", text, drawing ? drawing : "(nothing)");
}

static void assert_has_in_order(const char *drawing, const char *first, const char *second)
{
    assert_has(drawing, first);
    if (!strstr(strstr(drawing, first), second))
        fail_msg("no '%s' after '%s' in:\n%s", second, first, drawing);
}

static void add_task(braid_graph *graph, const char *name, uint64_t cost_ns, uint32_t after)
{
    braid_node before = braid_graph_get_node(graph, after);
    braid_empty task = { .node = { .name = name, .cost_ns = cost_ns } };
    if (after != UINT32_MAX)
        task.node = (braid_node_options){
            .name = name, .cost_ns = cost_ns, .after = &before, .num_after = 1
        };
    check_ok(braid_graph_add_empty(graph, &task, NULL));
}

// start -> long, short -> end on two lanes: one lane waits for the other twice.
static void lanes_waits_and_the_critical_path_are_drawn(void **state)
{
    (void)state;
    braid_graph *graph = own_graph();
    add_task(graph, "start", 1000, UINT32_MAX);
    add_task(graph, "long", 5000, 0);
    add_task(graph, "short", 2000, 0);
    add_task(graph, "end", 1000, 1);
    check_ok(braid_graph_add_edge(graph, braid_graph_get_node(graph, 2),
                                  braid_graph_get_node(graph, 3)));
    char *drawing = plan_and_draw(graph, 2);
    assert_has_in_order(drawing, "subgraph cluster_lane_0 {", "0 [label=\"start\\n1.00 us\"");
    assert_has_in_order(drawing, "0 [label=\"start", "1 [label=\"long\\n5.00 us\"");
    assert_has_in_order(drawing, "1 [label=\"long", "3 [label=\"end\\n1.00 us\"");
    assert_has_in_order(drawing, "subgraph cluster_lane_1 {", "2 [label=\"short\\n2.00 us\"");
    assert_has(drawing,
               "tooltip=\"1.00 us to 6.00 us\", group=0, color=\"#c0392b\", penwidth=2.6]");
    assert_has(drawing, "tooltip=\"1.00 us to 3.00 us\", group=1];");
    assert_has(drawing, "    0 -> 1 [color=\"#c0392b\", penwidth=2.6, weight=20];\n");
    assert_has(drawing, "    0 -> 2 [style=dashed, xlabel=\"p0\"];\n");
    assert_has(drawing, "    2 -> 3 [style=dashed, xlabel=\"p1\"];\n");
    assert_has(drawing, "4 nodes on 2 lanes, 2 waits for 2 records; makespan 7.00 us");
    free(drawing);
}

// A loop with a prelude that clears `list`.
static void add_loop(braid_graph *graph, braid_resource list)
{
    braid_node loop;
    check_ok(braid_graph_add_kernel(
        graph, &(braid_kernel_node){ .kernel = &loop_kernel, BRAID_ACCESSES({ list, BRAID_READ }) },
        &loop));
    check_ok(braid_graph_add_kernel(graph,
                                    &(braid_kernel_node){ .node.prelude_of = loop,
                                                          .kernel = &clear_kernel,
                                                          BRAID_ACCESSES({ list, BRAID_WRITE }) },
                                    NULL));
}

static void what_a_resource_serialises_is_dotted_with_its_name(void **state)
{
    (void)state;
    braid_resource list;
    braid_graph *graph = own_graph();
    check_ok(braid_graph_add_resource(graph, "list \"ptr\"", &list));
    add_loop(graph, list);
    add_loop(graph, list);
    char *drawing = plan_and_draw(graph, 2);
    assert_has_in_order(drawing, "subgraph cluster_bundle_0 {", "1 [label=\"clear_list\"");
    assert_has_in_order(drawing, "1 [label=\"clear_list\"", "0 [label=\"loop\"");
    assert_has(drawing, "    0 -> 3 [");
    assert_has(strstr(drawing, "    0 -> 3 ["), "style=dotted, xlabel=\"list \\\"ptr\\\"\"");
    free(drawing);
}

static void nodes_that_share_a_lane_for_want_of_others_are_dotted(void **state)
{
    (void)state;
    braid_graph *graph = own_graph();
    add_task(graph, "one", 1000, UINT32_MAX);
    add_task(graph, "other", 1000, UINT32_MAX);
    char *drawing = plan_and_draw(graph, 1);
    assert_has(drawing, " -> ");
    assert_has(strstr(drawing, " -> "), "style=dotted, weight=20];\n");
    free(drawing);
}

static void a_lane_hint_is_named(void **state)
{
    (void)state;
    braid_graph *graph = own_graph();
    for (int i = 0; i < 2; i++)
        check_ok(braid_graph_add_empty(
            graph, &(braid_empty){ .node = { .cost_ns = 1000, .lane_hint = 7 } }, NULL));
    char *drawing = plan_and_draw(graph, 2);
    assert_has(drawing, "0 -> 1 [");
    assert_has(strstr(drawing, "0 -> 1 ["), "style=dotted, xlabel=\"lane hint\"");
    free(drawing);
}

// A graph of all that can be drawn: random edges, bundles, resources and hints.
static braid_graph *make_random_graph(struct random *random)
{
    const struct random_shape shape = { .edges = 1,
                                        .accesses = 1,
                                        .num_resources = 4,
                                        .num_modes = 4,
                                        .hinted = 10,
                                        .num_hints = 1,
                                        .most_ns = 5000 };
    braid_resource resources[4];
    braid_graph *graph = own_graph();
    for (int i = 0; i < 4; i++)
        check_ok(braid_graph_add_resource(graph, "r\\\"<\xff", &resources[i]));
    braid_node nodes[30];
    for (uint32_t i = 0; i < 30; i++) {
        struct random_choice choice;
        random_choose(random, &shape, nodes, i, resources, &choice);
        choice.options.name = "n\n\"";
        braid_kernel_node launch = { .kernel = &loop_kernel, .node = choice.options };
        check_ok(braid_graph_add_kernel(graph, &launch, &nodes[i]));
        launch.node.lane_hint = 0;
        launch.node.num_after = 0;
        braid_kernel_node prelude = launch, epilogue = launch;
        prelude.node.prelude_of = nodes[i];
        if (random_chance(random, 30))
            check_ok(braid_graph_add_kernel(graph, &prelude, NULL));
        epilogue.node.epilogue_of = nodes[i];
        if (random_chance(random, 10))
            check_ok(braid_graph_add_kernel(graph, &epilogue, NULL));
    }
    return graph;
}

// Every lane edge once, every wait once.
static void assert_complete(const braid_schedule *schedule, const char *drawing)
{
    braid_schedule_info info;
    braid_schedule_get_info(schedule, &info);
    uint64_t num_lane_edges = 0, num_waits = 0;
    for (const char *next = drawing; (next = strstr(next, "weight=20]")); next++)
        num_lane_edges++;
    for (const char *next = drawing; (next = strstr(next, "style=dashed, xlabel=\"p")); next++)
        num_waits++;
    assert_int_equal(num_lane_edges, info.num_nodes - info.num_lanes);
    assert_int_equal(num_waits, info.num_waits);
}

static void random_plans_are_drawn_whole_and_the_same_each_time(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct random random = { seed };
        braid_graph *graph = make_random_graph(&random);
        braid_schedule_options options = { .costs = &free_costs,
                                           .max_lanes = 1 + random_below(&random, 5),
                                           .fixed_lanes = true };
        braid_schedule *first, *second;
        check_ok(braid_schedule_create(graph, &options, &first));
        check_ok(braid_schedule_create(graph, &options, &second));
        char *one = draw(first), *two = draw(second);
        assert_string_equal(one, two);
        assert_complete(first, one);
        free(one);
        free(two);
        braid_schedule_destroy(first);
        braid_schedule_destroy(second);
        destroy_now(graph);
    }
}

static void graphviz_takes_any_plan(void **state)
{
    (void)state;
    if (!svg_can_render())
        skip_because("Graphviz' dot is not installed");
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct random random = { seed };
        braid_graph *graph = make_random_graph(&random);
        char *drawing = plan_and_draw(graph, 3);
        char *svg = svg_render(drawing);
        assert_non_null(svg);
        free(svg);
        free(drawing);
        destroy_now(graph);
    }
}

static void an_empty_plan_is_drawn(void **state)
{
    (void)state;
    braid_graph *graph = own_graph();
    char *drawing = plan_and_draw(graph, 2);
    assert_has(drawing, "0 nodes on ");
    free(drawing);
}

// Costs that nobody gave are not drawn, whatever they were planned as; a cost of 1 ns is.
static void only_costs_that_were_given_are_drawn(void **state)
{
    (void)state;
    braid_schedule *schedule, *again;
    braid_graph *graph = own_graph();
    add_task(graph, "one", 1, UINT32_MAX);
    const braid_kernel_node launch = { .kernel = &loop_kernel };
    check_ok(braid_graph_add_kernel(graph, &launch, NULL));
    braid_schedule_options options = { .costs = &(braid_cost_model){ .default_cost_ns = 10000 } };
    check_ok(braid_schedule_create(graph, &options, &schedule));
    char *drawing = draw(schedule);
    assert_has(drawing, "[label=\"one\\n1 ns\"");
    assert_has(drawing, "[label=\"loop\", tooltip");
    assert_has(drawing, "; 1 cost guessed\"");
    free(drawing);
    check_ok(braid_graph_set_cost(graph, braid_graph_get_node(graph, 1), 7000));
    check_ok(braid_schedule_create(graph, &options, &again));
    drawing = draw(again);
    assert_has(drawing, "[label=\"loop\\n7.00 us\"");
    assert_null(strstr(drawing, "guessed"));
    free(drawing);
    braid_schedule_destroy(again);
    braid_schedule_destroy(schedule);
}

static const braid_kernel inside_kernel = { .name = "i", .cpu = kernel_function, .source = "i" };

static braid_node add_call(braid_graph *graph, const char *name, const braid_kernel *kernel,
                           braid_node after, braid_node prelude_of)
{
    const braid_kernel_node launch = {
        .node = { .name = name,
                  .cost_ns = 500,
                  .after = &after,
                  .num_after = after.graph != 0,
                  .prelude_of = prelude_of },
        .kernel = kernel,
    };
    braid_node node;
    check_ok(braid_graph_add_kernel(graph, &launch, &node));
    return node;
}

// One lane: a, b | clear, list, loop (which has no source) | whole bundle, c.
static char *draw_islands(void)
{
    braid_schedule *schedule;
    const braid_node none = { 0 };
    braid_graph *graph = own_graph();
    braid_node a = add_call(graph, "a", &inside_kernel, none, none);
    braid_node b = add_call(graph, "b", &inside_kernel, a, none);
    braid_node loop = add_call(graph, "loop", &loop_kernel, b, none);
    add_call(graph, "clear", &inside_kernel, none, loop);
    add_call(graph, "list", &inside_kernel, none, loop);
    braid_node whole = add_call(graph, "whole", &inside_kernel, loop, none);
    add_call(graph, "mark", &inside_kernel, none, whole);
    add_call(graph, "c", &inside_kernel, whole, none);
    const braid_schedule_options options = {
        .max_lanes = 1, .costs = &(braid_cost_model){ .node_ns = 500, .island_call_ns = 100 }
    };
    check_ok(braid_schedule_create(graph, &options, &schedule));
    check_ok(braid_schedule_verify(schedule, graph));
    char *drawing = draw(schedule);
    braid_schedule_destroy(schedule);
    return drawing;
}

#define ISLAND_LOOK                                                                                \
    "; labelloc=t; labeljust=l; style=rounded; color=\"#b07d2b\"; bgcolor=\"#fdf3dc\";\n"
#define BUNDLE_LOOK                                                                                \
    "        label=\"\"; style=\"rounded,dashed\"; color=\"#8896a8\"; bgcolor=white;\n"
#define CALL(id, name, times)                                                                      \
#id " [label=\"" name "\\n500 ns\", tooltip=\"" times "\", group=0];\n"

// An island has a box; where a part of it is a part of a bundle, that part has one.
static void islands_are_boxed(void **state)
{
    (void)state;
    skip_without_islands();
    static const char expected[] =
        "    subgraph cluster_island_0_0 {\n"
        "        label=\"island 0\"" ISLAND_LOOK
        "        " CALL(0, "a", "0 ns to 500 ns") "        " CALL(
            1, "b", "600 ns to 1.10 us") "    }\n"
                                         "    subgraph cluster_bundle_2 {\n" BUNDLE_LOOK
                                         "    subgraph cluster_island_0_3 {\n"
                                         "        label=\"island 0\"" ISLAND_LOOK;
    char *drawing = draw_islands();
    if (!strstr(drawing, expected))
        fail_msg("no\n%sin\n%s", expected, drawing);
    assert_has_in_order(drawing, "list\\n", "    }\n        2 [label=\"loop");
    assert_has_in_order(drawing, "subgraph cluster_island_1_", "subgraph cluster_bundle_3");
    assert_has_in_order(drawing, "subgraph cluster_bundle_3", "label=\"c\\n");
    assert_has(drawing, "; 2 islands of 7 nodes\"");
    free(drawing);
}

// The plan assumes 10 iterations of a loop that its condition ends, unless the program tells more.
static void loops_tell_how_often_they_run(void **state)
{
    (void)state;
    static const struct {
        braid_loop loop;
        const char *label;
    } cases[] = {
        { { .most = 192 }, "\"loop, at most 192 times, 10 times assumed\"" },
        { { .most = 192, .expected = 192 }, "\"loop, at most 192 times\"" },
        { { .unbounded = true, .expected = 1 }, "\"loop, 1 time assumed\"" },
        { { .times = 3 }, "\"loop, 3 times\"" },
        { { .times = UINT64_MAX }, "\"loop, 18446744073709551615 times\"" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        static uint32_t more;
        braid_graph *graph = own_graph();
        braid_loop loop = cases[i].loop;
        braid_resource condition;
        check_ok(braid_graph_add_buffer(graph, "more", &more, sizeof(more), &condition));
        if (!loop.times)
            loop.condition = condition;
        check_ok(braid_graph_begin_loop(graph, &loop, NULL));
        const braid_kernel_node test = { .kernel = &loop_kernel,
                                         BRAID_ACCESSES({ condition, BRAID_WRITE }) };
        check_ok(braid_graph_add_kernel(graph, &test, NULL));
        check_ok(braid_graph_end(graph));
        char *drawing = plan_and_draw(graph, 1);
        assert_has(drawing, cases[i].label);
        free(drawing);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(only_costs_that_were_given_are_drawn),
        owning_test(lanes_waits_and_the_critical_path_are_drawn),
        owning_test(what_a_resource_serialises_is_dotted_with_its_name),
        owning_test(nodes_that_share_a_lane_for_want_of_others_are_dotted),
        owning_test(a_lane_hint_is_named),
        owning_test(random_plans_are_drawn_whole_and_the_same_each_time),
        owning_test(graphviz_takes_any_plan),
        owning_test(an_empty_plan_is_drawn),
        owning_test(islands_are_boxed),
        owning_test(loops_tell_how_often_they_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
