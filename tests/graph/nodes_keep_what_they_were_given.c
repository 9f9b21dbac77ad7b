// SPDX-License-Identifier: Apache-2.0
// Names, costs, argument bytes and edges are copied and kept; handles and counts are as documented.
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"
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

static const braid_kernel blur = { .name = "blur", .cpu = cpu };
static char memory[64];

static int set_up(void **state)
{
    braid_graph *graph;
    check_ok(braid_graph_create(&graph));
    *state = graph;
    return 0;
}

static int tear_down(void **state)
{
    braid_graph_destroy(*state);
    return 0;
}

static const struct graph_kernel *kernel_of(const braid_graph *graph, braid_node node)
{
    const struct graph_kernel *kernels = graph->kernels.items;
    return &kernels[graph_nodes(graph)[node.index].payload];
}

static void nodes_are_counted_from_0_in_the_order_of_adding(void **state)
{
    braid_graph *graph = *state;
    for (uint32_t i = 0; i < 100; i++) {
        braid_node node;
        check_ok(braid_graph_add_empty(graph, &(braid_empty){ 0 }, &node));
        assert_int_equal(node.index, i);
        assert_int_not_equal(node.graph, 0);
        braid_node again = braid_graph_get_node(graph, i);
        assert_memory_equal(&again, &node, sizeof(node));
    }
    assert_int_equal(braid_graph_get_num_nodes(graph), 100);
}

static void a_node_without_a_name_is_called_by_its_kernel_or_kind(void **state)
{
    braid_graph *graph = *state;
    braid_node node;
    check_ok(braid_graph_add_kernel(graph, &(braid_kernel_node){ .kernel = &blur }, &node));
    assert_string_equal(braid_graph_get_node_name(graph, node), "blur");
    check_ok(braid_graph_add_copy(
        graph, &(braid_copy){ .to = memory, .from = memory + 8, .bytes = 8 }, &node));
    assert_string_equal(braid_graph_get_node_name(graph, node), "copy");
    check_ok(braid_graph_add_fill(graph, &(braid_fill){ .to = memory, .num_values = 1 }, &node));
    assert_string_equal(braid_graph_get_node_name(graph, node), "fill");
    check_ok(braid_graph_add_host_call(graph, &(braid_host_call){ .call = host }, &node));
    assert_true(strlen(braid_graph_get_node_name(graph, node)) > 0);
    check_ok(
        braid_graph_add_queue_call(graph, &(braid_queue_call){ .call = queue_nothing }, &node));
    assert_true(strlen(braid_graph_get_node_name(graph, node)) > 0);
    check_ok(braid_graph_add_empty(graph, &(braid_empty){ 0 }, &node));
    assert_string_equal(braid_graph_get_node_name(graph, node), "empty");
}

static void names_and_arguments_are_copied(void **state)
{
    braid_graph *graph = *state;
    char name[] = "first";
    uint64_t value = 41;
    double radius = 2.5;
    braid_node node;
    braid_kernel_node launch = { .kernel = &blur,
                                 .node.name = name,
                                 BRAID_ARGS(BRAID_ARG(value), BRAID_ARG(radius)) };
    check_ok(braid_graph_add_kernel(graph, &launch, &node));
    strcpy(name, "later");
    value = 0;
    radius = 0;
    assert_string_equal(braid_graph_get_node_name(graph, node), "first");
    const struct graph_kernel *kernel = kernel_of(graph, node);
    assert_int_equal(kernel->num_args, 2);
    uint32_t bytes;
    memcpy(&value, braid_graph_arg(graph, kernel, 0, &bytes), sizeof(value));
    assert_int_equal(bytes, sizeof(value));
    memcpy(&radius, braid_graph_arg(graph, kernel, 1, &bytes), sizeof(radius));
    assert_int_equal(bytes, sizeof(radius));
    assert_int_equal(value, 41);
    assert_true(radius > 2.4 && radius < 2.6);
}

// Vector loads on the CPU need it; it must hold however odd the sizes before are.
static void arguments_are_aligned_to_16_bytes(void **state)
{
    braid_graph *graph = *state;
    char odd[7] = { 1, 2, 3, 4, 5, 6, 7 };
    for (int i = 0; i < 50; i++) {
        braid_kernel_node launch = { .kernel = &blur,
                                     BRAID_ARGS({ odd, sizeof(odd) }, BRAID_ARG(odd[3]),
                                                { odd, sizeof(odd) }) };
        check_ok(braid_graph_add_kernel(graph, &launch, NULL));
    }
    for (uint32_t i = 0; i < 50; i++)
        for (uint32_t k = 0; k < 3; k++) {
            const struct graph_kernel *kernel = kernel_of(graph, braid_graph_get_node(graph, i));
            uint32_t bytes;
            const void *data = braid_graph_arg(graph, kernel, k, &bytes);
            assert_int_equal((uintptr_t)data % 16, 0);
            assert_memory_equal(data, k == 1 ? &odd[3] : odd, bytes);
        }
}

static void zeros_of_a_grid_count_as_1(void **state)
{
    braid_graph *graph = *state;
    braid_node node;
    check_ok(braid_graph_add_kernel(graph, &(braid_kernel_node){ .kernel = &blur, .grid = { 64 } },
                                    &node));
    const struct graph_kernel *kernel = kernel_of(graph, node);
    assert_int_equal(kernel->grid.x, 64);
    assert_int_equal(kernel->grid.y, 1);
    assert_int_equal(kernel->grid.z, 1);
    assert_int_equal(kernel->block.x, 1);
    assert_int_equal(kernel->block.y, 1);
    assert_int_equal(kernel->block.z, 1);
}

static void the_largest_grids_are_taken(void **state)
{
    braid_graph *graph = *state;
    braid_kernel_node launch = { .kernel = &blur, .grid = { 2147483647, 65535, 1 } };
    check_ok(braid_graph_add_kernel(graph, &launch, NULL));
    launch =
        (braid_kernel_node){ .kernel = &blur, .block = { 1024, 1, 1 }, .cluster = { 16, 1, 1 } };
    check_ok(braid_graph_add_kernel(graph, &launch, NULL));
}

static void explicit_edges_are_counted_and_kept(void **state)
{
    braid_graph *graph = *state;
    braid_node a, b, c;
    check_ok(braid_graph_add_empty(graph, &(braid_empty){ 0 }, &a));
    check_ok(braid_graph_add_empty(graph, &(braid_empty){ BRAID_AFTER(a) }, &b));
    check_ok(braid_graph_add_empty(graph, &(braid_empty){ BRAID_AFTER(a, b) }, &c));
    check_ok(braid_graph_add_edge(graph, c, a)); // a cycle: found when planned, not here
    assert_int_equal(graph->edges.num, 4);
    const struct graph_edge *edges = graph_edges(graph);
    assert_int_equal(edges[0].from, a.index);
    assert_int_equal(edges[0].to, b.index);
    assert_int_equal(edges[3].from, c.index);
    assert_int_equal(edges[3].to, a.index);
}

static void costs_can_be_given_and_changed(void **state)
{
    braid_graph *graph = *state;
    braid_node node;
    check_ok(braid_graph_add_empty(graph, &(braid_empty){ .node.cost_ns = 5 }, &node));
    assert_int_equal(graph_nodes(graph)[0].cost_ns, 5);
    check_ok(braid_graph_set_cost(graph, node, 9));
    assert_int_equal(graph_nodes(graph)[0].cost_ns, 9);
}

// Stable handles: registering thousands more must not invalidate what earlier calls gave out.
static void handles_stay_valid_while_the_graph_grows(void **state)
{
    braid_graph *graph = *state;
    braid_resource list;
    check_ok(braid_graph_add_resource(graph, "list", &list));
    braid_node first;
    check_ok(braid_graph_add_empty(graph, &(braid_empty){ .node.name = "first" }, &first));
    for (int i = 0; i < 5000; i++) {
        braid_resource other;
        check_ok(braid_graph_add_resource(graph, "other", &other));
        braid_empty empty = { .node.name = "next",
                              BRAID_AFTER(first),
                              BRAID_ACCESSES({ list, BRAID_READ }, { other, BRAID_WRITE }) };
        check_ok(braid_graph_add_empty(graph, &empty, NULL));
    }
    assert_string_equal(braid_graph_get_node_name(graph, first), "first");
}

static void graphs_have_handles_of_their_own(void **state)
{
    (void)state;
    braid_graph *graphs[3];
    braid_node nodes[3];
    for (int i = 0; i < 3; i++) {
        check_ok(braid_graph_create(&graphs[i]));
        check_ok(braid_graph_add_empty(graphs[i], &(braid_empty){ 0 }, &nodes[i]));
    }
    assert_int_not_equal(nodes[0].graph, nodes[1].graph);
    assert_int_not_equal(nodes[1].graph, nodes[2].graph);
    for (int i = 0; i < 3; i++)
        braid_graph_destroy(graphs[i]);
    braid_graph *later;
    check_ok(braid_graph_create(&later));
    braid_node node;
    check_ok(braid_graph_add_empty(later, &(braid_empty){ 0 }, &node));
    for (int i = 0; i < 3; i++) { // a handle of a destroyed graph is refused, not misread
        assert_int_not_equal(node.graph, nodes[i].graph);
        check_fails(braid_graph_add_edge(later, node, nodes[i]), BRAID_INVALID_ARGUMENT, "node 0");
    }
    braid_graph_destroy(later);
}

static void destroying_nothing_does_nothing(void **state)
{
    (void)state;
    braid_graph_destroy(NULL);
}

static void a_name_stays_where_it_is_while_the_graph_grows(void **state)
{
    braid_graph *graph = *state;
    const braid_empty first = { .node.name = "the first of many" };
    braid_node node;
    check_ok(braid_graph_add_empty(graph, &first, &node));
    const char *name = braid_graph_get_node_name(graph, node);
    // Each further node takes its name from the graph itself; resources are named there as well.
    for (int i = 0; i < 20000; i++) {
        const braid_empty copy = { .node.name = name };
        braid_resource list;
        check_ok(braid_graph_add_empty(graph, &copy, &node));
        check_ok(braid_graph_add_resource(graph, name, &list));
        assert_string_equal(braid_graph_get_node_name(graph, node), "the first of many");
    }
    assert_ptr_equal(braid_graph_get_node_name(graph, braid_graph_get_node(graph, 0)), name);
    assert_string_equal(name, "the first of many");
}

static void a_name_may_be_long(void **state)
{
    braid_graph *graph = *state;
    const size_t lengths[] = { 65534, 65535, 65536, 1000000, 1 };
    char *name = calloc(1000001, 1);
    assert_non_null(name);
    memset(name, 'x', 1000000);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        braid_node node;
        const braid_empty empty = { .node.name = name + 1000000 - lengths[i] };
        check_ok(braid_graph_add_empty(graph, &empty, &node));
        assert_int_equal(strlen(braid_graph_get_node_name(graph, node)), lengths[i]);
    }
    free(name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nodes_are_counted_from_0_in_the_order_of_adding, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_node_without_a_name_is_called_by_its_kernel_or_kind,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_and_arguments_are_copied, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_name_stays_where_it_is_while_the_graph_grows, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_name_may_be_long, set_up, tear_down),
        cmocka_unit_test_setup_teardown(arguments_are_aligned_to_16_bytes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(zeros_of_a_grid_count_as_1, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_largest_grids_are_taken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(explicit_edges_are_counted_and_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(costs_can_be_given_and_changed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(handles_stay_valid_while_the_graph_grows, set_up,
                                        tear_down),
        cmocka_unit_test(graphs_have_handles_of_their_own),
        cmocka_unit_test(destroying_nothing_does_nothing),
    };
    return cmocka_run_group_tests_name("nodes keep what they were given", tests, NULL, NULL);
}
