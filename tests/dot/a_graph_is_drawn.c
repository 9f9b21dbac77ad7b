// SPDX-License-Identifier: Apache-2.0
// braid_graph_write_dot: every kind of node and edge, bundles in boxes, always the same text.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <braid/braid.h>

#include "support/check.h"
#include "support/owner.h"
#include "support/wide_plan.h"

static char memory[16];

static void kernel_function(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    (void)args;
}

static void host_function(void *user)
{
    (void)user;
}

static const braid_kernel clear_list = { .name = "clear_list", .cpu = kernel_function };
static const braid_kernel p2g = { .name = "p2g", .cpu = kernel_function };

static void add_loop(braid_graph *graph, braid_resource list, braid_resource particles)
{
    braid_node loop;
    check_ok(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){ .kernel = &p2g,
                              .node.cost_ns = 2500,
                              BRAID_ACCESSES({ list, BRAID_READ }, { particles, BRAID_READ }) },
        &loop));
    check_ok(braid_graph_add_kernel(graph,
                                    &(braid_kernel_node){ .node.prelude_of = loop,
                                                          .kernel = &clear_list,
                                                          BRAID_ACCESSES({ list, BRAID_WRITE }) },
                                    NULL));
}

static braid_graph *make_graph(void)
{
    braid_graph *graph;
    braid_resource list, particles;
    braid_node load, done;
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_resource(graph, "list", &list));
    check_ok(braid_graph_add_buffer(graph, "particles", memory, 8, &particles));
    check_ok(braid_graph_add_copy(graph,
                                  &(braid_copy){ .node.name = "load",
                                                 .to = memory,
                                                 .from = memory + 8,
                                                 .bytes = 8,
                                                 BRAID_ACCESSES({ particles, BRAID_WRITE }) },
                                  &load));
    add_loop(graph, list, particles);
    add_loop(graph, list, particles);
    check_ok(braid_graph_add_host_call(
        graph, &(braid_host_call){ .call = host_function, BRAID_AFTER(load) }, &done));
    return graph;
}

static char *draw(const braid_graph *graph)
{
    char *drawing = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&drawing, &length);
    check_ok(braid_graph_write_dot(graph, file));
    fclose(file);
    return drawing;
}

static void assert_has(const char *drawing, const char *text)
{
    if (!drawing || !strstr(drawing, text))
        fail_msg("no '%s' in:\n%s", text, drawing ? drawing : "(nothing)");
}

static void nodes_edges_and_bundles_are_there(void **state)
{
    (void)state;
    braid_graph *graph = make_graph();
    char *drawing = draw(graph);
    assert_has(drawing, "    0 [label=\"load\"");
    assert_has(drawing, "    subgraph cluster_bundle_1 {\n");
    assert_has(drawing, "    2 [label=\"clear_list\", prelude_of=1, accesses=\"w0\"");
    assert_has(drawing, "    1 [label=\"p2g\\n2.50 us\", name=\"p2g\", cost=2500");
    assert_has(drawing, "        2;\n        1;\n        2 -> 1 [");
    assert_has(drawing, "    0 -> 5;\n");
    assert_has(drawing, "    0 -> 1 [xlabel=\"particles\", implied=access];\n");
    assert_has(drawing, "    1 -> 4 [xlabel=\"list\", implied=access, style=dotted];\n");
    free(drawing);
    braid_graph_destroy(graph);
}

// Else the drawing has the nodes of the bundle beside the loop.
static void the_box_of_a_bundle_is_in_that_of_its_loop(void **state)
{
    (void)state;
    braid_resource list;
    braid_node user;
    static const braid_kernel clear = { .name = "clear", .source = "x" };
    braid_graph *graph = own_graph();
    check_ok(braid_graph_add_resource(graph, "list", &list));
    check_ok(braid_graph_begin_loop(graph, &(braid_loop){ .times = 3 }, NULL));
    check_ok(braid_graph_add_host_call(
        graph, &(braid_host_call){ .call = host_function, BRAID_ACCESSES({ list, BRAID_READ }) },
        &user));
    check_ok(braid_graph_add_kernel(graph,
                                    &(braid_kernel_node){ .kernel = &clear,
                                                          .node.prelude_of = user,
                                                          BRAID_ACCESSES({ list, BRAID_WRITE }) },
                                    NULL));
    check_ok(braid_graph_end(graph));
    char *drawing = draw(graph);
    assert_has(drawing, "    subgraph cluster_loop_0 {\n"
                        "        label=\"loop\"; style=rounded; color=\"#5b7fb0\";\n"
                        "        0;\n        1;\n        2;\n"
                        "    subgraph cluster_bundle_1 {\n");
    assert_has(drawing, "implied=bundle];\n    }\n    }\n");
    free(drawing);
}

// From the writer of a version to who reads it a frame later; and what only sleeps says so.
static void what_later_frames_read_is_dashed(void **state)
{
    (void)state;
    braid_resource codec, before, sum, last_sum;
    char *drawing = NULL;
    size_t length = 0;
    braid_graph *graph = own_graph();
    check_ok(braid_graph_add_versioned_buffer(graph, "codec", NULL, 3, 64, &codec));
    check_ok(braid_graph_add_earlier_version(graph, codec, 2, &before));
    check_ok(braid_graph_add_host_call(graph,
                                       &(braid_host_call){ .call = host_function,
                                                           .blocking = true,
                                                           BRAID_ACCESSES({ before, BRAID_READ }) },
                                       NULL));
    check_ok(braid_graph_add_host_call(
        graph, &(braid_host_call){ .call = host_function, BRAID_ACCESSES({ codec, BRAID_WRITE }) },
        NULL));
    check_ok(braid_graph_add_versioned_buffer(graph, "sum", NULL, 2, 64, &sum));
    check_ok(braid_graph_add_earlier_version(graph, sum, 1, &last_sum));
    check_ok(braid_graph_add_host_call(
        graph,
        &(braid_host_call){ .call = host_function,
                            BRAID_ACCESSES({ last_sum, BRAID_READ }, { sum, BRAID_WRITE }) },
        NULL));
    FILE *file = open_memstream(&drawing, &length);
    check_ok(braid_graph_write_dot(graph, file));
    fclose(file);
    assert_has(drawing, "2 -> 2 [label=\"sum[-1]\", style=dashed"); // beside heads of others
    assert_has(drawing, "1 -> 0 [xlabel=\"codec[-2]\", style=dashed");
    assert_has(drawing, "kind=host, blocking=true");
    free(drawing);
}

static void use(braid_graph *graph, braid_parameter parameter, braid_parameter_use part)
{
    check_ok(braid_graph_use_parameter(graph, parameter, &part));
}

// What changes of a node is told in the order of declaring, in the graph, its plan and in words;
// a grid that does keeps the node out of islands.
#define UNREAD                                                                                     \
    "; its accesses were not compared with its code: its source was not compiled for CUDA, as an " \
    "audit on the CPU does"

static void what_parameters_change_is_told(void **state)
{
    static const braid_kernel shift = { .name = "shift", .cpu = kernel_function, .source = "s" };
    const uint32_t number = 0;
    braid_schedule *schedule;
    braid_parameter position, steps;
    braid_node first, second;
    (void)state;
    braid_graph *graph = own_graph();
    check_ok(braid_graph_add_parameter(graph, "position", 12, &position));
    check_ok(braid_graph_add_parameter(graph, "steps", 12, &steps));
    const braid_kernel_node launch = { .kernel = &shift,
                                       .node.cost_ns = 2500,
                                       BRAID_ARGS(BRAID_ARG(number), BRAID_ARG(number)) };
    check_ok(braid_graph_add_kernel(graph, &launch, &first));
    check_ok(braid_graph_add_kernel(graph, &launch, &second));
    use(graph, steps,
        (braid_parameter_use){ .node = second, .target = BRAID_TARGET_GRID_X, .bytes = 4 });
    use(graph, position, (braid_parameter_use){ .node = second, .argument = 1, .bytes = 4 });
    use(graph, position, (braid_parameter_use){ .node = second, .argument = 0, .bytes = 4 });
    char *drawing = draw(graph);
    assert_has(drawing, "0 [label=\"shift\\n2.50 us\", name=\"shift\", cost=2500, inside=2");
    assert_has(drawing,
               "1 [label=\"shift\\n2.50 us\\nsteps: grid.x; position: argument 1, "
               "argument 0\", name=\"shift\", cost=2500, pointers=any, changes=\"steps: grid.x; ");
    free(drawing);
    check_ok(
        braid_schedule_create(graph, &(braid_schedule_options){ .costs = &free_costs }, &schedule));
    size_t length = 0;
    FILE *file = open_memstream(&drawing, &length);
    check_ok(braid_schedule_write(schedule, BRAID_DRAWING_DOT, NULL, file));
    fclose(file);
    assert_has(drawing, "1 [label=\"shift\\n2.50 us\\nsteps: grid.x; position: argument 1, ");
    char text[300];
    check_ok(braid_schedule_explain(schedule, &first, 1, text, sizeof(text)));
    assert_string_equal(text, "not in an island: there are none on what it was planned for" UNREAD);
    check_ok(braid_schedule_explain(schedule, &second, 1, text, sizeof(text)));
    assert_string_equal(text, "not in an island: there are none on what it was planned for; "
                              "changed by steps: grid.x; position: argument 1, argument 0" UNREAD);
    free(drawing);
    braid_schedule_destroy(schedule);
}

static void the_same_graph_gives_the_same_text(void **state)
{
    (void)state;
    braid_graph *first = make_graph(), *second = make_graph();
    char *one = draw(first), *two = draw(second);
    assert_string_equal(one, two);
    free(one);
    free(two);
    braid_graph_destroy(first);
    braid_graph_destroy(second);
}

static void an_empty_graph_is_drawn(void **state)
{
    (void)state;
    braid_graph *graph = own_graph();
    char *drawing = draw(graph);
    assert_has(drawing, "digraph");
    free(drawing);
}

static void a_full_disk_is_an_error(void **state)
{
    (void)state;
    FILE *file = fopen("/dev/full", "w");
    if (!file)
        skip_because("this system has no /dev/full");
    braid_graph *graph = make_graph();
    assert_int_equal(braid_graph_write_dot(graph, file), BRAID_IO_ERROR);
    assert_string_not_equal(braid_error_get_message(), "");
    fclose(file);
    braid_graph_destroy(graph);
}

static void null_arguments_are_refused(void **state)
{
    (void)state;
    braid_graph *graph = make_graph();
    assert_int_equal(braid_graph_write_dot(NULL, stdout), BRAID_INVALID_ARGUMENT);
    assert_int_equal(braid_graph_write_dot(graph, NULL), BRAID_INVALID_ARGUMENT);
    braid_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(nodes_edges_and_bundles_are_there),
        owning_test(the_box_of_a_bundle_is_in_that_of_its_loop),
        owning_test(what_later_frames_read_is_dashed),
        owning_test(what_parameters_change_is_told),
        owning_test(the_same_graph_gives_the_same_text),
        owning_test(an_empty_graph_is_drawn),
        owning_test(a_full_disk_is_an_error),
        owning_test(null_arguments_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
