// SPDX-License-Identifier: Apache-2.0
// The memory that an exec has of its devices: an arena for the transient buffers and scratch of
// each frame, and one for versioned buffers.
#ifndef BRAID_EXEC_EXEC_MEMORY_H
#define BRAID_EXEC_EXEC_MEMORY_H

#include "exec/exec.h"

// Packs the transient buffers of the exec's schedule, and proves its program with them, as
// braid_program_verify does. All slots get new arenas of that size in place of those they have, and
// the tasks the addresses of their buffers there. If it fails, nothing changes. Errors: those of
// braid_memory_plan_create and braid_program_verify; BRAID_NO_MEMORY (says how much),
// BRAID_DEVICE_ERROR.
braid_status braid_exec_plan_memory(braid_exec *exec, const braid_graph *graph);
// Frees plan and arenas.
void braid_exec_drop_memory(braid_exec *exec);
// Where the arenas of a slot begin, by place.
void braid_exec_find_arenas(const braid_exec *exec, uint32_t slot, unsigned char **out_begins);

// `what` needs it. Errors: BRAID_NO_MEMORY (says how much), BRAID_DEVICE_ERROR.
braid_status braid_exec_allocate_arena(const braid_device *device, const char *what, uint64_t bytes,
                                       uint64_t alignment, struct exec_arena *out_arena);
void braid_exec_free_arena(const braid_device *device, struct exec_arena *arena);

// exec_versions.c: allocates the memory of versioned buffers, zeroed. Errors: as above, and those
// of queueing.
braid_status braid_exec_allocate_versions(braid_exec *exec, const braid_graph *graph);

// exec_scratch.c: keeps the graph from which scratch can get another size. Errors: BRAID_NO_MEMORY.
braid_status braid_exec_keep_scratch(braid_exec *exec, const braid_graph *graph);
// Between begin_launch and end_launch: gives all slots larger arenas, if scratch is to be larger,
// and waits for the frames before, without the lock. Errors: BRAID_NO_MEMORY, BRAID_DEVICE_ERROR;
// then the next launch tries again.
braid_status braid_exec_grow_scratch(braid_exec *exec);

#endif
