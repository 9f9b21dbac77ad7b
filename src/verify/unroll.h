// SPDX-License-Identifier: Apache-2.0
// A graph of several frames, to prove their order by.
#ifndef BRAID_VERIFY_UNROLL_H
#define BRAID_VERIFY_UNROLL_H

#include "graph/graph.h"

// The nodes of `num_frames` frames one behind the other, with their bundles and accesses, but
// without work, edges or hints. Each frame has transient buffers of its own. Nodes without work
// touch nothing here: their order inside a frame is proved elsewhere. Node i of frame f has index i
// + f * nodes. Errors: BRAID_NO_MEMORY, BRAID_INVALID_ARGUMENT (too many nodes for one graph).
braid_status braid_unroll_frames(const braid_graph *graph, uint32_t num_frames,
                                 braid_graph **out_unrolled);

#endif
