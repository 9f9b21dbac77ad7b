// SPDX-License-Identifier: Apache-2.0
// The memory that an exec has of its device: an arena for the transient buffers of each frame.
#ifndef BRAID_EXEC_EXEC_MEMORY_H
#define BRAID_EXEC_EXEC_MEMORY_H

#include "exec/exec.h"

// Packs the transient buffers of the exec's schedule and proves its program with them, as
// braid_program_verify does. Errors: those of braid_memory_plan_create and braid_program_verify.
braid_status braid_exec_plan_memory(braid_exec *exec, const braid_graph *graph);

// Allocates an arena for what a plan needs. Errors: BRAID_NO_MEMORY (says how much),
// BRAID_DEVICE_ERROR.
braid_status braid_exec_allocate_memory(const braid_exec *exec, const braid_memory_info *plan,
                                        struct exec_arena *out_arena);
void braid_exec_free_memory(const braid_exec *exec, struct exec_arena *arena);
// Gives a slot the arena that the exec's plan needs. Errors: as above.
braid_status braid_exec_allocate_arena(braid_exec *exec, struct frame_slot *slot);

// Has info say what a plan and all arenas take.
void braid_exec_tell_memory(braid_exec *exec, const braid_memory_info *plan);

#endif
