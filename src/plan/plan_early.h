// SPDX-License-Identifier: Apache-2.0
// Which kernels of a plan are launched early: while their lane predecessor, also a kernel, still
// runs. They wait for its end before they do anything, so that only the launch overlaps.
//
// A kernel that is launched as the blocks of its predecessor begin gains most: its launch overlaps
// the whole predecessor. However, its blocks take room on the device while they wait, and the
// kernel behind it may wait there as well. If they need more room than there is, blocks crowd onto
// the multiprocessors that become free first. A chain of 132 blocks that read memory took 2,383 us
// instead of 1,926 (H200, docs/measured). So the running kernel and the kernels of its row that
// wait at the same time must fit into their lane's part of the device.
//
// A kernel that is launched as the blocks of its predecessor end takes no room from it. It gains
// less, and costs nothing.
#ifndef BRAID_PLAN_PLAN_EARLY_H
#define BRAID_PLAN_PLAN_EARLY_H

#include "plan/schedule.h"

enum plan_early {
    PLAN_NOT_EARLY,
    PLAN_EARLY_AT_END,   // as the blocks of its predecessor end, or say that it may start
    PLAN_EARLY_AT_BEGIN, // as the blocks of its predecessor begin
};

#define PLAN_EARLY_ROOM (1u << 20) // the whole device

// A node, as far as early starts are concerned. A node that is no kernel is all zero.
struct plan_early_node {
    bool can;              // the kernel waits by itself for the kernels before it
    bool tells;            // the kernel says by itself when the next one may start
    bool fetches;          // the kernel can be changed to fetch inputs of the next one
    uint32_t share;        // the part of PLAN_EARLY_ROOM that its blocks take; at most that
    enum plan_early early; // the result,
    uint32_t behind;       // the node before it on its lane; PLAN_NONE: none
};

// `nodes` has one element a node; sets `early` of each. `adjacent`: only where nothing stands
// between the two on their lane, not even a record. Writes how many start early. Errors:
// BRAID_NO_MEMORY.
braid_status braid_plan_choose_early(const braid_schedule *schedule, const braid_graph *graph,
                                     bool adjacent, struct plan_early_node *nodes,
                                     uint32_t *out_num_early);

#endif
