// SPDX-License-Identifier: Apache-2.0
// All passes from a graph in planning form to a full schedule.
#ifndef BRAID_PLAN_PASSES_H
#define BRAID_PLAN_PASSES_H

#include "plan/plan_costs.h"
#include "plan/plan_placement.h"
#include "plan/schedule.h"

// Plans a schedule whose graph and options are set. `inside`: as one island; NULL: not. On failure
// the arrays made so far stay in the schedule. Errors: BRAID_INVALID_ARGUMENT (times beyond 64
// bits), BRAID_NO_MEMORY.
braid_status braid_plan_passes(struct braid_schedule *schedule, const braid_graph *graph,
                               const struct plan_inside *inside);

// Pairs of units that the graph leaves free and the plan does not.
// Fills the serialisations of a schedule and their count in info.
// Errors: BRAID_NO_MEMORY.
braid_status braid_plan_serialisations(struct braid_schedule *schedule,
                                       const struct plan_placement *placement);

// Fills the plan's program, the lanes and times of a schedule whose graph is set, and their counts
// in info. `graph` is the planned graph, for the kinds of its nodes. Takes the arrays of costs and
// placement that the schedule keeps. Errors: BRAID_NO_MEMORY.
braid_status braid_plan_steps_create(struct braid_schedule *schedule, const braid_graph *graph,
                                     struct plan_costs *costs, struct plan_placement *placement);

#endif
