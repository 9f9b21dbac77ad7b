// SPDX-License-Identifier: Apache-2.0
// The walk that proves a program right.
#ifndef BRAID_VERIFY_H
#define BRAID_VERIFY_H

#include <stdbool.h>
#include <stddef.h>

#include <braid/schedule.h>

#include "graph/placed.h"
#include "memory/memory_plan.h"
#include "plan/program.h"

// What clocks may take in one walk: 256 MiB and what counts their users.
#define VERIFY_MOST_WORDS ((size_t)1 << 26)

// Proves the order of a program's operations in so many frames, of a graph that has the nodes of
// all, and of a memory plan unless it is NULL, with clocks of at most so many words in a walk,
// unless it looks at the fewest lanes.
braid_status braid_verify_steps(const struct program *program, const braid_graph *graph,
                                const struct memory_plan *memory_plan, uint32_t num_frames,
                                size_t most_words);

// Proves, independently of the placer, that what was placed does what the graph says, in every
// order that keeps what the placed graph orders: each node is at its place with the memory there,
// every access that needs data finds the last write before it, and at the end homes have all of
// them. Errors: BRAID_INTERNAL (the message names the node, and what it would read),
// BRAID_NO_MEMORY.
braid_status braid_verify_placed(const struct placed *placed, const braid_graph *graph);

#endif
