// SPDX-License-Identifier: Apache-2.0
// Memory plans: where the transient buffers of a graph lie in one arena. No device is needed.
#ifndef BRAID_MEMORY_H
#define BRAID_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include <braid/graph.h>
#include <braid/schedule.h>
#include <braid/status.h>

#ifdef __cplusplus
extern "C" {
#endif

// An immutable plan of memory for one schedule. Two transient buffers share bytes only where the
// schedule's lanes and waits order every access of one before the first of the other, whatever the
// nodes take; so frames that follow each other may use one arena.
// Thread-safety: any thread.
typedef struct braid_memory_plan braid_memory_plan;

// All sizes in bytes, each buffer rounded up to its alignment.
typedef struct braid_memory_info {
    uint64_t arena_bytes;    // what a frame needs
    uint64_t unshared_bytes; // what it would need if no buffers shared memory
    uint64_t bound_bytes;    // no packing needs less: the most that may be alive at once
    uint64_t alignment;      // of the arena: the largest of its buffers'
    size_t num_transients;   // those that some node uses; the others take no memory
} braid_memory_info;

// Packs the transient buffers of the graph that the schedule is of. Takes time in proportion to the
// square of their number.
// Errors: BRAID_INVALID_ARGUMENT (a schedule of another graph or of this one before it changed; a
// buffer whose first access reads it: the message names buffer and node), BRAID_NO_MEMORY.
BRAID_API BRAID_MUST_CHECK braid_status braid_memory_plan_create(const braid_schedule *schedule,
                                                                 const braid_graph *graph,
                                                                 braid_memory_plan **out_plan);
BRAID_API void braid_memory_plan_destroy(braid_memory_plan *plan);

BRAID_API void braid_memory_plan_get_info_sized(const braid_memory_plan *plan,
                                                braid_memory_info *out_info, size_t bytes);
static inline void braid_memory_plan_get_info(const braid_memory_plan *plan,
                                              braid_memory_info *out_info)
{
    braid_memory_plan_get_info_sized(plan, out_info, sizeof(*out_info));
}

// Where a transient buffer, or a range of one, begins in the arena, in bytes.
// Errors: BRAID_INVALID_ARGUMENT (not a transient buffer of this graph).
BRAID_API BRAID_MUST_CHECK braid_status braid_memory_plan_get_offset(const braid_memory_plan *plan,
                                                                     braid_resource transient,
                                                                     uint64_t *out_offset);

// Proves, independently of the packing, that no two buffers that share bytes can be alive at once.
// Errors: BRAID_INTERNAL (the message names the buffers and a node), BRAID_INVALID_ARGUMENT
// (another graph), BRAID_NO_MEMORY.
BRAID_API BRAID_MUST_CHECK braid_status braid_memory_plan_verify(const braid_memory_plan *plan,
                                                                 const braid_schedule *schedule,
                                                                 const braid_graph *graph);

#ifdef __cplusplus
}
#endif

#endif
