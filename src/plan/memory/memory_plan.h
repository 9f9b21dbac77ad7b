// SPDX-License-Identifier: Apache-2.0
// Memory plans: where the transient buffers of a schedule lie in one arena.
#ifndef BRAID_PLAN_MEMORY_MEMORY_PLAN_H
#define BRAID_PLAN_MEMORY_MEMORY_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <braid/schedule.h>

#define MEMORY_NONE UINT64_MAX // the offset of what is no transient buffer that is used

// In bytes, each buffer rounded up to its alignment.
struct memory_info {
    uint64_t arena_bytes;    // what a frame needs
    uint64_t unshared_bytes; // what it would need if no buffers shared memory
    uint64_t bound_bytes; // no packing needs less: the most alive at one place of the issue order
    uint64_t alignment;   // the arena's: the largest of its buffers'
};

// Two buffers share bytes only if the schedule's lanes and waits order every access of one before
// the first of the other. This holds for any times of the nodes. So frames that follow each other
// may use one arena.
struct memory_plan {
    struct memory_info info;
    bool is_apart; // no two buffers share bytes
    size_t num_resources;
    uint64_t *offsets; // per resource, ranges included
    // In a plan for several devices the arenas of places stand one behind the other. That of place
    // p reaches from begins[p] to begins[p + 1], both aligned as the whole is.
    uint32_t num_places;
    uint64_t *begins;
};

// Packs the transient buffers of the graph that the schedule's steps are of. Errors:
// BRAID_INVALID_ARGUMENT (a buffer whose first access reads it: the message names buffer and node),
// BRAID_NO_MEMORY. `is_apart`: without any shared bytes.
braid_status braid_memory_plan_create(const braid_schedule *schedule, const braid_graph *graph,
                                      bool is_apart, struct memory_plan *out_plan);
void braid_memory_plan_finish(struct memory_plan *plan);

#endif
