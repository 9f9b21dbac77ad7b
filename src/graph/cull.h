// SPDX-License-Identifier: Apache-2.0
// The graph without the nodes that no output needs.
#ifndef BRAID_GRAPH_CULL_H
#define BRAID_GRAPH_CULL_H

#include "graph/reach.h"

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

#endif
