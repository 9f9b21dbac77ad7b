// SPDX-License-Identifier: Apache-2.0
// Making the graph that is planned.
#ifndef BRAID_PLAN_BUILD_H
#define BRAID_PLAN_BUILD_H

#include "plan/plan_graph.h"

// Errors: BRAID_CYCLE (the message names its nodes), BRAID_INVALID_ARGUMENT (too many edges),
// BRAID_NO_MEMORY.
braid_status braid_plan_graph_create(const braid_graph *graph, struct plan_graph **out_plan);

#endif
