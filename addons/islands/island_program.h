// SPDX-License-Identifier: Apache-2.0
// A program, or a part of it, as the lists of an island.
#ifndef BRAID_ISLANDS_ISLAND_PROGRAM_H
#define BRAID_ISLANDS_ISLAND_PROGRAM_H

#include "islands/gpu_island.h"
#include "tasks/player.h"

// All lanes of the plan's program. call_of[node] becomes the call of each task that runs, and the
// scope of each loop and branch. Errors: BRAID_NO_MEMORY.
braid_status braid_island_lists_of_program(const struct stage *stage, uint32_t *call_of,
                                           struct island_lists *out_lists);
#endif
