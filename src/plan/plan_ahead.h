// SPDX-License-Identifier: Apache-2.0
// List scheduling that chooses a unit's lane for the sake of its successors.
#ifndef BRAID_PLAN_PLAN_AHEAD_H
#define BRAID_PLAN_PLAN_AHEAD_H

#include "plan/plan_pass.h"

// Not if waits cost nothing, or the graph has bundles, hints, several places, or too many units.
bool braid_plan_may_look_ahead(const struct plan_pass *pass);

// Sets keys and pins of a pass forward that makes this plan. The ready unit that goes next has the
// heaviest path ahead, with waits or without.
void braid_plan_look_ahead(struct plan_pass *pass, bool with_waits);

#endif
