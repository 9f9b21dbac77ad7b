// SPDX-License-Identifier: Apache-2.0
// Which nodes of a plan become calls inside one kernel, an island, and which stay as they are.
//
// An island is a stretch of one lane: kernels one after another. Waits stand only before the first,
// and records only behind the last. It stands in the plan as one node would, so all waits for it
// and all its own waits stay as they were. Its kernel has one block. The blocks of a call run side
// by side as far as the threads of that block go, and then in turn.
#ifndef BRAID_ISLANDS_PLAN_DIVIDE_H
#define BRAID_ISLANDS_PLAN_DIVIDE_H

#include "plan/plan_islands.h"
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

// From an iteration of a loop inside to the next, beyond its calls; measured by bench_gpu_loops.
#define PLAN_ITERATION_INSIDE_NS 550

// How many lanes whose calls are all of `fits` run side by side in one block of an island.
uint32_t braid_plan_groups_of(const struct island_fit *fits, uint32_t num);

// The time inside of a call that takes cost_ns outside. Saturates at a length that no plan has.
uint64_t braid_plan_inside_ns(const struct island_fit *fit, const struct plan_room *room,
                              uint64_t cost_ns);

#endif
