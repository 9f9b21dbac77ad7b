// SPDX-License-Identifier: Apache-2.0
// The walk that proves a step list right.
#ifndef BRAID_VERIFY_H
#define BRAID_VERIFY_H

#include <stddef.h>

#include <braid/memory.h>
#include <braid/schedule.h>

#define VERIFY_MOST_WORDS ((size_t)1 << 26)

// braid_schedule_verify of a schedule of this graph, and of a memory plan unless it is NULL, with
// clocks of at most so many words in a walk, unless it looks at the fewest lanes.
braid_status braid_verify_steps(const braid_schedule *schedule, const braid_graph *graph,
                                const braid_memory_plan *memory_plan, size_t most_words);

#endif
