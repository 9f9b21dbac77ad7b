// SPDX-License-Identifier: Apache-2.0
// Finding which nodes are in which region.
#include "graph/regions.h"

uint32_t braid_graph_region_of(const braid_graph *graph, uint32_t node)
{
    const struct graph_region *regions = graph_regions(graph);
    for (uint32_t i = 0; i < graph->regions.num; i++) {
        if (node - regions[i].first < regions[i].num)
            return i;
    }
    return GRAPH_NONE;
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
        at = braid_graph_region_of(graph, node);
    }
    return at == region ? node : GRAPH_NONE;
}

bool braid_graph_writes_condition(const braid_graph *graph, const struct graph_region *region,
                                  const struct graph_access *access)
{
    const struct graph_resource *resources = graph->resources.items;
    const struct graph_resource *condition = &resources[region->condition];
    const struct graph_resource *touched = &resources[access->resource];
    if (access->mode == BRAID_READ || access->mode == BRAID_EXCLUSIVE)
        return false;
    return touched->buffer == condition->buffer &&
           touched->offset < condition->offset + sizeof(uint32_t) &&
           condition->offset < touched->offset + touched->bytes;
}
