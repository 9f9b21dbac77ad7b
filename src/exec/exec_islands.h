// SPDX-License-Identifier: Apache-2.0
// The exec's door to islands: its plan divided into islands, or as one.
#ifndef BRAID_EXEC_EXEC_ISLANDS_H
#define BRAID_EXEC_EXEC_ISLANDS_H

#include "exec/exec.h"

// How the whole graph can be one island.
struct island_shape {
    const char *name;
    uint8_t is_island; // its program's
    // The costs of ordering inside, for the planner.
    void (*get_cost_model)(struct backend *backend, braid_cost_model *out_model);
};

struct exec_islands {
    // Gives an exec, whose player makes islands, the shape of the whole graph as one island. Plans
    // it the shortest way, unless the program gave a schedule. If the options leave it open, all of
    // the graph can be inside and has costs. It is then expected to be 3 % shorter than the best of
    // other ways (1 % with 256 nodes or more). Errors: of braid_schedule_create.
    braid_status (*choose)(braid_exec *exec, const braid_graph *graph,
                           const braid_exec_options *options);
    // Divides the exec's schedule for its player, unless that or the options have no islands.
    // Errors: BRAID_NO_MEMORY.
    braid_status (*divide)(braid_exec *exec, const braid_exec_options *options);
};

// NULL: this Braid was built without islands.
extern const struct exec_islands *const braid_exec_islands;

#endif
