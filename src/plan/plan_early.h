// SPDX-License-Identifier: Apache-2.0
// Which kernels of a plan are launched early: while their lane predecessor, also a kernel, still
// runs. They wait for its end before they do anything, so that only the launch overlaps.
//
// A kernel that waits keeps its blocks on the device, where kernels of other lanes may need the
// room: two chains of kernels of half the device took 15 % longer so (H200, docs/cuda.md). So with
// several lanes, kernels start early only where all lanes' largest kernels fit twice over.
#ifndef BRAID_PLAN_PLAN_EARLY_H
#define BRAID_PLAN_PLAN_EARLY_H

#include "plan/schedule.h"

enum plan_early {
    PLAN_NOT_EARLY = 0,
    PLAN_EARLY_WHERE_IT_PAYS = 1, // the kernel can
    PLAN_EARLY_ALWAYS = 2,        // its author says that it can, and should
};

// `early` holds one enum plan_early a node, and then PLAN_NOT_EARLY for each that starts after its
// lane predecessor has ended. `costs` is the device's model. `adjacent`: only where nothing stands
// between the two on their lane, not even a record. Nodes that are not kernels may not be marked.
// Writes how many start early. Errors: BRAID_NO_MEMORY.
braid_status braid_plan_choose_early(const braid_schedule *schedule, const braid_graph *graph,
                                     const braid_cost_model *costs, bool adjacent, uint8_t *early,
                                     uint32_t *out_num_early);

#endif
