// SPDX-License-Identifier: Apache-2.0
// When nodes of bundles really start on their lanes.
#ifndef BRAID_PLAN_PLAN_BUNDLE_STARTS_H
#define BRAID_PLAN_PLAN_BUNDLE_STARTS_H

#include "plan/plan_costs.h"
#include "plan/plan_placement.h"

// A unit is placed as if nothing could start before it was placed. If its later nodes wait for
// others, its first may start before, on a lane that has been idle. This holds if only lanes limit
// how many run at once. The device will do so, against the plan.
static inline bool plan_bundles_may_start_sooner(const struct plan_graph *plan,
                                                 const struct plan_costs *costs, uint32_t num_lanes)
{
    return plan->units.members && !costs->unit_share && num_lanes <= costs->model.max_concurrent;
}

// Lets each node of such a placement start as soon as its lane is free and its waits are over, and
// finds the makespan anew. Errors: BRAID_NO_MEMORY.
braid_status braid_plan_start_bundles(const struct plan_graph *plan, const struct plan_costs *costs,
                                      struct plan_placement *placement);

#endif
