// SPDX-License-Identifier: Apache-2.0
// The checks of a graph with loops and branches before it is planned.
#include "base/error.h"
#include "graph/regions.h"

static const char *kind_of(const braid_graph *graph, const struct graph_region *region)
{
    return braid_work_words[graph_nodes(graph)[region->node].kind].kind;
}

static braid_status check_condition(const braid_graph *graph, const struct graph_region *region)
{
    const struct graph_access *accesses = graph->accesses.items;
    bool is_loop = graph_nodes(graph)[region->node].kind == WORK_LOOP;
    if (!is_loop || region->condition == GRAPH_NONE)
        return BRAID_OK;
    for (uint32_t i = region->first; i < region->first + region->num; i++) {
        const struct graph_node *node = &graph_nodes(graph)[i];
        for (uint32_t k = 0; k < node->num_accesses; k++) {
            if (braid_graph_writes_condition(graph, region, &accesses[node->first_access + k]))
                return BRAID_OK;
        }
    }
    char name[256];
    return braid_error_invalid(
        "'%s' never ends: no node in it writes '%s'", braid_graph_name(graph, region->node),
        braid_graph_resource_name(graph, region->condition, name, sizeof(name)));
}

static braid_status check_bundles(const braid_graph *graph)
{
    for (uint32_t i = 0; i < graph_num_nodes(graph) && graph->num_bundled; i++) {
        uint32_t main = graph_nodes(graph)[i].main;
        if (braid_graph_region_of(graph, i) == braid_graph_region_of(graph, main))
            continue;
        return braid_error_invalid("node %u '%s' and its main node %u '%s' are in two bodies", i,
                                   braid_graph_name(graph, i), main, braid_graph_name(graph, main));
    }
    return BRAID_OK;
}

// Refuses an edge whose ends are one node where they meet.
static braid_status refuse_edge(const braid_graph *graph, const struct graph_edge *edge,
                                uint32_t node)
{
    const char *from = braid_graph_name(graph, edge->from);
    const char *to = braid_graph_name(graph, edge->to);
    if (edge->from == node || edge->to == node)
        return braid_error_invalid("the edge from '%s' to '%s' orders a %s and a node inside it",
                                   from, to, braid_work_words[graph_nodes(graph)[node].kind].kind);
    return braid_error_invalid(
        "the edge from '%s' to '%s' orders nodes of two arms of '%s', of which one runs", from, to,
        braid_graph_name(graph, node));
}

static braid_status check_edges(const braid_graph *graph)
{
    braid_status status = BRAID_OK;
    for (size_t i = 0; i < graph->edges.num && !status; i++) {
        const struct graph_edge *edge = &graph_edges(graph)[i];
        uint32_t from = edge->from, to = edge->to;
        braid_graph_meet(graph, &from, &to);
        if (from == to)
            status = refuse_edge(graph, edge, from);
    }
    return status;
}

static braid_status check_open(const braid_graph *graph)
{
    const struct graph_region *open = graph->open.items;
    if (!graph->open.num)
        return BRAID_OK;
    open += graph->open.num - 1;
    return braid_error_invalid("%s '%s' was begun and has not ended: braid_graph_end is missing, "
                               "or an error left the block that adds it",
                               kind_of(graph, open), braid_graph_name(graph, open->node));
}

braid_status braid_graph_check_regions(const braid_graph *graph)
{
    braid_status status = check_open(graph);
    if (!status && graph->ranks)
        status = braid_graph_refuse_regions(graph, "a graph with communicators");
    if (!status && graph->regions.num)
        status = check_bundles(graph);
    if (!status && graph->regions.num)
        status = check_edges(graph);
    for (uint32_t i = 0; i < graph->regions.num && !status; i++)
        status = check_condition(graph, &graph_regions(graph)[i]);
    return status;
}

braid_status braid_graph_refuse_regions(const braid_graph *graph, const char *who)
{
    if (!graph->regions.num)
        return BRAID_OK;
    const struct graph_region *region = &graph_regions(graph)[graph->regions.num - 1];
    return braid_error(BRAID_UNSUPPORTED, "%s plays no %s, and node %u '%s' is one", who,
                       kind_of(graph, region), region->node, braid_graph_name(graph, region->node));
}
