// SPDX-License-Identifier: Apache-2.0
// The memory that an exec has of its devices. Each frame has an arena for its transient buffers and
// scratch. Versioned buffers have one, and so has a black box.
#ifndef BRAID_EXEC_EXEC_MEMORY_H
#define BRAID_EXEC_EXEC_MEMORY_H

#include "exec/exec.h"

enum { DEVICE_ALIGNMENT = 256 }; // every backend allocates with it

struct braid_memory_pool { // its functions
    braid_status (*join)(braid_memory_pool *pool, braid_exec *exec);
    braid_status (*check_launch)(const braid_memory_pool *pool, const char *function);
    // Gives arena `index` memory: `bytes` for one frame at one place. Errors: BRAID_NO_MEMORY.
    braid_status (*take)(braid_memory_pool *pool, const braid_exec *exec, uint32_t index,
                         uint64_t bytes, uint64_t alignment, struct exec_arena *arenas);
    void (*give_back)(struct exec_arena *arena);
};

static inline uint32_t exec_num_places(const braid_exec *exec)
{
    return exec->placed ? exec->places.num : 1;
}

// Packs the transient buffers of the exec's schedule, and proves its program with them, as
// braid_program_verify does. All slots get new arenas of that size in place of those they have, and
// the tasks the addresses of their buffers there. If it fails, nothing changes. Errors: those of
// braid_memory_plan_create and braid_program_verify; BRAID_NO_MEMORY (says how much),
// BRAID_DEVICE_ERROR.
braid_status braid_exec_plan_memory(braid_exec *exec, const braid_graph *graph);
// Does the same once the exec is made, without its pool, for the next launch: no two transient
// buffers share bytes.
braid_status braid_exec_part_memory(braid_exec *exec, const braid_graph *graph);
// Frees plan and arenas.
void braid_exec_drop_memory(braid_exec *exec);
// Where the arenas of a slot begin, by place.
void braid_exec_find_arenas(const braid_exec *exec, uint32_t slot, unsigned char **out_begins);

// `what` needs it. It has zeros. If it fails, *out_arena is to be freed. Errors: BRAID_NO_MEMORY
// (says how much), BRAID_DEVICE_ERROR.
braid_status braid_exec_allocate_zeros(braid_device *device, const char *what, uint64_t bytes,
                                       uint64_t alignment, struct exec_arena *out_arena);
void braid_exec_free_arena(const braid_device *device, struct exec_arena *arena);

// Allocates the memory of versioned buffers, zeroed. Errors: as above, and those of queueing.
braid_status braid_exec_allocate_versions(braid_exec *exec, const braid_graph *graph);

// Keeps the graph from which scratch can get another size. Errors: BRAID_NO_MEMORY.
braid_status braid_exec_keep_scratch(braid_exec *exec, const braid_graph *graph);
// Between begin_launch and end_launch: gives all slots larger arenas, if scratch is to be larger,
// and waits for the frames before, without the lock. Errors: BRAID_NO_MEMORY, BRAID_DEVICE_ERROR;
// then the next launch tries again.
braid_status braid_exec_grow_scratch(braid_exec *exec);

#endif
