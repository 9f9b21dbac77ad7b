// SPDX-License-Identifier: Apache-2.0
// The values of each node that change from frame to frame, and their parameters.
#ifndef BRAID_GRAPH_CHANGES_H
#define BRAID_GRAPH_CHANGES_H

#include "graph/graph.h"

// Uses of parameters, node by node, in the order of declaring.
struct graph_changes {
    uint32_t *first; // each node's first in `uses`; num_nodes + 1. NULL: the graph has no uses
    uint32_t *uses;  // in graph->uses
};

// Errors: BRAID_NO_MEMORY.
braid_status braid_graph_find_changes(const braid_graph *graph, struct graph_changes *out_changes);
void braid_graph_changes_finish(struct graph_changes *changes);

static inline bool graph_changes_of(const struct graph_changes *changes, uint32_t node)
{
    return changes->first && changes->first[node + 1] > changes->first[node];
}

// Writes them as "position: argument 2, grid.x; steps: enabled", cut to fit; "" for none.
void braid_graph_describe_changes(const braid_graph *graph, const struct graph_changes *changes,
                                  uint32_t node, char *text, size_t size);

// Whether a parameter changes the node's grid or disables it.
bool braid_graph_changes_launch(const braid_graph *graph, const struct graph_changes *changes,
                                uint32_t node);

#endif
