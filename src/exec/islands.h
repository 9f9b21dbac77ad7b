// SPDX-License-Identifier: Apache-2.0
// Dividing an exec's plan into islands.
#ifndef BRAID_EXEC_ISLANDS_H
#define BRAID_EXEC_ISLANDS_H

#include "exec/exec.h"

// Divides the exec's schedule for a player, or takes a division back where the player, or the
// options, have none. A schedule of the program's stays as it is: the exec gets one of its own.
// Errors: BRAID_NO_MEMORY.
braid_status braid_exec_divide(braid_exec *exec, const braid_exec_options *options,
                               const struct player *player);

// The player whose plan of the whole graph as one island is shortest, and how long that is; NULL:
// there is none. With a schedule of the program's the first.
const struct player *braid_exec_find_island(const braid_exec *exec, const braid_graph *graph,
                                            const braid_exec_options *options, uint64_t *out_ns);

// The same where all of the graph is narrow, can be inside and has costs, and the whole is expected
// to be at least 3 % shorter than the best of the other ways; otherwise NULL. Errors:
// BRAID_NO_MEMORY.
braid_status braid_exec_prefers_island(const braid_exec *exec, const braid_graph *graph,
                                       const braid_exec_options *options,
                                       const struct player **out_player);

#endif
