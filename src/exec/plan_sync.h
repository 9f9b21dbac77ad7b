// SPDX-License-Identifier: Apache-2.0
// The fewest waits that order a placement as the graph wants it.
#ifndef BRAID_EXEC_PLAN_SYNC_H
#define BRAID_EXEC_PLAN_SYNC_H

#include "base/array.h"
#include "exec/plan_place.h"

struct plan_sync {
    struct array waits; // uint32_t: units waited for, in issue order of the units that wait
    uint32_t *first;    // of the i-th issued unit in waits; num_units + 1
};

// Let S be the lane orders. The waits that add no ordering beyond the graph and S have a unique
// minimum: the cross-lane edges of the transitive reduction of the graph and S together. With
// `widen`, waits may add ordering that costs no planned time, see plan_sync.c.
// Errors: BRAID_NO_MEMORY.
braid_status braid_plan_sync(const struct plan_graph *plan, const struct plan_costs *costs,
                             const struct plan_placement *placement, bool widen,
                             struct plan_sync *out_sync);
void braid_plan_sync_finish(struct plan_sync *sync);

#endif
