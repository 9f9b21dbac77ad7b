// SPDX-License-Identifier: Apache-2.0
// Splitting calls of many blocks over several lanes of an island.
#ifndef BRAID_PLAYERS_ISLAND_ISLAND_SPLIT_H
#define BRAID_PLAYERS_ISLAND_ISLAND_SPLIT_H

#include "backends/gpu/gpu_island_lists.h"

// Gives lanes whose tasks have several parts (backend_task.parts) as many helpers: lanes behind all
// others, which run the further parts. A helper waits until the lane has come to the call, and the
// lane goes on when all parts have ended: in a call of its own right behind the first part. Moves
// what call_of, by node, says. Errors: BRAID_NO_MEMORY; the lists are as they were.
braid_status braid_island_split(struct island_lists *lists, uint32_t *call_of);

#endif
