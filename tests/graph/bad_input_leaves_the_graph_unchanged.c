// SPDX-License-Identifier: Apache-2.0
// Every bad input is refused with a message that names the node or resource, and changes nothing.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/bad_input.h"
#include "graph/graph.h"
#include "graph/graph_state.h"
#include "support/check.h"

static void cpu(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    (void)args;
}

static void host(void *user)
{
    (void)user;
}

static braid_status queue_nothing(braid_device *device, braid_stream *stream, void *user)
{
    (void)device;
    (void)stream;
    (void)user;
    return BRAID_OK;
}

static const braid_kernel kernel = { .name = "victim", .cpu = cpu };
static const braid_kernel loader = { .name = "loader", .cpu = cpu };
static const braid_kernel nameless = { .cpu = cpu };
_Alignas(8) char memory[64];

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof(*world));
    *state = world;
    check_ok(braid_graph_create(&world->graph));
    braid_graph *graph = world->graph;
    check_ok(braid_graph_add_buffer(graph, "image", memory, 64, &world->image));
    check_ok(braid_graph_add_range(graph, world->image, 16, 16, &world->part));
    check_ok(braid_graph_add_resource(graph, "list", &world->list));
    int value = 3;
    braid_kernel_node load = { .kernel = &loader,
                               .node.name = "load",
                               BRAID_ARGS(BRAID_ARG(value)),
                               BRAID_ACCESSES({ world->image, BRAID_WRITE }) };
    check_ok(braid_graph_add_kernel(graph, &load, &world->load));
    braid_kernel_node loop = { .kernel = &kernel,
                               .node.name = "loop",
                               BRAID_AFTER(world->load),
                               BRAID_ACCESSES({ world->part, BRAID_READ }) };
    check_ok(braid_graph_add_kernel(graph, &loop, &world->loop));
    braid_kernel_node clear = { .kernel = &kernel, .node.name = "clear" };
    clear.node.prelude_of = world->loop;
    check_ok(braid_graph_add_kernel(graph, &clear, &world->clear));
    braid_kernel_node sweep = { .kernel = &kernel, .node.name = "sweep" };
    sweep.node.epilogue_of = world->loop;
    check_ok(braid_graph_add_kernel(graph, &sweep, &world->sweep));

    check_ok(braid_graph_create(&world->other));
    check_ok(braid_graph_add_resource(world->other, "foreign", &world->foreign_resource));
    check_ok(braid_graph_add_empty(world->other, &(braid_empty){ 0 }, &world->foreign_node));
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    braid_graph_destroy(world->graph);
    braid_graph_destroy(world->other);
    free(world);
    return 0;
}

void check_unchanged(struct world *world, char *before)
{
    char *after = graph_state(world->graph);
    assert_string_equal(after, before);
    free(after);
    free(before);
}

static void check_refused_launch(struct world *world, const braid_kernel_node *launch)
{
    char *before = graph_state(world->graph);
    braid_node node = { 77, 77 };
    check_fails(braid_graph_add_kernel(world->graph, launch, &node), BRAID_INVALID_ARGUMENT,
                "victim");
    assert_int_equal(node.index, 77); // outputs are written on success only
    check_unchanged(world, before);
}

// The same bad options must be refused for every kind of node.
static void check_refused_options(struct world *world, const braid_node_options *options)
{
    braid_graph *graph = world->graph;
    char *before = graph_state(graph);
    const char *expected = *options->name ? "victim" : "its name is empty";
    check_fails(braid_graph_add_kernel(
                    graph, &(braid_kernel_node){ .node = *options, .kernel = &kernel }, NULL),
                BRAID_INVALID_ARGUMENT, expected);
    braid_copy copy = { .node = *options, .to = memory, .from = memory + 8, .bytes = 8 };
    check_fails(braid_graph_add_copy(graph, &copy, NULL), BRAID_INVALID_ARGUMENT, expected);
    braid_fill fill = { .node = *options, .to = memory, .num_values = 1 };
    check_fails(braid_graph_add_fill(graph, &fill, NULL), BRAID_INVALID_ARGUMENT, expected);
    braid_host_call host_call = { .node = *options, .call = host };
    check_fails(braid_graph_add_host_call(graph, &host_call, NULL), BRAID_INVALID_ARGUMENT,
                expected);
    braid_queue_call queue_call = { .node = *options, .call = queue_nothing };
    check_fails(braid_graph_add_queue_call(graph, &queue_call, NULL), BRAID_INVALID_ARGUMENT,
                expected);
    check_fails(braid_graph_add_empty(graph, &(braid_empty){ .node = *options }, NULL),
                BRAID_INVALID_ARGUMENT, expected);
    check_unchanged(world, before);
}

static void empty_names_are_refused(void **state)
{
    check_refused_options(*state, &(braid_node_options){ .name = "" });
    struct world *world = *state;
    char *before = graph_state(world->graph);
    check_fails(
        braid_graph_begin_loop(world->graph, &(braid_loop){ .node.name = "", .times = 2 }, NULL),
        BRAID_INVALID_ARGUMENT, "its name is empty");
    check_unchanged(world, before);
}

static void unknown_nodes_in_after_are_refused(void **state)
{
    struct world *world = *state;
    braid_node unknown = { world->load.index + 1000, world->load.graph };
    braid_node next = { (uint32_t)braid_graph_get_num_nodes(world->graph), world->load.graph };
    braid_node none = { 0 };
    braid_node bad[] = { unknown, next, none, world->foreign_node };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        braid_node after[] = { world->load, bad[i] };
        check_refused_options(
            world, &(braid_node_options){ .name = "victim", .after = after, .num_after = 2 });
    }
    check_refused_options(world, &(braid_node_options){ .name = "victim", .num_after = 1 });
}

static void unknown_resources_are_refused(void **state)
{
    struct world *world = *state;
    braid_resource unknown = { world->list.index + 1000, world->list.graph };
    braid_resource none = { 0 };
    braid_resource bad[] = { unknown, none, world->foreign_resource };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        braid_access accesses[] = { { world->image, BRAID_READ }, { bad[i], BRAID_READ } };
        check_refused_options(
            world,
            &(braid_node_options){ .name = "victim", .accesses = accesses, .num_accesses = 2 });
    }
    check_refused_options(world, &(braid_node_options){ .name = "victim", .num_accesses = 1 });
    braid_access access = { world->image, BRAID_READ };
    check_refused_options(
        world,
        &(braid_node_options){ .name = "victim", .accesses = &access, .num_accesses = UINT32_MAX });
}

static void unknown_access_modes_are_refused(void **state)
{
    struct world *world = *state;
    unsigned bad[] = { 0, BRAID_ACCUMULATE + 1, 1000 };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        braid_access access = { world->image, (braid_access_mode)bad[i] };
        check_refused_options(
            world,
            &(braid_node_options){ .name = "victim", .accesses = &access, .num_accesses = 1 });
    }
}

static void preludes_and_epilogues_of_the_wrong_node_are_refused(void **state)
{
    struct world *world = *state;
    braid_node unknown = { 1000, world->load.graph };
    braid_node bad[] = { world->clear, world->sweep, unknown, world->foreign_node };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        check_refused_options(world,
                              &(braid_node_options){ .name = "victim", .prelude_of = bad[i] });
        check_refused_options(world,
                              &(braid_node_options){ .name = "victim", .epilogue_of = bad[i] });
    }
    check_refused_options(world, &(braid_node_options){ .name = "victim",
                                                        .prelude_of = world->loop,
                                                        .epilogue_of = world->loop });
}

static void preludes_and_epilogues_refuse_the_wrong_node(void **state)
{
    struct world *world = *state;
    braid_node unknown = { 1000, world->load.graph };
    braid_node bad[] = { world->clear, world->sweep, unknown, world->foreign_node };
    char *before = graph_state(world->graph);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const braid_kernel_node prelude = { .kernel = &kernel, .node.prelude_of = bad[i] };
        const braid_kernel_node epilogue = { .kernel = &kernel, .node.epilogue_of = bad[i] };
        check_fails(braid_graph_add_kernel(world->graph, &prelude, NULL), BRAID_INVALID_ARGUMENT,
                    "victim");
        check_fails(braid_graph_add_kernel(world->graph, &epilogue, NULL), BRAID_INVALID_ARGUMENT,
                    "victim");
    }
    check_unchanged(world, before);
}

static void kernels_without_what_they_need_are_refused(void **state)
{
    struct world *world = *state;
    check_refused_launch(world, &(braid_kernel_node){ .node.name = "victim" });
    check_refused_launch(world, &(braid_kernel_node){ .node.name = "victim", .kernel = &nameless });
    braid_arg null_data[] = { { memory, 4 }, { NULL, 4 } };
    check_refused_launch(
        world, &(braid_kernel_node){ .kernel = &kernel, .args = null_data, .num_args = 2 });
    braid_arg no_bytes[] = { { memory, 0 } };
    check_refused_launch(
        world, &(braid_kernel_node){ .kernel = &kernel, .args = no_bytes, .num_args = 1 });
    check_refused_launch(world, &(braid_kernel_node){ .kernel = &kernel, .num_args = 1 });
    braid_arg vast[] = { { memory, (size_t)INT32_MAX + 1 } };
    check_refused_launch(world,
                         &(braid_kernel_node){ .kernel = &kernel, .args = vast, .num_args = 1 });
    assert_non_null(strstr(braid_error_get_message(), "argument 0 has 2147483648 bytes"));
    check_refused_launch(
        world, &(braid_kernel_node){ .kernel = &kernel, .args = no_bytes, .num_args = UINT32_MAX });
    assert_non_null(strstr(braid_error_get_message(), "too many arguments"));
}

static void grids_that_overflow_are_refused(void **state)
{
    struct world *world = *state;
    uint32_t most = UINT32_MAX;
    check_refused_launch(world,
                         &(braid_kernel_node){ .kernel = &kernel, .grid = { most, most, most } });
    check_refused_launch(world,
                         &(braid_kernel_node){ .kernel = &kernel, .grid = { most, most, 2 } });
    check_refused_launch(world,
                         &(braid_kernel_node){ .kernel = &kernel, .block = { most, most, most } });
    check_refused_launch(world,
                         &(braid_kernel_node){ .kernel = &kernel, .cluster = { 300, 1, 1 } });
    check_refused_launch(world,
                         &(braid_kernel_node){ .kernel = &kernel, .cluster = { 1, 300, 1 } });
    check_refused_launch(world,
                         &(braid_kernel_node){ .kernel = &kernel, .cluster = { 1, 1, 300 } });
    check_refused_launch(
        world,
        &(braid_kernel_node){ .kernel = &kernel, .cluster = { 1, 0, 0 }, .cooperative = true });
    check_refused_launch(
        world, &(braid_kernel_node){ .kernel = &kernel, .grid_from = memory, .cooperative = true });
}

static void copies_without_bytes_or_ends_are_refused(void **state)
{
    struct world *world = *state;
    braid_copy bad[] = { { .from = memory, .bytes = 8 },
                         { .to = memory, .bytes = 8 },
                         { .to = memory, .from = memory + 8 },
                         { .to = memory, .from = memory, .bytes = 8 },
                         { .to = memory + 7, .from = memory, .bytes = 8 },
                         { .to = memory, .from = memory + 7, .bytes = 8 } };
    char *before = graph_state(world->graph);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        bad[i].node.name = "victim";
        check_fails(braid_graph_add_copy(world->graph, &bad[i], NULL), BRAID_INVALID_ARGUMENT,
                    "victim");
    }
    check_unchanged(world, before);
}

static void fills_without_values_or_of_odd_sizes_are_refused(void **state)
{
    struct world *world = *state;
    braid_fill bad[] = { { .num_values = 1 },
                         { .to = memory },
                         { .to = memory, .num_values = 1, .value_bytes = 3 },
                         { .to = memory, .num_values = 1, .value_bytes = 8 },
                         { .to = memory, .num_values = UINT64_MAX / 2, .value_bytes = 4 },
                         { .to = memory + 1, .num_values = 1, .value_bytes = 2 },
                         { .to = memory + 2, .num_values = 1, .value_bytes = 4 } };
    char *before = graph_state(world->graph);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        bad[i].node.name = "victim";
        check_fails(braid_graph_add_fill(world->graph, &bad[i], NULL), BRAID_INVALID_ARGUMENT,
                    "victim");
    }
    check_unchanged(world, before);
}

// The plan chooses the memory of each buffer, or frames do.
static void parts_of_planned_buffers_overlap_or_lie_askew(void **state)
{
    struct world *world = *state;
    braid_graph *graph = world->graph;
    void *versions[] = { memory, memory + 17 };
    braid_resource loose, whole, parts[3], versioned;
    check_ok(braid_graph_add_transient(graph, "loose", 64, 1, &loose));
    check_ok(braid_graph_add_transient(graph, "whole", 64, 0, &whole));
    for (int i = 0; i < 3; i++)
        check_ok(braid_graph_add_range(graph, whole, (uint64_t)i * 6, 8, &parts[i]));
    check_ok(braid_graph_add_versioned_buffer(graph, "versioned", versions, 2, 16, &versioned));
    braid_access accesses[] = { { loose, BRAID_WRITE },
                                { whole, BRAID_READ_WRITE },
                                { versioned, BRAID_WRITE } };
    braid_node_options options = { .name = "victim", .accesses = accesses, .num_accesses = 3 };
    const braid_resource askew[] = { loose, parts[1], versioned };
    char *before = graph_state(graph);
    for (int i = 0; i < 3; i++) {
        braid_fill fill = { options, .value_bytes = 4, .num_values = 1, .to_resource = askew[i] };
        check_fails(braid_graph_add_fill(graph, &fill, NULL), BRAID_INVALID_ARGUMENT,
                    "node 'victim': a fill of 4-byte values");
    }
    for (int i = 0; i < 2; i++) {
        braid_copy copy = { .node = options, .bytes = 8, .to_resource = parts[i] };
        copy.from_resource = parts[1];
        check_fails(braid_graph_add_copy(graph, &copy, NULL), BRAID_INVALID_ARGUMENT,
                    "node 'victim': the bytes that the copy reads and writes overlap");
    }
    check_unchanged(world, before);
    check_ok(braid_graph_add_copy(
        graph,
        &(braid_copy){
            .node = options, .bytes = 8, .to_resource = parts[2], .from_resource = parts[0] },
        NULL));
    check_ok(braid_graph_add_fill(
        graph,
        &(braid_fill){
            .node = options, .value_bytes = 2, .num_values = 4, .to_resource = parts[1] },
        NULL));
}

static void calls_without_a_function_are_refused(void **state)
{
    struct world *world = *state;
    char *before = graph_state(world->graph);
    braid_host_call host_call = { .node.name = "victim" };
    check_fails(braid_graph_add_host_call(world->graph, &host_call, NULL), BRAID_INVALID_ARGUMENT,
                "victim");
    braid_queue_call queue_call = { .node.name = "victim" };
    check_fails(braid_graph_add_queue_call(world->graph, &queue_call, NULL), BRAID_INVALID_ARGUMENT,
                "victim");
    check_unchanged(world, before);
}

static void edges_between_the_wrong_nodes_are_refused(void **state)
{
    struct world *world = *state;
    braid_graph *graph = world->graph;
    char *before = graph_state(graph);
    check_fails(braid_graph_add_edge(graph, world->load, world->load), BRAID_INVALID_ARGUMENT,
                "load");
    braid_node unknown = { 1000, world->load.graph };
    braid_node none = { 0 };
    braid_node bad[] = { unknown, none, world->foreign_node };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char name[64];
        snprintf(name, sizeof(name), "node %u of graph %u", bad[i].index, bad[i].graph);
        check_fails(braid_graph_add_edge(graph, world->load, bad[i]), BRAID_INVALID_ARGUMENT, name);
        check_fails(braid_graph_add_edge(graph, bad[i], world->load), BRAID_INVALID_ARGUMENT, name);
        check_fails(braid_graph_set_cost(graph, bad[i], 5), BRAID_INVALID_ARGUMENT, name);
    }
    check_unchanged(world, before);
}

static void null_objects_are_refused(void **state)
{
    struct world *world = *state;
    braid_graph *graph = world->graph;
    braid_node node = world->load;
    braid_resource out;
    char *before = graph_state(graph);
    check_fails(braid_graph_create(NULL), BRAID_INVALID_ARGUMENT, "");
    check_fails(braid_graph_add_kernel(graph, NULL, NULL), BRAID_INVALID_ARGUMENT, "");
    check_fails(braid_graph_add_copy(graph, NULL, NULL), BRAID_INVALID_ARGUMENT, "");
    check_fails(braid_graph_add_fill(graph, NULL, NULL), BRAID_INVALID_ARGUMENT, "");
    check_fails(braid_graph_add_host_call(graph, NULL, NULL), BRAID_INVALID_ARGUMENT, "");
    check_fails(braid_graph_add_queue_call(graph, NULL, NULL), BRAID_INVALID_ARGUMENT, "");
    check_fails(braid_graph_add_empty(graph, NULL, NULL), BRAID_INVALID_ARGUMENT, "");
    check_fails(braid_graph_add_empty(NULL, &(braid_empty){ 0 }, NULL), BRAID_INVALID_ARGUMENT, "");
    check_fails(braid_graph_add_edge(NULL, node, node), BRAID_INVALID_ARGUMENT, "");
    check_fails(braid_graph_set_cost(NULL, node, 1), BRAID_INVALID_ARGUMENT, "");
    check_fails(braid_graph_add_resource(NULL, "x", &out), BRAID_INVALID_ARGUMENT, "");
    check_fails(braid_graph_add_resource(graph, "x", NULL), BRAID_INVALID_ARGUMENT, "");
    check_fails(braid_graph_add_buffer(graph, "x", memory, 8, NULL), BRAID_INVALID_ARGUMENT, "");
    check_fails(braid_graph_add_range(graph, world->image, 0, 8, NULL), BRAID_INVALID_ARGUMENT, "");
    check_unchanged(world, before);
}

// A failed call must not leave anything behind that a later one trips over.
static void the_graph_can_be_added_to_after_a_refusal(void **state)
{
    struct world *world = *state;
    braid_node after[] = { world->load, world->foreign_node };
    braid_kernel_node bad = { .kernel = &kernel, .node.after = after, .node.num_after = 2 };
    check_refused_launch(world, &bad);
    bad.node.num_after = 1;
    size_t num_edges = world->graph->edges.num;
    braid_node node;
    check_ok(braid_graph_add_kernel(world->graph, &bad, &node));
    assert_string_equal(braid_graph_get_node_name(world->graph, node), "victim");
    assert_int_equal(world->graph->edges.num, num_edges + 1);
}

static void unknown_indices_are_no_node(void **state)
{
    struct world *world = *state;
    braid_node none = braid_graph_get_node(world->graph, braid_graph_get_num_nodes(world->graph));
    assert_int_equal(none.index, 0);
    assert_int_equal(none.graph, 0);
    assert_string_equal(braid_graph_get_node_name(world->graph, none), "");
    assert_string_equal(braid_graph_get_node_name(world->graph, world->foreign_node), "");
}

static void a_message_is_one_line_whatever_the_name(void **state)
{
    struct world *world = *state;
    const braid_fill fill = { .node.name = "two\nlines\tand\x1b[1m" };
    assert_int_equal(braid_graph_add_fill(world->graph, &fill, NULL), BRAID_INVALID_ARGUMENT);
    assert_string_equal(braid_error_get_message(), "node 'two lines and [1m': .to is NULL");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(empty_names_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(unknown_nodes_in_after_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(unknown_resources_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(unknown_access_modes_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(preludes_and_epilogues_of_the_wrong_node_are_refused,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(preludes_and_epilogues_refuse_the_wrong_node, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(kernels_without_what_they_need_are_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(grids_that_overflow_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(copies_without_bytes_or_ends_are_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_rows_that_do_not_fit_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(parts_of_planned_buffers_overlap_or_lie_askew, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(fills_without_values_or_of_odd_sizes_are_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(calls_without_a_function_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(edges_between_the_wrong_nodes_are_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_resources_without_a_name_or_bytes_are_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_ranges_outside_their_buffer_are_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_versions_that_cannot_be_are_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_earlier_versions_that_are_none_are_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_slots_are_held_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_homes_of_what_has_none_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(null_objects_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_graph_can_be_added_to_after_a_refusal, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(unknown_indices_are_no_node, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_message_is_one_line_whatever_the_name, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("bad input leaves the graph unchanged", tests, NULL, NULL);
}
