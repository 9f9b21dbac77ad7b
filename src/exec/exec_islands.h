// SPDX-License-Identifier: Apache-2.0
// The exec's door to islands: its plan divided into islands, or as one.
#ifndef BRAID_EXEC_EXEC_ISLANDS_H
#define BRAID_EXEC_EXEC_ISLANDS_H

#include "exec/exec.h"

struct exec_islands {
    // Divides the exec's schedule for a player, unless that or the options have no islands.
    // Errors: BRAID_NO_MEMORY.
    braid_status (*divide)(braid_exec *exec, const braid_exec_options *options,
                           const struct player *player);
    // Plans the exec as one island of a player's. Errors: of braid_schedule_create.
    braid_status (*plan)(braid_exec *exec, const braid_graph *graph,
                         const braid_exec_options *options, const struct player *player);
    // The player whose plan of the whole graph as one island is shortest; with a schedule of the
    // program's any. Some player of the device makes islands. Errors: BRAID_NO_MEMORY.
    braid_status (*find)(const braid_exec *exec, const braid_graph *graph,
                         const braid_exec_options *options, const struct player **out_player);
    // The same if all of the graph can be inside and has costs, and one island is expected to be
    // clearly shorter. It must be at least 3 % shorter than the best of the other ways (1 % with
    // 256 nodes or more). Otherwise NULL. Errors: BRAID_NO_MEMORY.
    braid_status (*prefers)(const braid_exec *exec, const braid_graph *graph,
                            const braid_exec_options *options, const struct player **out_player);
    // Whether each call of an exec that is one island has the room of a lane to itself.
    // Errors: BRAID_NO_MEMORY.
    braid_status (*has_lone_calls)(const braid_exec *exec, bool *out_has);
};

// NULL: this Braid was built without islands.
extern const struct exec_islands *const braid_exec_islands;

#endif
