// SPDX-License-Identifier: Apache-2.0
// The proof of a program: what players play, not only what the planner wrote.
#ifndef BRAID_VERIFY_VERIFY_PROGRAM_H
#define BRAID_VERIFY_VERIFY_PROGRAM_H

#include "memory/memory_plan.h"
#include "program/program.h"

// Proves what braid_schedule_verify proves of a schedule: that every node runs once, that every
// edge and conflicting pair is ordered, and that no wait can block for ever; from the operations
// alone; and that buffers which share bytes in a memory plan, unless that is NULL, are never alive
// at once; and that each island is a stretch of a lane with nothing but tasks.
// Errors: BRAID_INTERNAL (names the first pair that is not ordered), BRAID_NO_MEMORY.
braid_status braid_program_verify(const struct program *program, const braid_graph *graph,
                                  const struct memory_plan *memory);

// Of a program whose frames overlap: that so many frames one after the other, each on lanes of its
// own, order every conflicting pair of accesses but those to transient buffers, which are each
// frame's own. Of which number what holds for them holds for all: see graph/frame_links.c and
// exec/exec_frames.c. Errors: as above.
braid_status braid_program_verify_frames(const struct program *program, const braid_graph *graph,
                                         uint32_t num_frames);

#endif
