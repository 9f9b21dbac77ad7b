// SPDX-License-Identifier: Apache-2.0
// The planner's door to islands: the two questions that it asks, and the plain data of both sides.
//
// Outside, all blocks of a kernel run at once, or as many as the device has room for. Inside, a
// lane runs as many at once as it has groups of threads.
#ifndef BRAID_PLAN_PLAN_ISLANDS_H
#define BRAID_PLAN_PLAN_ISLANDS_H

#include <stdbool.h>
#include <stdint.h>

#include <braid/schedule.h>

struct braid_schedule;

// Whether a node can be a call inside an island, and its needs there. If it is not empty and has no
// reason against it, it is a kernel, or a copy or fill that a kernel does.
struct island_fit {
    const char *why_not; // "it is machine code"; lives as long as the kernel. NULL: it can
    bool is_empty;       // there is nothing to run
    bool is_move;        // a copy or fill
    bool runs_alone;     // no two of its blocks at once in one block of the island
    uint32_t threads;    // in a block
    uint64_t blocks;
    uint32_t arg_bytes;
};

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

// A graph whose nodes are all calls of one island.
struct plan_inside {
    const struct island_fit *fits; // by node
    struct plan_room room;
};

struct plan_islands {
    // The time inside of a call that takes cost_ns outside. Saturates at a length that no plan has.
    uint64_t (*inside_ns)(const struct island_fit *fit, const struct plan_room *room,
                          uint64_t cost_ns);
    // Divides a schedule as far as can be told without a device. Errors: BRAID_NO_MEMORY.
    braid_status (*divide)(struct braid_schedule *schedule, const braid_graph *graph,
                           const braid_cost_model *model);
};

// NULL: this Braid was built without islands.
extern const struct plan_islands *const braid_plan_islands;

#endif
