// SPDX-License-Identifier: Apache-2.0
// A node that may touch any memory, since the program declares no access of it.
#ifndef BRAID_GRAPH_UNDECLARED_H
#define BRAID_GRAPH_UNDECLARED_H

#include "graph/graph.h"

// The first node with work that declares no access, or GRAPH_NONE. The accesses that Braid gives a
// node tell nothing about its others: those to its scratch, and those of a communication.
uint32_t braid_graph_find_undeclared(const braid_graph *graph);

#endif
