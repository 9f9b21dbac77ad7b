// SPDX-License-Identifier: Apache-2.0
// Which nodes of a plan become calls inside one kernel, an island, and which stay as they are.
//
// An island is a stretch of one lane: kernels one after another. Waits stand only before the first,
// and records only behind the last. It stands in the plan as one node would, so all waits for it
// and all its own waits stay as they were. Its kernel has one block. The blocks of a call run side
// by side as far as the threads of that block go, and then in turn.
#ifndef BRAID_ISLANDS_PLAN_DIVIDE_H
#define BRAID_ISLANDS_PLAN_DIVIDE_H

#include "base/island_fit.h"
#include "plan/schedule.h"

enum {
    PLAN_MOST_CALLS = 1500,
    PLAN_MOST_ARG_BYTES = 30000,
    PLAN_MOST_LIST_BYTES = 64 << 10, // an island's lists and arguments in shared memory
};

// Divides a schedule that is not divided. `fits` is by node. With `always`, every stretch of two or
// more nodes that can be an island becomes one. Otherwise those do that the model expects to be
// shorter, if the whole frame is shorter by 3 %. Changes the times of the plan to those with
// islands. Nothing happens where the model has no islands. Errors: BRAID_NO_MEMORY.
braid_status braid_plan_divide(struct braid_schedule *schedule, const braid_cost_model *model,
                               const struct island_fit *fits, bool always);

// plan_divide_loops.c: the same for loops, after the frame's own lanes. All nodes of a body are in
// one island, or none is. Errors: BRAID_NO_MEMORY.
braid_status braid_plan_divide_loops(struct braid_schedule *schedule, const braid_cost_model *model,
                                     const struct island_fit *fits, bool always);

// Who gave a reason may be gone before the schedule is, so it keeps each once. NULL: memory ran
// out.
const char *braid_plan_keep_text(struct plan_division *division, const char *text);

#endif
