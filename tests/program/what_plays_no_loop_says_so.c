// SPDX-License-Identifier: Apache-2.0
// What cannot play a graph with a loop refuses it and names the loop. What can does it right: plans
// made anew, copies of the plan, and explanations.
#include <stdlib.h>
#include <string.h>

#include <braid/braid.h>

#include "graph/regions.h"
#include "support/check.h"
#include "support/wide_plan.h"

static uint32_t left;

static void count_down(void *user)
{
    --*(uint32_t *)user;
}

struct nodes {
    braid_graph *graph;
    braid_node start, loop, less, behind;
};

static braid_node add_call(braid_graph *graph, const char *name, braid_resource resource,
                           uint64_t cost_ns)
{
    braid_node node;
    const braid_access access = { resource, BRAID_READ_WRITE };
    check_ok(braid_graph_add_host_call(
        graph,
        &(braid_host_call){
            .node = { .name = name, .cost_ns = cost_ns, .accesses = &access, .num_accesses = 1 },
            .call = count_down,
            .user = &left },
        &node));
    return node;
}

static struct nodes make_graph(void)
{
    struct nodes nodes;
    braid_resource condition;
    check_ok(braid_graph_create(&nodes.graph));
    check_ok(braid_graph_add_buffer(nodes.graph, "left", &left, sizeof(left), &condition));
    nodes.start = add_call(nodes.graph, "start", condition, 1000);
    check_ok(braid_graph_begin_loop(
        nodes.graph,
        &(braid_loop){
            .node.name = "until 0", .condition = condition, .most = 500, .expected = 40 },
        &nodes.loop));
    nodes.less = add_call(nodes.graph, "less", condition, 1000);
    check_ok(braid_graph_end(nodes.graph));
    nodes.behind = add_call(nodes.graph, "behind", condition, 1000);
    return nodes;
}

static braid_device *open_cpu(void)
{
    braid_device *device;
    check_ok(
        braid_device_open(&(braid_device_options){ .backend = "cpu", .num_workers = 2 }, &device));
    return device;
}

static void values_of_a_loop_are_not_set(void **state)
{
    (void)state;
    struct nodes nodes = make_graph();
    braid_device *device = open_cpu();
    braid_parameter parameter;
    braid_exec *exec;
    uint64_t num;
    check_ok(braid_graph_add_parameter(nodes.graph, "on", 4, &parameter));
    check_fails(braid_graph_use_parameter(
                    nodes.graph, parameter,
                    &(braid_parameter_use){ .node = nodes.loop, .target = BRAID_TARGET_ENABLED }),
                BRAID_INVALID_ARGUMENT, "'until 0'");
    check_ok(braid_exec_create(device, nodes.graph, NULL, &exec));
    check_fails(braid_exec_set(exec, nodes.loop, BRAID_TARGET_ENABLED, 0, &(bool){ false }),
                BRAID_INVALID_ARGUMENT, "'until 0'");
    check_fails(braid_exec_get_iterations(exec, nodes.less, &num), BRAID_INVALID_ARGUMENT,
                "node 2 of graph");
    check_fails(braid_exec_get_iterations(exec, nodes.loop, &num), BRAID_WRONG_STATE,
                "no frame was launched");
    braid_exec_destroy(exec);
    check_ok(braid_device_close(device));
    braid_graph_destroy(nodes.graph);
}

static void a_plan_made_anew_knows_loops(void **state)
{
    (void)state;
    struct nodes nodes = make_graph();
    braid_device *device = open_cpu();
    braid_schedule *schedule, *again;
    braid_schedule_info info;
    check_ok(braid_schedule_create(nodes.graph, &(braid_schedule_options){ .costs = &free_costs },
                                   &schedule));
    check_ok(braid_graph_set_cost(nodes.graph, nodes.less, 5000));
    check_ok(braid_schedule_create(nodes.graph, &(braid_schedule_options){ .costs = &free_costs },
                                   &again));
    check_ok(braid_schedule_verify(again, nodes.graph));
    braid_schedule_get_info(schedule, &info);
    assert_int_equal(info.makespan_ns, 1000 + 40 * 1000 + 1000);
    braid_schedule_get_info(again, &info);
    assert_int_equal(info.makespan_ns, 1000 + 40 * 5000 + 1000);
    assert_int_equal(info.num_nodes, 4);
    braid_exec *exec;
    uint64_t num;
    check_ok(
        braid_exec_create(device, nodes.graph, &(braid_exec_options){ .schedule = again }, &exec));
    left = 9;
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    check_ok(braid_exec_get_iterations(exec, nodes.loop, &num));
    assert_int_equal(num, 8);
    braid_exec_destroy(exec);
    braid_schedule_destroy(schedule);
    braid_schedule_destroy(again);
    check_ok(braid_device_close(device));
    braid_graph_destroy(nodes.graph);
}

static void check_explained(const braid_schedule *schedule, braid_node a, braid_node b,
                            const char *expected)
{
    char text[256];
    const braid_node pair[] = { a, b };
    check_ok(braid_schedule_explain(schedule, pair, 2, text, sizeof(text)));
    if (!strstr(text, expected))
        fail_msg("'%s' does not contain '%s'", text, expected);
}

static void orders_inside_and_across_are_explained(void **state)
{
    (void)state;
    struct nodes nodes = make_graph();
    braid_schedule *schedule;
    check_ok(braid_schedule_create(nodes.graph, &(braid_schedule_options){ .costs = &free_costs },
                                   &schedule));
    check_explained(schedule, nodes.less, nodes.loop, "less is in the loop until 0");
    check_explained(schedule, nodes.behind, nodes.less, "ordered");
    check_explained(schedule, nodes.less, nodes.start, "ordered by data in left");
    braid_schedule_destroy(schedule);
    braid_graph_destroy(nodes.graph);
}

static void check_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in the drawing:\n%s", part, text);
}

static void drawings_have_a_box_for_each_loop(void **state)
{
    (void)state;
    struct nodes nodes = make_graph();
    char *text = NULL;
    size_t size;
    check_ok(braid_graph_begin_loop(nodes.graph, &(braid_loop){ .node.name = "outer", .times = 2 },
                                    NULL));
    check_ok(braid_graph_begin_loop(nodes.graph, &(braid_loop){ .node.name = "inner", .times = 3 },
                                    NULL));
    check_ok(braid_graph_add_empty(nodes.graph, &(braid_empty){ 0 }, NULL));
    check_ok(braid_graph_end(nodes.graph));
    check_ok(braid_graph_end(nodes.graph));
    FILE *file = open_memstream(&text, &size);
    check_ok(braid_graph_write_dot(nodes.graph, file));
    fclose(file);
    check_has(
        text,
        "1 [label=\"until 0\", kind=loop, condition=0, expected=40, most=500, accesses=\"rw0\"");
    check_has(text, "subgraph cluster_loop_1 {\n        label=\"until 0\"; style=rounded; "
                    "color=\"#5b7fb0\";\n        1;\n        2;\n    }\n");
    const char *outer = strstr(text, "subgraph cluster_loop_4 {");
    assert_non_null(outer);
    check_has(outer, "        4;\n    subgraph cluster_loop_5 {");
    check_has(outer, "        5;\n        6;\n    }\n    }\n");
    assert_null(strstr(text, "    1 -> 2 "));
    free(text);
    braid_graph_destroy(nodes.graph);
}

static void digests_differ_by_loops(void **state)
{
    (void)state;
    struct nodes nodes = make_graph();
    uint64_t before = braid_graph_get_digest(nodes.graph);
    struct work_loop *loop = (struct work_loop *)(uintptr_t)graph_loop(nodes.graph, 1);
    loop->most++;
    assert_true(braid_graph_get_digest(nodes.graph) != before);
    loop->most--;
    assert_int_equal(braid_graph_get_digest(nodes.graph), before);
    ((struct graph_region *)nodes.graph->regions.items)->num++;
    assert_true(braid_graph_get_digest(nodes.graph) != before);
    braid_graph_destroy(nodes.graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_a_loop_are_not_set),
        cmocka_unit_test(a_plan_made_anew_knows_loops),
        cmocka_unit_test(orders_inside_and_across_are_explained),
        cmocka_unit_test(drawings_have_a_box_for_each_loop),
        cmocka_unit_test(digests_differ_by_loops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
