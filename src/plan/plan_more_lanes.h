// SPDX-License-Identifier: Apache-2.0
// The numbers of lanes that the planner tries, and many lanes where that costs little.
#ifndef BRAID_PLAN_PLAN_MORE_LANES_H
#define BRAID_PLAN_PLAN_MORE_LANES_H

#include "plan/plan_list_orders.h"

enum { NUM_LANE_NUMBERS = 38 };
extern const uint32_t braid_plan_lane_numbers[NUM_LANE_NUMBERS]; // rising, as far as allowed

// A plan that may be taken: on up to max_lanes lanes, a frame is expected to take ns.
struct plan_kept {
    uint32_t max_lanes;
    uint64_t ns;
    struct plan_placement placement; // no arrays: one lane, not placed yet
};

// Whether the graph is so big that trying all numbers takes too long.
bool braid_plan_is_big(const struct plan_tries *tries);

// Replaces the placement of the best plan by one on more lanes, if the graph should have those.
// is_limited: the program has set the limit.
braid_status braid_plan_try_more_lanes(struct plan_tries *tries, uint32_t limit, bool is_limited,
                                       struct plan_kept *best);

#endif
