// SPDX-License-Identifier: Apache-2.0
// List scheduling into gaps: a unit may start in front of units that were placed before it.
#ifndef BRAID_PLAN_PLAN_GAPS_H
#define BRAID_PLAN_PLAN_GAPS_H

#include "plan/plan_pass.h"

// The ready unit that goes next has the heaviest path ahead, without waits or with them. Or it is
// on the heaviest path through the graph, or has the most work in its successors.
enum gaps_order { GAPS_PATH, GAPS_PATH_WITH_WAITS, GAPS_THROUGH, GAPS_SUCCESSORS, NUM_GAPS_ORDERS };

// Not if the graph has bundles, hints, several places, or too many units.
bool braid_plan_has_gaps(const struct plan_pass *pass);

// Sets keys and pins of a pass forward that makes this plan. Errors: BRAID_NO_MEMORY.
braid_status braid_plan_gaps_run(struct plan_pass *pass, enum gaps_order order);

#endif
