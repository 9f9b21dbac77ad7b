// SPDX-License-Identifier: Apache-2.0
// A million nodes with four million edges take at most 200 bytes a node beside argument bytes and
// edges, whether or not the program made room beforehand.
#include <stdlib.h>

#include "graph/graph.h"
#include "support/check.h"
#include "support/random.h"

enum { num_nodes = 1000000, edges_a_node = 4, args_a_node = 3 };

static void cpu(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    (void)args;
}

static const braid_kernel kernel = { .name = "kernel", .cpu = cpu };

static void build(braid_graph *graph)
{
    struct random random = { 1 };
    void *pointer = NULL;
    float value = 1;
    uint32_t count = 3;
    for (uint32_t i = 0; i < num_nodes; i++) {
        braid_node after[edges_a_node];
        uint32_t num_after = i ? edges_a_node : 0;
        for (uint32_t k = 0; k < num_after; k++)
            after[k] = braid_graph_node(graph, random_below(&random, i));
        braid_kernel_node launch = { .kernel = &kernel,
                                     .grid = { 64, 1, 1 },
                                     .block = { 32, 1, 1 },
                                     .node.after = after,
                                     .node.num_after = num_after,
                                     BRAID_ARGS(BRAID_ARG(pointer), BRAID_ARG(value),
                                                BRAID_ARG(count)) };
        check_ok(braid_graph_add_kernel(graph, &launch, NULL));
    }
}

static void check_size(const braid_graph *graph)
{
    assert_int_equal(braid_graph_num_nodes(graph), num_nodes);
    assert_int_equal(braid_graph_num_edges(graph), (num_nodes - 1) * edges_a_node);
    size_t beside = graph->edges.capacity * sizeof(struct graph_edge) + graph->arg_bytes.capacity;
    size_t bytes = braid_graph_memory_bytes(graph);
    assert_true(bytes > beside);
    print_message("%zu bytes a node beside argument bytes and edges\n",
                  (bytes - beside) / num_nodes);
    assert_true(bytes - beside <= (size_t)200 * num_nodes);
}

static void a_node_takes_at_most_200_bytes(void **state)
{
    (void)state;
    braid_graph *graph;
    check_ok(braid_graph_create(&graph));
    build(graph);
    check_size(graph);
    braid_graph_destroy(graph);
}

static void a_node_takes_at_most_200_bytes_in_reserved_room(void **state)
{
    (void)state;
    braid_graph *graph;
    check_ok(braid_graph_create(&graph));
    size_t empty = braid_graph_memory_bytes(graph);
    check_ok(braid_graph_reserve(graph, num_nodes, (size_t)num_nodes * edges_a_node, 0));
    assert_true(braid_graph_memory_bytes(graph) >
                empty + (size_t)num_nodes * edges_a_node * sizeof(struct graph_edge));
    build(graph);
    check_size(graph);
    braid_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_takes_at_most_200_bytes),
        cmocka_unit_test(a_node_takes_at_most_200_bytes_in_reserved_room),
    };
    return cmocka_run_group_tests_name("large graphs stay small", tests, NULL, NULL);
}
