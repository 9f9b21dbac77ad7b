// SPDX-License-Identifier: Apache-2.0
// Gives the node of a region the accesses of its bodies.
#ifndef BRAID_GRAPH_REGION_ACCESSES_H
#define BRAID_GRAPH_REGION_ACCESSES_H

#include "graph/regions.h"

// `open` is the body added last; of a branch with two arms the first ends where it begins. Errors:
// BRAID_NO_MEMORY.
braid_status braid_graph_join_accesses(braid_graph *graph, const struct graph_region *open);

#endif
