// SPDX-License-Identifier: Apache-2.0
// A placement: the lane, start and waits of each node, and the order in which nodes are issued.
#ifndef BRAID_PLAN_PLACEMENT_H
#define BRAID_PLAN_PLACEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include <braid/schedule.h>

#include "base/array.h"
#include "plan/plan_costs.h"

// A unit that was ready before the one before it on its lane had ended, and why it ran there then.
struct plan_delay {
    uint32_t first, second; // the last node of the unit before, and the first node of this one
    braid_serialisation_cause cause;
};

struct plan_placement {
    uint32_t num_lanes;   // lanes used
    uint32_t most_lanes;  // used by any one place
    uint32_t *lane_of;    // per node
    uint64_t *start_ns;   // per node
    uint32_t *issued;     // nodes in issue order, in which every edge and every lane goes forward
    uint64_t makespan_ns; // with the cost of lanes beyond the first
    struct array waits;   // uint32_t: nodes waited for, in issue order of the nodes that wait
    uint32_t *wait_first; // where the i-th issued node's begin in waits; num_nodes + 1
    struct array delays;  // struct plan_delay
    bool given_up;        // there are no arrays; num_placed nodes had been placed
    uint32_t num_placed;
};

// Makes room for all nodes, which finish frees also on failure. False: no memory.
bool braid_plan_placement_init(const struct plan_graph *plan, struct plan_placement *placement);

// Keeps the better of two placements in the place of the first and finishes the other. The better
// has the shorter makespan, then fewer waits, then is the first. One given up is never better.
void braid_plan_placement_keep(struct plan_placement *best, struct plan_placement *other);
void braid_plan_placement_finish(struct plan_placement *placement);
// Hands a placement out, or finishes it where making it failed. Returns the status.
braid_status braid_plan_placement_give(braid_status status, struct plan_placement *made,
                                       struct plan_placement *out_placement);

// A unit is placed as if nothing could start before it was placed. If its later nodes wait for
// others, its first may start before, on a lane that has been idle. This holds if only lanes limit
// how many run at once. The device will do so, against the plan.
static inline bool plan_bundles_may_start_sooner(const struct plan_graph *plan,
                                                 const struct plan_costs *costs, uint32_t num_lanes)
{
    return plan->units.members && !costs->unit_share && num_lanes <= costs->model.max_concurrent;
}

// Lets each node of such a placement start as soon as its lane is free and its waits are over, and
// finds the makespan anew. Errors: BRAID_NO_MEMORY.
braid_status braid_plan_start_bundles(const struct plan_graph *plan, const struct plan_costs *costs,
                                      struct plan_placement *placement);

#endif
