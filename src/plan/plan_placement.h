// SPDX-License-Identifier: Apache-2.0
// Which node runs on which lane, when, in which order nodes are issued, and what they wait for.
#ifndef BRAID_PLAN_PLACEMENT_H
#define BRAID_PLAN_PLACEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"

struct plan_pair {
    uint32_t first, second; // nodes
};

struct plan_placement {
    uint32_t num_lanes;   // lanes used
    uint32_t most_lanes;  // used by any one place
    uint32_t *lane_of;    // per node
    uint64_t *start_ns;   // per node
    uint32_t *issued;     // nodes in issue order, in which every edge and every lane goes forward
    uint64_t makespan_ns; // with the cost of lanes beyond the first
    struct array waits;   // uint32_t: nodes waited for, in issue order of the nodes that wait
    uint32_t *wait_first; // of the i-th issued node in waits; num_nodes + 1
    struct array delayed; // struct plan_delayed, where no hint named the lane
    struct array hinted;  // struct plan_pair: likewise, where a hint named the lane
    bool given_up;        // there are no arrays; num_placed nodes had been placed
    uint32_t num_placed;
};

// Keeps the better of two placements in the place of the first and finishes the other: that of the
// shorter makespan, then that of fewer waits, then the first. One given up is never the better one.
void braid_plan_placement_keep(struct plan_placement *best, struct plan_placement *other);
void braid_plan_placement_finish(struct plan_placement *placement);

#endif
