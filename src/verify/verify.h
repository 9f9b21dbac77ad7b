// SPDX-License-Identifier: Apache-2.0
// The walk that proves a plan's program right.
#ifndef BRAID_VERIFY_H
#define BRAID_VERIFY_H

#include <stdbool.h>
#include <stddef.h>

#include <braid/schedule.h>

#include "graph/placed.h"
#include "plan/memory/memory_plan.h"
#include "plan/program.h"

// The most words of clocks in one walk: 256 MiB, and the counts of their users.
#define VERIFY_MOST_WORDS ((size_t)1 << 26)

struct verify_whole; // verify_state.h

// Proves the order of the operations of a plan's program in so many frames. It also proves the
// memory plan unless that is NULL. Clocks take at most most_words words in a walk, unless it looks
// at the fewest lanes.
braid_status braid_verify_region(struct verify_whole *whole, const struct program *program,
                                 const struct memory_plan *memory_plan, uint32_t num_frames,
                                 size_t most_words);
// The same for one region. `graph` has the nodes of all frames.
braid_status braid_verify_steps(const struct program *program, const braid_graph *graph,
                                const struct memory_plan *memory_plan, uint32_t num_frames,
                                size_t most_words);

// Proves a placed graph against the program's, independently of the placer. The proof covers every
// order that keeps the order of the placed graph.
// - Each node is at its place with the memory there.
// - Every access that needs data finds the last write before it.
// - At the end homes have all writes.
//
// Errors: BRAID_INTERNAL (names the node, and the data that it would read), BRAID_NO_MEMORY.
braid_status braid_verify_placed(const struct placed *placed, const braid_graph *graph);

// The proof that the nodes which a plan leaves out may be left out.
// `culled` is the graph that is planned instead of `graph`, or the same. Errors: BRAID_INTERNAL
// (the message names a node that is left out, and who needs it), BRAID_NO_MEMORY.
braid_status braid_verify_left_out(const braid_graph *graph, const braid_graph *culled);

#endif
