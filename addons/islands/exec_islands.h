// SPDX-License-Identifier: Apache-2.0
// Dividing an exec's plan into islands.
#ifndef BRAID_ISLANDS_EXEC_ISLANDS_H
#define BRAID_ISLANDS_EXEC_ISLANDS_H

#include "exec/exec.h"

// Divides the exec's schedule for a player, unless that or the options have no islands.
// Errors: BRAID_NO_MEMORY.
braid_status braid_exec_divide(braid_exec *exec, const braid_exec_options *options,
                               const struct player *player);

// Plans the exec as one island of a player's. Errors: of braid_schedule_create.
braid_status braid_exec_plan_island(braid_exec *exec, const braid_graph *graph,
                                    const braid_exec_options *options, const struct player *player);

// The player whose plan of the whole graph as one island is shortest; with a schedule of the
// program's any. The device has such players. Errors: BRAID_NO_MEMORY.
braid_status braid_exec_find_island(const braid_exec *exec, const braid_graph *graph,
                                    const braid_exec_options *options,
                                    const struct player **out_player);

// The same if all of the graph can be inside and has costs, and one island is expected to be
// clearly shorter. It must be at least 3 % shorter than the best of the other ways (1 % with 256
// nodes or more). Otherwise NULL. Errors: BRAID_NO_MEMORY.
braid_status braid_exec_prefers_island(const braid_exec *exec, const braid_graph *graph,
                                       const braid_exec_options *options,
                                       const struct player **out_player);

// Whether each call of an exec that is one island has the room of a lane to itself.
// Errors: BRAID_NO_MEMORY.
braid_status braid_exec_has_lone_calls(const braid_exec *exec, bool *out_has);

#endif
