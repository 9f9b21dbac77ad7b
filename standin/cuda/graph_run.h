// SPDX-License-Identifier: Apache-2.0
// Running a graph: in a random order that its edges allow.
#ifndef BRAID_STANDIN_GRAPH_RUN_H
#define BRAID_STANDIN_GRAPH_RUN_H

#include "graph.h"

// Runs every node of a graph that nobody changes meanwhile. tickets: of event nodes, by index, or
// NULL. The order is a function of BRAID_STANDIN_SEED and the launch's number.
void graph_run(CUgraph graph, struct ticket *const *tickets, uint64_t launch_number);

#endif
