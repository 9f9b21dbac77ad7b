// SPDX-License-Identifier: Apache-2.0
// Creating, growing and asking graphs.
#include "graph/graph.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/host_memory.h"
#include "graph/code.h"
#include "graph/graph_ranks.h"

// Ids tell the handles of one graph from another's. Zero is never one, so { 0 } is no handle.
static uint32_t next_id(void)
{
    static atomic_uint_fast32_t last_id;
    uint32_t id;
    do
        id = (uint32_t)(atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed) + 1);
    while (id == 0);
    return id;
}

braid_status braid_graph_create(braid_graph **out_graph)
{
    if (!out_graph)
        return braid_error_null("braid_graph_create", "out_graph");
    braid_graph *graph = braid_allocate_zeroed(1, sizeof(*graph));
    if (!graph)
        return braid_error_no_memory("a graph");
    graph->id = next_id();
    braid_status status = braid_graph_code ? braid_graph_code->create(&graph->code) : BRAID_OK;
    if (status)
        braid_free(graph);
    else
        *out_graph = graph;
    return status;
}

void braid_graph_destroy(braid_graph *graph)
{
    if (!graph)
        return;
    if (graph->ranks)
        graph->ranks->ops->finish(graph);
    if (graph->code)
        braid_graph_code->finish(graph->code);
    braid_array_finish(&graph->words);
    braid_array_finish(&graph->nodes);
    braid_array_finish(&graph->edges);
    braid_array_finish(&graph->accesses);
    braid_array_finish(&graph->resources);
    braid_array_finish(&graph->versions);
    braid_array_finish(&graph->kernels);
    braid_array_finish(&graph->works);
    braid_array_finish(&graph->arg_sizes);
    braid_array_finish(&graph->arg_bytes);
    braid_pointer_map_finish(&graph->first_nodes);
    braid_array_finish(&graph->parameters);
    braid_array_finish(&graph->uses);
    braid_array_finish(&graph->outputs);
    braid_array_finish(&graph->addresses);
    braid_array_finish(&graph->given);
    braid_array_finish(&graph->known);
    braid_array_finish(&graph->traps);
    braid_array_finish(&graph->unchecked);
    braid_array_finish(&graph->sequence);
    braid_array_finish(&graph->regions);
    braid_array_finish(&graph->open);
    braid_array_finish(&graph->measured);
    braid_names_finish(&graph->names);
    braid_free(graph);
}

size_t braid_graph_get_num_nodes(const braid_graph *graph)
{
    return graph ? graph->nodes.num : 0;
}

braid_node braid_graph_get_node(const braid_graph *graph, size_t index)
{
    if (!graph || index >= graph->nodes.num)
        return (braid_node){ 0 };
    return (braid_node){ .index = (uint32_t)index, .graph = graph->id };
}

const char *braid_graph_name(const braid_graph *graph, uint32_t index)
{
    const struct graph_node *node = &graph_nodes(graph)[index];
    if (node->name != NAMES_NONE)
        return braid_names_at(&graph->names, node->name);
    uint8_t kind = node->is_left_out ? node->own_kind : node->kind;
    if (kind == WORK_KERNEL)
        return graph_kernel_of(graph, index)->kernel->name;
    return braid_work_words[kind].name;
}

const char *braid_graph_get_node_name(const braid_graph *graph, braid_node node)
{
    if (!graph_owns_node(graph, node))
        return "";
    return braid_graph_name(graph, node.index);
}

const char *braid_graph_resource_name(const braid_graph *graph, uint32_t index, char *buffer,
                                      size_t size)
{
    const struct graph_resource *resource = graph_resource_at(graph, index);
    const char *name = braid_names_at(&graph->names, resource->name);
    if (resource->buffer == index)
        return name;
    snprintf(buffer, size, "%s[%llu, %llu)", name, (unsigned long long)resource->offset,
             (unsigned long long)(resource->offset + resource->bytes));
    return buffer;
}

const void *braid_graph_arg(const braid_graph *graph, const struct graph_kernel *kernel,
                            uint32_t index, uint32_t *out_bytes)
{
    const uint32_t *sizes = (const uint32_t *)graph->arg_sizes.items + kernel->first_arg;
    uint64_t offset = kernel->arg_offset;
    for (uint32_t i = 0; i < index; i++)
        offset += graph_arg_stride(sizes[i]);
    *out_bytes = sizes[index];
    return (const unsigned char *)graph->arg_bytes.items + offset;
}

void braid_graph_set_measured(braid_graph *graph, uint32_t node, uint64_t cost_ns)
{
    ((struct graph_node *)graph->nodes.items)[node].cost_ns = cost_ns;
}

bool braid_graph_reserve_measured(braid_graph *graph)
{
    PLAIN_MEMORY; // the graph outlives the device on which it was measured
    const size_t extra = graph->nodes.num - graph->measured.num;
    struct graph_measured *added = braid_array_append(&graph->measured, extra, sizeof(*added));
    if (added && extra)
        memset(added, 0, extra * sizeof(*added));
    return added || !extra;
}

braid_status braid_graph_set_cost(braid_graph *graph, braid_node node, uint64_t cost_ns)
{
    if (!graph)
        return braid_error_null("braid_graph_set_cost", "graph");
    if (graph_is_elsewhere(graph, node))
        return BRAID_OK;
    if (!graph_owns_node(graph, node))
        return braid_error_invalid(
            "braid_graph_set_cost: node %u of graph %u is not a node of this graph", node.index,
            node.graph);
    braid_graph_set_measured(graph, node.index, cost_ns);
    if (node.index < graph->measured.num)
        graph_keep_measured(graph, node.index, (struct graph_measured){ 0 });
    return BRAID_OK;
}

braid_status braid_graph_add_edge(braid_graph *graph, braid_node from, braid_node to)
{
    if (!graph)
        return braid_error_null("braid_graph_add_edge", "graph");
    if (graph_is_elsewhere(graph, from) && graph_is_elsewhere(graph, to))
        return BRAID_OK;
    const braid_node ends[] = { from, to };
    for (int i = 0; i < 2; i++) {
        if (!graph_owns_node(graph, ends[i]))
            return braid_error_invalid(
                "braid_graph_add_edge: `%s` (node %u of graph %u) is not a node of this graph",
                i ? "to" : "from", ends[i].index, ends[i].graph);
    }
    if (from.index == to.index)
        return braid_error_invalid("braid_graph_add_edge: an edge from '%s' to itself",
                                   braid_graph_name(graph, from.index));
    if (graph_nodes(graph)[to.index].kind == WORK_AWAIT)
        to.index--; // what posts it
    if (from.index == to.index)
        return BRAID_OK; // it posts what it is to come before
    struct graph_edge *edge = braid_array_append(&graph->edges, 1, sizeof(*edge));
    if (!edge)
        return braid_error_no_memory("an edge");
    *edge = (struct graph_edge){ .from = from.index, .to = to.index };
    graph->version++;
    return BRAID_OK;
}
