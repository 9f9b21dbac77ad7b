// SPDX-License-Identifier: Apache-2.0
// The times of a plan whose nodes take longer beside others, as measuring has told.
#ifndef BRAID_PLAN_CROWD_H
#define BRAID_PLAN_CROWD_H

#include "plan/plan_costs.h"
#include "plan/plan_placement.h"

// Whether nodes are known to slow each other in a graph and under a model.
static inline bool plan_is_crowded(const struct plan_costs *costs)
{
    return costs->crowding;
}

// Sets the makespan of a placement to that with nodes that slow each other. Starts stay as planned.
// Errors: BRAID_NO_MEMORY.
braid_status braid_plan_crowd_makespan(const struct plan_graph *plan,
                                       const struct plan_costs *costs,
                                       struct plan_placement *placement);

// The same, and changes the starts of nodes, and the costs to the times that they then take.
// Errors: BRAID_NO_MEMORY.
braid_status braid_plan_crowd_times(const struct plan_graph *plan, struct plan_costs *costs,
                                    struct plan_placement *placement);

#endif
