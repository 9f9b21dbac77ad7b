// SPDX-License-Identifier: Apache-2.0
// A million nodes with four million edges take at most 200 bytes a node beside argument bytes and
// edges.
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
            after[k] = braid_graph_get_node(graph, random_below(&random, i));
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

static size_t bytes_of(const braid_graph *graph)
{
    return sizeof(*graph) + graph->nodes.capacity * sizeof(struct graph_node) +
           graph->edges.capacity * sizeof(struct graph_edge) +
           graph->accesses.capacity * sizeof(struct graph_access) +
           graph->resources.capacity * sizeof(struct graph_resource) +
           graph->versions.capacity * sizeof(void *) +
           graph->kernels.capacity * sizeof(struct graph_kernel) +
           graph->works.capacity * sizeof(union work) +
           graph->arg_sizes.capacity * sizeof(uint32_t) + graph->arg_bytes.capacity +
           graph->parameters.capacity * sizeof(struct graph_parameter) +
           graph->uses.capacity * sizeof(struct graph_parameter_use) +
           (graph->addresses.capacity + graph->given.capacity) * sizeof(struct graph_address) +
           graph->unchecked.capacity * sizeof(uint32_t) +
           graph->first_nodes.num_slots * sizeof(struct pointer_slot) + graph->names.bytes;
}

static void check_size(const braid_graph *graph)
{
    assert_int_equal(braid_graph_get_num_nodes(graph), num_nodes);
    assert_int_equal(graph->edges.num, (num_nodes - 1) * edges_a_node);
    size_t beside = graph->edges.capacity * sizeof(struct graph_edge) + graph->arg_bytes.capacity;
    size_t bytes = bytes_of(graph);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_takes_at_most_200_bytes),
    };
    return cmocka_run_group_tests_name("large graphs stay small", tests, NULL, NULL);
}
