// SPDX-License-Identifier: Apache-2.0
// Making the graph that is planned: its edges, and an order of its nodes.
#ifndef BRAID_PLAN_BUILD_H
#define BRAID_PLAN_BUILD_H

#include <stdbool.h>

#include "plan/plan_graph.h"

// Errors: BRAID_CYCLE (the message names its nodes), BRAID_INVALID_ARGUMENT (too many edges),
// BRAID_NO_MEMORY.
braid_status braid_plan_graph_create(const braid_graph *graph, struct plan_graph **out_plan);

// Fills the lists of a plan whose units, links and hints are set. A node's predecessors stand in
// the order: explicit edges as added, edges from accesses, its hint. Edges inside a bundle are left
// out; out_forward says whether every edge goes from a lower node to a higher, without bundles.
// Errors: BRAID_CYCLE (an edge against the running order of a bundle), BRAID_INVALID_ARGUMENT (too
// many edges), BRAID_NO_MEMORY.
braid_status braid_plan_edges_create(const braid_graph *graph, struct plan_graph *plan,
                                     bool *out_forward);

// An order in which every edge goes forward and units stay together.
// Fills plan->order. Errors: BRAID_CYCLE (the message names the nodes), BRAID_NO_MEMORY.
braid_status braid_plan_order_create(struct plan_graph *plan);

#endif
