// SPDX-License-Identifier: Apache-2.0
// The gain of a plan on some number of lanes, and whether it is worth the lanes.
#ifndef BRAID_PLAN_PLAN_LANE_GAIN_H
#define BRAID_PLAN_PLAN_LANE_GAIN_H

#include "plan/plan_list_orders.h"

// No makespan on that many lanes is shorter.
uint64_t braid_plan_lower_bound(const struct plan_costs *costs, uint32_t num_lanes);

// The expected time of a frame of that makespan without waits; and the least one on that many
// lanes.
uint64_t braid_plan_without_waits(const struct plan_tries *tries, uint64_t makespan_ns);
uint64_t braid_plan_bound_of(const struct plan_tries *tries, uint32_t num_lanes);

// One part in how many must be gained over a plan of so many lanes: more for one lane, and never
// less for fewer lanes.
uint64_t braid_plan_part_over(const struct plan_costs *costs, uint32_t num_lanes);

// Whether a frame of `expected` is worth leaving one that takes ns on fewer lanes.
bool braid_plan_is_worth(const struct plan_costs *costs, uint64_t expected, uint32_t lanes,
                         uint64_t ns);

#endif
