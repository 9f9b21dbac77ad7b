// SPDX-License-Identifier: Apache-2.0
// All edges between nodes, as predecessor and successor lists in flat arrays.
#ifndef BRAID_PLAN_EDGES_H
#define BRAID_PLAN_EDGES_H

#include <stdbool.h>

#include "plan/plan_graph.h"

// Fills the lists of a plan whose units, links and hints are set. A node's predecessors stand in
// the order: explicit edges as added, edges from accesses, its hint. Edges inside a bundle are left
// out; out_forward says whether every edge goes from a lower node to a higher, without bundles.
// Errors: BRAID_CYCLE (an edge against the running order of a bundle), BRAID_INVALID_ARGUMENT (too
// many edges), BRAID_NO_MEMORY.
braid_status braid_plan_edges_create(const braid_graph *graph, struct plan_graph *plan,
                                     bool *out_forward);

#endif
