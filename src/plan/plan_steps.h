// SPDX-License-Identifier: Apache-2.0
// Writing the program of a plan, and its lanes as lists of nodes.
#ifndef BRAID_PLAN_STEPS_H
#define BRAID_PLAN_STEPS_H

#include "plan/plan_costs.h"
#include "plan/plan_placement.h"
#include "plan/schedule.h"

// Fills the program, lanes and times of a schedule whose graph is set, and their counts in info.
// `graph` is the planned graph, for the kinds of its nodes. Takes the arrays of costs and placement
// that the schedule keeps. Errors: BRAID_NO_MEMORY.
braid_status braid_plan_steps_create(struct braid_schedule *schedule, const braid_graph *graph,
                                     struct plan_costs *costs, struct plan_placement *placement);

#endif
