// SPDX-License-Identifier: Apache-2.0
// Finding which nodes are in which region.
#include "graph/regions.h"

static bool contains(const struct graph_region *region, uint32_t node)
{
    return node - region->first < region->num;
}

// Regions stand in the order of their ends, inner ones first. The first that ends behind the node
// has it, or is inside a region that has it, or nothing has it.
uint32_t braid_graph_region_of(const braid_graph *graph, uint32_t node)
{
    const struct graph_region *regions = graph_regions(graph);
    uint32_t first = 0, end = (uint32_t)graph->regions.num;
    while (first < end) {
        uint32_t middle = first + (end - first) / 2;
        if (regions[middle].first + regions[middle].num > node)
            end = middle;
        else
            first = middle + 1;
    }
    uint32_t at = first < graph->regions.num ? first : GRAPH_NONE;
    while (at != GRAPH_NONE && !contains(&regions[at], node))
        at = regions[at].around;
    return at;
}

// No body is empty.
uint32_t braid_graph_region_entered(const braid_graph *graph, uint32_t node)
{
    return braid_graph_region_of(graph, node + 1);
}

uint32_t braid_graph_region_else(const braid_graph *graph, uint32_t region)
{
    const struct graph_region *arm = &graph_regions(graph)[region];
    uint32_t behind = braid_graph_region_of(graph, arm->first + arm->num);
    bool is_else = behind != GRAPH_NONE && graph_regions(graph)[behind].node == arm->node;
    return is_else ? behind : GRAPH_NONE;
}

uint32_t braid_graph_lift(const braid_graph *graph, uint32_t node, uint32_t region)
{
    uint32_t at = braid_graph_region_of(graph, node);
    while (at != region && at != GRAPH_NONE) {
        node = graph_regions(graph)[at].node;
        at = graph_regions(graph)[at].around;
    }
    return at == region ? node : GRAPH_NONE;
}

uint32_t braid_graph_meet(const braid_graph *graph, uint32_t *a, uint32_t *b)
{
    const struct graph_region *regions = graph_regions(graph);
    uint32_t at = braid_graph_region_of(graph, *a);
    while (at != GRAPH_NONE && !contains(&regions[at], *b)) {
        *a = regions[at].node;
        at = regions[at].around;
    }
    *b = braid_graph_lift(graph, *b, at);
    return at;
}

bool braid_graph_writes_condition(const braid_graph *graph, const struct graph_region *region,
                                  const struct graph_access *access)
{
    const struct graph_resource *condition = graph_resource_at(graph, region->condition);
    const struct graph_resource *touched = graph_resource_at(graph, access->resource);
    if (access->mode == BRAID_READ || access->mode == BRAID_EXCLUSIVE)
        return false;
    return touched->buffer == condition->buffer &&
           touched->offset < condition->offset + sizeof(uint32_t) &&
           condition->offset < touched->offset + touched->bytes;
}
