// SPDX-License-Identifier: Apache-2.0
// Making regions, and finding which nodes are in them.
#include "graph/regions.h"

#include <stdlib.h>

#include "base/error.h"

static braid_status check_body(const braid_graph *graph, uint32_t first)
{
    uint32_t num = graph_num_nodes(graph);
    if (first >= num)
        return braid_error(BRAID_INVALID_ARGUMENT, "a region from node %u of %u on", first, num);
    for (uint32_t i = first; i < num; i++) {
        const struct graph_node *node = &graph_nodes(graph)[i];
        if (node->role != GRAPH_MAIN || node->lane_hint)
            return braid_error(BRAID_INVALID_ARGUMENT,
                               "node %u '%s' of a region is bundled or has a lane hint", i,
                               braid_graph_name(graph, i));
    }
    return BRAID_OK;
}

// Each resource of the body once: in its mode where all agree, and otherwise written and read.
static uint32_t unite_accesses(const braid_graph *graph, uint32_t first, braid_access *out)
{
    const struct graph_access *accesses = graph->accesses.items;
    uint32_t num = 0;
    for (uint32_t i = graph_nodes(graph)[first].first_access; i < graph->accesses.num; i++) {
        uint32_t k = 0;
        while (k < num && out[k].resource.index != accesses[i].resource)
            k++;
        braid_access_mode mode = (braid_access_mode)accesses[i].mode;
        if (k == num)
            out[num++] = (braid_access){ { accesses[i].resource, graph->id }, mode };
        else if (out[k].mode != mode)
            out[k].mode = BRAID_READ_WRITE;
    }
    return num;
}

braid_status braid_graph_wrap(braid_graph *graph, const char *name, uint32_t first,
                              enum graph_region_kind kind, braid_node *out_node)
{
    braid_status status = check_body(graph, first);
    if (status)
        return status;
    braid_access *accesses = malloc((graph->accesses.num + 1) * sizeof(*accesses));
    if (!accesses || !braid_array_reserve(&graph->regions, 1, sizeof(struct graph_region))) {
        free(accesses);
        return braid_error_no_memory("a region");
    }
    uint32_t num = graph_num_nodes(graph) - first;
    braid_node node;
    const braid_empty empty = { .node = { .name = name,
                                          .accesses = accesses,
                                          .num_accesses =
                                              unite_accesses(graph, first, accesses) } };
    status = braid_graph_add_empty(graph, &empty, &node);
    free(accesses);
    if (status)
        return status;
    struct graph_region *regions = graph->regions.items;
    regions[graph->regions.num++] = (struct graph_region){ node.index, first, num, kind };
    *out_node = node;
    return BRAID_OK;
}

uint32_t braid_graph_region_of(const braid_graph *graph, uint32_t node)
{
    const struct graph_region *regions = graph_regions(graph);
    for (uint32_t i = 0; i < graph->regions.num; i++) {
        if (node - regions[i].first < regions[i].num)
            return i;
    }
    return GRAPH_NONE;
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
