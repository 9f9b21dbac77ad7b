// SPDX-License-Identifier: Apache-2.0
// Which nodes of a frame must wait for nodes of earlier frames, by their accesses.
#ifndef BRAID_GRAPH_FRAME_LINKS_H
#define BRAID_GRAPH_FRAME_LINKS_H

#include "graph/graph.h"

struct frame_link {
    uint32_t from;          // in an earlier frame
    uint32_t to;            // in this frame; may be the same node
    uint32_t frames_before; // how much earlier; 1: of the frame before
};

// Finds pairs that order any two accesses in conflict: the access of the earlier frame comes first,
// however far apart the frames are. The pairs rely on the order inside each frame. Transient
// buffers are each frame's own. *out_undeclared is the first node with work that declares no
// access, or GRAPH_NONE: for such a node no pairs are enough. The time is proportional to the
// accesses times the segments that each covers, and to the pairs. Errors: BRAID_NO_MEMORY.
braid_status braid_graph_find_frame_links(const braid_graph *graph, struct array *out_links,
                                          uint32_t *out_undeclared);

#endif
