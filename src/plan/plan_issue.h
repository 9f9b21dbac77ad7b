// SPDX-License-Identifier: Apache-2.0
// From units in an order on lanes to a placement: the fewest waits, and when nodes really start.
#ifndef BRAID_PLAN_PLAN_ISSUE_H
#define BRAID_PLAN_PLAN_ISSUE_H

#include "plan/plan_pass.h"
#include "plan/plan_placement.h"

// Makes a placement of the lanes and starts of a pass that went forward. Units are issued in the
// order of their starts. Errors: BRAID_NO_MEMORY.
braid_status braid_plan_issue(struct plan_pass *pass, struct plan_placement *out_placement);

#endif
