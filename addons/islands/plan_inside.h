// SPDX-License-Identifier: Apache-2.0
// How long a kernel takes as a call inside an island, where few of its blocks run side by side.
//
// Outside, all blocks of a kernel run at once, or as many as the device has room for. Inside, a
// lane runs them one after another, a chain as many at once as the threads of its block hold.
#ifndef BRAID_ISLANDS_PLAN_INSIDE_H
#define BRAID_ISLANDS_PLAN_INSIDE_H

#include <braid/schedule.h>

#include "base/island_fit.h"

// The room of an island for the blocks of a call.
struct plan_room {
    uint32_t groups;      // that run side by side on a lane, one at least
    uint64_t round_ns;    // the least that each further round of blocks takes
    uint64_t max_threads; // that the device runs at once; 0: any number
    // The further time that a call with waits takes of its lane, behind its lane predecessor and
    // however long ago the others have ended.
    uint64_t wait_busy_ns;
    bool shares_unit; // its lanes share a multiprocessor
};

// A call there has the room to itself, so that its time tells that of any such room.
static inline bool plan_room_is_lone(const struct plan_room *room)
{
    return room->groups == 1 && !room->shares_unit;
}

// From an iteration of a loop inside to the next, beyond its calls; measured by bench_gpu_loops.
#define PLAN_ITERATION_INSIDE_NS 550

// A graph whose nodes are all calls of one island.
struct plan_inside {
    const struct island_fit *fits; // by node
    struct plan_room room;
};

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
