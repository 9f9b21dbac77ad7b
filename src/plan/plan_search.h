// SPDX-License-Identifier: Apache-2.0
// A bounded search for a shorter plan on the same number of lanes.
#ifndef BRAID_PLAN_SEARCH_H
#define BRAID_PLAN_SEARCH_H

#include "plan/plan_try.h"

// Takes that many steps from a placement, each a placement in a slightly other order of units, and
// leaves the shortest found, which is never longer. The steps are the same on every machine.
// Errors: BRAID_NO_MEMORY, and the placement is as it was or a shorter one.
braid_status braid_plan_search(struct plan_tries *tries, uint32_t num_steps,
                               struct plan_placement *placement);

#endif
