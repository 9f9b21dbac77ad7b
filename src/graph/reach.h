// SPDX-License-Identifier: Apache-2.0
// Which nodes need the results of which, back from the graph's outputs.
#ifndef BRAID_GRAPH_REACH_H
#define BRAID_GRAPH_REACH_H

#include "graph/graph.h"

// The needs of a node, as ranges of `needs`. A disabled node reads nothing, and memory that it
// would have changed stays as it was. So it has the needs before `middle` all the same.
struct reach_list {
    size_t begin, middle, end;
    size_t covered; // up to here from `end` on: nodes whose changes it overwrites
};

// A need across a frame's end: of a change that no node of the frame at hand has made.
struct reach_crossing {
    uint32_t node, needed; // vertices
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

// Errors: BRAID_NO_MEMORY.
braid_status braid_reach_create(const braid_graph *graph, struct reach *out_reach);
void braid_reach_finish(struct reach *reach);

// Has the frame's end need one more vertex. Errors: BRAID_NO_MEMORY.
braid_status braid_reach_keep(struct reach *reach, uint32_t vertex);

// Whether a node is disabled.
typedef bool reach_rests(const void *context, uint32_t node);

// Marks in `needed` the vertices that the frame's end needs. It and `room` have a place for each.
void braid_reach_mark(const struct reach *reach, reach_rests *rests, const void *context,
                      bool *needed, uint32_t *room);

#endif
