// SPDX-License-Identifier: Apache-2.0
// All passes from a graph in planning form to a full schedule.
#ifndef BRAID_PLAN_PASSES_H
#define BRAID_PLAN_PASSES_H

#include "plan/plan_costs.h"
#include "plan/schedule.h"

// Plans a schedule whose graph and options are set, on up to num_lanes lanes whatever the options
// say, if that is not 0; the bound is always that of the options. `inside`: as one island; NULL:
// not. What it has made stays in the schedule on failure. Errors: BRAID_INVALID_ARGUMENT (times
// beyond 64 bits), BRAID_NO_MEMORY.
braid_status braid_plan_passes(struct braid_schedule *schedule, const braid_graph *graph,
                               uint32_t num_lanes, const struct plan_inside *inside);

// Errors: BRAID_INVALID_ARGUMENT (no such policy).
braid_status braid_plan_check_options(const braid_schedule_options *options);

// Sets what the info says of the graph: everything but the plan's own figures.
void braid_plan_fill_info(struct braid_schedule *schedule, const struct plan_costs *costs);

// Divides a schedule into islands as far as can be told without a device; see plan_divide.h.
braid_status braid_plan_divide_by_graph(struct braid_schedule *schedule, const braid_graph *graph,
                                        const braid_cost_model *model);

#endif
