// SPDX-License-Identifier: Apache-2.0
// Fewer waits for trusted costs: waiting for later units where that costs no planned time.
#ifndef BRAID_PLAN_WIDEN_H
#define BRAID_PLAN_WIDEN_H

#include "plan/plan_costs.h"
#include "plan/plan_placement.h"

// Finds the waits of a placement anew. Where a unit v must wait for p, it waits for the latest unit
// q of p's lane instead that is planned to end, wait included, by the time v starts. The planned
// times stay, more is known, and later waits turn out to be implied. q is issued before v, so
// nothing can turn into a circle.
// Errors: BRAID_NO_MEMORY.
braid_status braid_plan_widen(const struct plan_graph *plan, const struct plan_costs *costs,
                              struct plan_placement *placement);

#endif
