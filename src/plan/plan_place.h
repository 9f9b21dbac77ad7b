// SPDX-License-Identifier: Apache-2.0
// Which node runs on which lane, when, in which order nodes are issued, and what they wait for.
#ifndef BRAID_PLAN_PLACE_H
#define BRAID_PLAN_PLACE_H

#include "base/array.h"
#include "plan/plan_costs.h"
#include "plan/plan_graph.h"
#include "plan/plan_rank.h"

struct plan_pair {
    uint32_t first, second; // nodes
};

struct plan_placement {
    uint32_t num_lanes;   // lanes used
    uint32_t *lane_of;    // per node
    uint64_t *start_ns;   // per node
    uint32_t *issued;     // nodes in issue order, in which every edge and every lane goes forward
    uint64_t makespan_ns; // with the cost of lanes beyond the first
    struct array waits;   // uint32_t: nodes waited for, in issue order of the nodes that wait
    uint32_t *wait_first; // of the i-th issued node in waits; num_nodes + 1
    struct array delayed; // struct plan_delayed, where no hint named the lane
    struct array hinted;  // struct plan_pair: likewise, where a hint named the lane
};

// List scheduling: whenever a lane is idle, the ready unit of the lowest rank starts, on the idle
// lane where it starts first and needs the fewest waits. Time is O(m + n (K + log n)), where K
// counts idle lanes only.
//
// Let S be the lane orders. The waits that add no ordering beyond the graph and S have a unique
// minimum: the cross-lane edges of the transitive reduction of the graph and S together. These are
// the waits found here.
// Errors: BRAID_NO_MEMORY.
braid_status braid_plan_place(const struct plan_graph *plan, const struct plan_costs *costs,
                              const struct plan_ranks *ranks, uint32_t max_lanes,
                              struct plan_placement *out_placement);

// Keeps the better of two placements in the place of the first and finishes the other: that of the
// shorter makespan, then that of fewer waits, then the first.
void braid_plan_placement_keep(struct plan_placement *best, struct plan_placement *other);
void braid_plan_placement_finish(struct plan_placement *placement);

#endif
