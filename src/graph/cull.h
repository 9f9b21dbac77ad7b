// SPDX-License-Identifier: Apache-2.0
// The graph without the nodes that no output needs.
#ifndef BRAID_GRAPH_CULL_H
#define BRAID_GRAPH_CULL_H

#include "graph/graph.h"

// The needs of a node, as ranges of `needs`. A disabled node reads nothing, and memory that it
// would have changed stays as it was. So it has the needs before `middle` all the same.
struct reach_list {
    size_t begin, middle, end;
    size_t covered; // up to here from `end` on: nodes whose changes it overwrites
};

// Some accesses change a resource without a need for the change before, and leave that in place.
// They are of locks, and of writers that may be disabled. Each of them is a vertex of its own,
// which needs the node and the change before.
//
// Nodes inside a region count as the outermost region around them. Frames follow each other: if a
// resource is read before it is written, the read needs the frame before. Thread-safety: read only
// once made.
struct reach {
    uint32_t num_nodes, num_vertices;
    struct reach_list *lists; // for each node, the frame's end, and such accesses
    struct array needs;       // uint32_t: vertices
    struct array crossings;   // struct reach_crossing
};

// Nodes that are left out keep their numbers. Each is an empty node without accesses, edges, values
// and parameters. So there is nothing to do for it, and no plan has it.
struct culled {
    const braid_graph *graph; // what is planned: `own`, or the program's graph
    braid_graph own;          // shares all but some arrays with the program's graph
    struct reach reach;       // that of `own`; without lists: no parameter leaves more nodes idle
};

// `graph` outlives the planning. Errors: BRAID_NO_MEMORY.
braid_status braid_graph_cull(const braid_graph *graph, struct culled *out_culled);
// Has a node of `own` work in each frame, with all that it needs. Errors: BRAID_NO_MEMORY.
braid_status braid_culled_keep(struct culled *culled, uint32_t node);
void braid_culled_finish(struct culled *culled);

// Whether a node is disabled.
typedef bool reach_rests(const void *context, uint32_t node);

// Marks in `needed` the vertices that the frame's end needs. It and `room` have a place for each.
void braid_reach_mark(const struct reach *reach, reach_rests *rests, const void *context,
                      bool *needed, uint32_t *room);

#endif
