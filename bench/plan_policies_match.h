// SPDX-License-Identifier: Apache-2.0
// The chains of Nimble: a maximum matching on the transitive reduction of a graph.
#ifndef BENCH_PLAN_POLICIES_MATCH_H
#define BENCH_PLAN_POLICIES_MATCH_H

#include "plan/plan_graph.h"

// The fewest chains that edges can make (W. Kwon, G.-I. Yu, E. Jeong, B.-G. Chun: "Nimble:
// Lightweight and Parallel GPU Task Scheduling for Deep Learning", NeurIPS 2020). Matches units
// along edges that are not implied, each with at most one predecessor and one successor.
// before[unit] is the unit it follows, or PLAN_NONE. Hopcroft and Karp's algorithm: at most sqrt(n)
// rounds over all edges. Errors: BRAID_NO_MEMORY.
braid_status bench_plan_match(const struct plan_graph *plan, const bool *implied,
                              uint32_t **out_before);

// For each edge, by its place in pred_nodes, whether the rest implies it. Of edges between the same
// two units all but the first are implied. Takes n * m / 64 steps and 64 bytes a unit.
// Errors: BRAID_NO_MEMORY.
braid_status bench_plan_reduce(const struct plan_graph *plan, bool **out_implied);

#endif
