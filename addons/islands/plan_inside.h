// SPDX-License-Identifier: Apache-2.0
// How long a kernel takes as a call inside an island, where few of its blocks run side by side.
#ifndef BRAID_ISLANDS_PLAN_INSIDE_H
#define BRAID_ISLANDS_PLAN_INSIDE_H

#include "plan/plan_islands.h"

// From an iteration of a loop inside to the next, beyond its calls; measured by bench_gpu_loops.
#define PLAN_ITERATION_INSIDE_NS 550

// The part of an island's block that a lane's calls need.
struct plan_block {
    uint32_t threads; // the most that one has
    bool runs_alone;
};

void braid_plan_block_add(struct plan_block *block, const struct island_fit *fit);
// How many such blocks run side by side in one block of an island.
uint32_t braid_plan_groups_of_a_block(struct plan_block block);

// The same of a lane whose calls are all of `fits`; and how many lanes share a block.
uint32_t braid_plan_groups_of(const struct island_fit *fits, uint32_t num);

// The time inside of a call that takes cost_ns outside. Saturates at a length that no plan has.
uint64_t braid_plan_inside_ns(const struct island_fit *fit, const struct plan_room *room,
                              uint64_t cost_ns);

#endif
