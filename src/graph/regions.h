// SPDX-License-Identifier: Apache-2.0
// Regions: nodes that are one node from outside, and a small graph from inside.
#ifndef BRAID_GRAPH_REGIONS_H
#define BRAID_GRAPH_REGIONS_H

#include "graph/graph.h"

enum graph_region_kind {
    GRAPH_REGION_ROOT,  // the frame
    GRAPH_REGION_TWICE, // its body runs twice, one time after the other; of tests only
};

// The body is a range of nodes; those of a region inside it are among them.
struct graph_region {
    uint32_t node; // that it is from outside; empty, with the accesses of the body
    uint32_t first, num;
    uint32_t kind; // enum graph_region_kind
};

static inline const struct graph_region *graph_regions(const braid_graph *graph)
{
    return graph->regions.items;
}

// Makes the nodes from `first` on, which are in no region yet, the body of a new one; of the body
// no node may be bundled or hinted. Errors: BRAID_INVALID_ARGUMENT (there is no such node, a node
// is bundled or hinted), BRAID_NO_MEMORY.
braid_status braid_graph_wrap(braid_graph *graph, const char *name, uint32_t first,
                              enum graph_region_kind kind, braid_node *out_node);

// The region that a node is in, as an index; GRAPH_NONE: the root.
uint32_t braid_graph_region_of(const braid_graph *graph, uint32_t node);

// The node directly in a region that a node is, or is inside of; GRAPH_NONE: it is outside.
uint32_t braid_graph_lift(const braid_graph *graph, uint32_t node, uint32_t region);

#endif
