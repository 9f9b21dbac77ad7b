// SPDX-License-Identifier: Apache-2.0
// How many lanes a plan gets.
#ifndef BRAID_PLAN_LANES_H
#define BRAID_PLAN_LANES_H

#include "plan/plan_list.h"

// The most lanes that the options and the graph allow.
uint32_t braid_plan_lane_limit(const struct plan_graph *plan, const struct plan_costs *costs,
                               const braid_schedule_options *options);

// Places the graph on the number of lanes that the cost model predicts to be best. On a tie or a
// small gain these are the fewest; if the gain over one lane is small, it is one lane. Errors:
// BRAID_NO_MEMORY.
braid_status braid_plan_best(const struct plan_graph *plan, const struct plan_costs *costs,
                             const braid_schedule_options *options,
                             struct plan_placement *out_placement);

#endif
