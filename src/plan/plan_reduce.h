// SPDX-License-Identifier: Apache-2.0
// The transitive reduction: which edges say something that no longer path says.
#ifndef BRAID_PLAN_REDUCE_H
#define BRAID_PLAN_REDUCE_H

#include "plan/plan_graph.h"

// For each edge, by its place in pred_nodes, whether the rest implies it. Of edges between the same
// two units all but the first are implied. Takes n * m / 64 steps and 64 bytes a unit.
// Errors: BRAID_NO_MEMORY.
braid_status braid_plan_reduce(const struct plan_graph *plan, bool **out_implied);

#endif
