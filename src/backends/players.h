// SPDX-License-Identifier: Apache-2.0
// The players that there are, and a function of two of them.
#ifndef BRAID_BACKENDS_PLAYERS_H
#define BRAID_BACKENDS_PLAYERS_H

#include "tasks/player.h"

extern const struct player braid_streams_player;                 // on any backend, without loops
extern const struct player braid_cpu_streams_player;             // on the CPU backend: with loops
extern const struct player braid_renewing_streams_player;        // on HIP: with facts of its own
extern const struct player braid_cuda_streams_player;            // on CUDA: likewise
extern const struct player braid_driven_streams_player;          // on CUDA: the host drives loops
extern const struct player braid_renewing_driven_streams_player; // on HIP: likewise
extern const struct player braid_walker_player;                  // on the CPU backend
extern const struct player braid_graph_player;                   // on CUDA

// Behind an iteration of a loop that the host plays, whose writes are seen: notes it, from 1, for
// traps of the body's nodes. Loops inside have noted theirs before.
void braid_players_note_traps(const struct program *body, const struct frame *frame,
                              uint64_t number);

#endif
