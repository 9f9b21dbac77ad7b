// SPDX-License-Identifier: Apache-2.0
// Which unit runs on which lane, when, and in which order units are issued.
#ifndef BRAID_EXEC_PLAN_PLACE_H
#define BRAID_EXEC_PLAN_PLACE_H

#include "base/array.h"
#include "exec/plan_costs.h"
#include "exec/plan_graph.h"
#include "exec/plan_rank.h"

struct plan_pair {
    uint32_t first, second; // units
};

struct plan_placement {
    uint32_t num_lanes;   // lanes used
    uint32_t *lane_of;    // per unit
    uint64_t *start_ns;   // per unit
    uint32_t *issued;     // units in issue order, in which every edge and every lane goes forward
    uint64_t makespan_ns; // with the cost of lanes beyond the first
    struct array delayed; // uint32_t: units that were ready before the unit before them ended
    struct array hinted;  // struct plan_pair: likewise, where a hint named the lane
};

// List scheduling: whenever a lane is idle, the ready unit of the lowest rank starts, on an idle
// lane whose last unit is a direct predecessor if there is one. Takes O(m + n log K).
// Errors: BRAID_NO_MEMORY.
braid_status braid_plan_place(const struct plan_graph *plan, const struct plan_costs *costs,
                              const struct plan_ranks *ranks, uint32_t max_lanes,
                              struct plan_placement *out_placement);
void braid_plan_placement_finish(struct plan_placement *placement);

#endif
