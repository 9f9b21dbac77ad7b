// SPDX-License-Identifier: Apache-2.0
// The walk that proves a step list right.
#ifndef BRAID_VERIFY_H
#define BRAID_VERIFY_H

#include <stdbool.h>
#include <stddef.h>

#include <braid/schedule.h>

#include "graph/placed.h"
#include "memory/memory_plan.h"

// What clocks may take in one walk: 256 MiB and what counts their users.
#define VERIFY_MOST_WORDS ((size_t)1 << 26)

// braid_schedule_verify of a schedule of this graph, and of a memory plan unless it is NULL, with
// clocks of at most so many words in a walk, unless it looks at the fewest lanes. `ended_at_start`
// tells of nodes without work that have ended when the frame begins; NULL: of none.
braid_status braid_verify_steps(const braid_schedule *schedule, const braid_graph *graph,
                                const struct memory_plan *memory_plan, const bool *ended_at_start,
                                size_t most_words);

// Proves, independently of the placer, that what was placed does what the graph says, in every
// order that keeps what the placed graph orders: each node is at its place with the memory there,
// every access that needs data finds the last write before it, and at the end homes have all of
// them. Errors: BRAID_INTERNAL (the message names the node, and what it would read),
// BRAID_NO_MEMORY.
braid_status braid_verify_placed(const struct placed *placed, const braid_graph *graph);

#endif
