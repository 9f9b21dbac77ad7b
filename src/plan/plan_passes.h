// SPDX-License-Identifier: Apache-2.0
// All passes from a graph in planning form to a full schedule.
#ifndef BRAID_PLAN_PASSES_H
#define BRAID_PLAN_PASSES_H

#include "plan/plan_costs.h"
#include "plan/schedule.h"

// Plans a schedule whose graph and options are set. `inside`: as one island; NULL: not. On failure
// the arrays made so far stay in the schedule. Errors: BRAID_INVALID_ARGUMENT (times beyond 64
// bits), BRAID_NO_MEMORY.
braid_status braid_plan_passes(struct braid_schedule *schedule, const braid_graph *graph,
                               const struct plan_inside *inside);

// Errors: BRAID_INVALID_ARGUMENT (no such policy).
braid_status braid_plan_check_options(const braid_schedule_options *options);

#endif
