// SPDX-License-Identifier: Apache-2.0
// Resources cut into segments: the smallest parts that accesses can tell apart.
#ifndef BRAID_GRAPH_SEGMENTS_H
#define BRAID_GRAPH_SEGMENTS_H

#include "graph/graph.h"

// A buffer is cut at every end of a declared range, so that each range is a run of whole segments.
// Two resources conflict exactly if they share a segment. A named resource is one segment.
struct graph_segments {
    uint32_t num_segments;
    uint32_t *first;   // each resource's first segment
    uint32_t *end;     // one past its last
    uint64_t *offsets; // where each segment begins in its buffer; for the end, where that is
};

// Errors: BRAID_NO_MEMORY.
braid_status braid_graph_find_segments(const braid_graph *graph,
                                       struct graph_segments *out_segments);
void braid_graph_segments_finish(struct graph_segments *segments);

#endif
