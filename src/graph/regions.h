// SPDX-License-Identifier: Apache-2.0
// Regions: nodes that are one node from outside, and a small graph from inside. A loop is the node
// of one region, and a branch that of one or two, its arms.
#ifndef BRAID_GRAPH_REGIONS_H
#define BRAID_GRAPH_REGIONS_H

#include <braid/region.h>

#include "graph/graph.h"

// The body is a range of nodes, right behind the region's own or behind the branch's first arm;
// those of regions inside are among them.
struct graph_region {
    uint32_t node;       // that it is from outside, with the accesses of the body
    uint32_t first, num; // num is 0 while the body is open
    uint32_t condition;  // a resource; GRAPH_NONE: there is none
    uint32_t around;     // the region that its node is in; GRAPH_NONE: the root, or not known yet
    uint64_t expected;   // iterations, for the planner
};

static inline const struct graph_region *graph_regions(const braid_graph *graph)
{
    return graph->regions.items;
}

static inline bool graph_region_is_else(const struct graph_region *region)
{
    return region->first != region->node + 1;
}

// How a loop or branch runs its bodies.
static inline const struct work_loop *graph_loop(const braid_graph *graph, uint32_t node)
{
    return &graph_work_of(graph, node)->loop;
}

// The region that a node is in, as an index; GRAPH_NONE: the root. Of many regions it looks at few.
uint32_t braid_graph_region_of(const braid_graph *graph, uint32_t node);

// The region that a node with a body enters, as an index: of a branch its first arm.
uint32_t braid_graph_region_entered(const braid_graph *graph, uint32_t node);
// The second arm of the branch whose first arm a region is; GRAPH_NONE: there is none.
uint32_t braid_graph_region_else(const braid_graph *graph, uint32_t region);

// The node directly in a region that a node is, or is inside of; GRAPH_NONE: it is outside.
uint32_t braid_graph_lift(const braid_graph *graph, uint32_t node, uint32_t region);

// Replaces each of two nodes by the node that it is, or is inside of, in the innermost region that
// has both: that region. They become one node if they are in arms of it or in itself.
uint32_t braid_graph_meet(const braid_graph *graph, uint32_t *a, uint32_t *b);

// Whether an access of a node may change the condition of a region.
bool braid_graph_writes_condition(const braid_graph *graph, const struct graph_region *region,
                                  const struct graph_access *access);

// Whether all regions have ended, loops can end, and no bundle or edge goes where it means nothing.
// Errors, which name the region: BRAID_WRONG_STATE (one is open), BRAID_INVALID_ARGUMENT.
braid_status braid_graph_check_regions(const braid_graph *graph);
// Returns BRAID_UNSUPPORTED for a graph with regions. `who` is the subject of the message.
braid_status braid_graph_refuse_regions(const braid_graph *graph, const char *who);

#endif
