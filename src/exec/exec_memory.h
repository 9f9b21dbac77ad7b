// SPDX-License-Identifier: Apache-2.0
// The memory that an exec has of its device: an arena for the transient buffers of each frame.
#ifndef BRAID_EXEC_EXEC_MEMORY_H
#define BRAID_EXEC_EXEC_MEMORY_H

#include "exec/exec.h"

// Packs the transient buffers of the exec's schedule and proves its program with them, as
// braid_program_verify does. Errors: those of braid_memory_plan_create and braid_program_verify.
braid_status braid_exec_plan_memory(braid_exec *exec, const braid_graph *graph);

// Allocates an arena. Errors: BRAID_NO_MEMORY (says how much), BRAID_DEVICE_ERROR.
braid_status braid_exec_allocate_memory(const braid_device *device, uint64_t bytes,
                                        uint64_t alignment, struct exec_arena *out_arena);
void braid_exec_free_memory(const braid_device *device, struct exec_arena *arena);
// Where a place's part of a plan begins; those of places without any are empty.
uint64_t braid_exec_place_begin(const struct memory_plan *plan, uint32_t place);
// Tells tasks where in the arenas of their places a plan has their buffers.
void braid_exec_place_tasks(braid_exec *exec, const braid_graph *graph,
                            const struct memory_plan *plan);
// Of a slot and a place.
static inline struct exec_arena *exec_arena_at(struct frame_slot *slot, uint32_t place)
{
    return place ? &slot->more[place] : &slot->arena;
}
static inline uint32_t exec_num_places(const braid_exec *exec)
{
    return exec->placed ? exec->places.num : 1;
}

// Gives a slot the arenas that the exec's plan needs, then its frame. Errors: as above, and of
// braid_frame_create.
braid_status braid_exec_allocate_arenas(braid_exec *exec, struct frame_slot *slot);
braid_status braid_exec_create_frame(braid_exec *exec, struct frame_slot *slot, uint64_t number);
void braid_exec_free_arenas(const braid_exec *exec, struct frame_slot *slot);

// Has info say what a plan and all arenas take.
void braid_exec_tell_memory(braid_exec *exec, const struct memory_info *plan);

#endif
