// SPDX-License-Identifier: Apache-2.0
// What is checked of a graph with loops before it is planned.
#include "base/error.h"
#include "graph/regions.h"

static bool contains(const struct graph_region *region, uint32_t node)
{
    return node - region->first < region->num;
}

static braid_status check_condition(const braid_graph *graph, const struct graph_region *region)
{
    const struct graph_access *accesses = graph->accesses.items;
    if (region->condition == GRAPH_NONE)
        return BRAID_OK;
    for (uint32_t i = region->first; i < region->first + region->num; i++) {
        const struct graph_node *node = &graph_nodes(graph)[i];
        for (uint32_t k = 0; k < node->num_accesses; k++) {
            if (braid_graph_writes_condition(graph, region, &accesses[node->first_access + k]))
                return BRAID_OK;
        }
    }
    char name[256];
    return braid_error(BRAID_INVALID_ARGUMENT, "'%s' never ends: no node in it writes '%s'",
                       braid_graph_name(graph, region->node),
                       braid_graph_resource_name(graph, region->condition, name, sizeof(name)));
}

static braid_status check_bundles(const braid_graph *graph)
{
    for (uint32_t i = 0; i < graph_num_nodes(graph) && graph->num_bundled; i++) {
        uint32_t main = graph_nodes(graph)[i].main;
        if (braid_graph_region_of(graph, i) == braid_graph_region_of(graph, main))
            continue;
        return braid_error(BRAID_INVALID_ARGUMENT,
                           "node %u '%s' and its main node %u '%s' are in bodies of two loops", i,
                           braid_graph_name(graph, i), main, braid_graph_name(graph, main));
    }
    return BRAID_OK;
}

static braid_status check_edges(const braid_graph *graph, const struct graph_region *region)
{
    for (size_t i = 0; i < graph->edges.num; i++) {
        const struct graph_edge *edge = &graph_edges(graph)[i];
        bool from = edge->from == region->node && contains(region, edge->to);
        bool to = edge->to == region->node && contains(region, edge->from);
        if (from || to)
            return braid_error(BRAID_INVALID_ARGUMENT,
                               "the edge from '%s' to '%s' orders a loop and a node inside it",
                               braid_graph_name(graph, edge->from),
                               braid_graph_name(graph, edge->to));
    }
    return BRAID_OK;
}

braid_status braid_graph_check_loops(const braid_graph *graph)
{
    const struct graph_region *open = graph->open.items;
    if (graph->open.num)
        return braid_error(BRAID_INVALID_ARGUMENT,
                           "loop '%s' was begun and has not ended: braid_graph_end is missing",
                           braid_graph_name(graph, open[graph->open.num - 1].node));
    braid_status status =
        graph->ranks ? braid_graph_refuse_loops(graph, "a graph with communicators") : BRAID_OK;
    if (!status && graph->regions.num)
        status = check_bundles(graph);
    for (uint32_t i = 0; i < graph->regions.num && !status; i++) {
        status = check_condition(graph, &graph_regions(graph)[i]);
        if (!status)
            status = check_edges(graph, &graph_regions(graph)[i]);
    }
    return status;
}

braid_status braid_graph_refuse_loops(const braid_graph *graph, const char *who)
{
    if (!graph->regions.num)
        return BRAID_OK;
    uint32_t node = graph_regions(graph)[graph->regions.num - 1].node;
    return braid_error(BRAID_UNSUPPORTED, "%s plays no loop, and node %u '%s' is one", who, node,
                       braid_graph_name(graph, node));
}
