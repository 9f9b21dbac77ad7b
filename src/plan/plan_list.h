// SPDX-License-Identifier: Apache-2.0
// Puts the nodes of a graph on lanes.
#ifndef BRAID_PLAN_PLAN_LIST_H
#define BRAID_PLAN_PLAN_LIST_H

#include "plan/plan_costs.h"
#include "plan/plan_graph.h"
#include "plan/plan_placement.h"
#include "plan/plan_rank.h"

// Up to so many lanes. If the lanes' knowledge of each other would take too much memory, `or_fewer`
// says whether fewer are taken instead. A placement that is certain to have a longer makespan than
// give_up_ns is given up. `is_apart`: units that the graph leaves free get different lanes.
struct plan_limits {
    uint32_t max_lanes;
    bool or_fewer;
    uint64_t give_up_ns;
    bool is_apart;
};

// List scheduling: whenever a lane is idle, the ready unit of the lowest rank starts. It takes the
// idle lane where it starts first and needs the fewest waits. Time is O(m + n (K + log n)), where K
// counts idle lanes only.
//
// Let S be the lane orders. The waits that add no ordering beyond the graph and S have a unique
// minimum. It is the cross-lane edges of the transitive reduction of the graph and S together.
// These are the waits found here. Errors: BRAID_NO_MEMORY.
braid_status braid_plan_list(const struct plan_graph *plan, const struct plan_costs *costs,
                             const struct plan_ranks *ranks, const struct plan_limits *limits,
                             struct plan_placement *out_placement);

#endif
