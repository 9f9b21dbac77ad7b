// SPDX-License-Identifier: Apache-2.0
// Placement at maximum concurrency: no lane limit, and the graph orders all nodes of a lane.
#ifndef BRAID_PLAN_CHAINS_H
#define BRAID_PLAN_CHAINS_H

#include "plan/plan_list.h"

// Lanes are the chains of a maximum matching on the transitive reduction. The waits are the edges
// of the reduction less those in the matching. These are the fewest of all placements where
// incomparable units have different lanes. From W. Kwon, G.-I. Yu, E. Jeong, B.-G. Chun: "Nimble:
// Lightweight and Parallel GPU Task Scheduling for Deep Learning", NeurIPS 2020. Errors:
// BRAID_NO_MEMORY.
braid_status braid_plan_chains(const struct plan_graph *plan, const struct plan_costs *costs,
                               struct plan_placement *out_placement);

// A maximum matching: the fewest chains that edges can make.
// Matches units along edges that are not implied, each with at most one predecessor and one
// successor. Units with one lane hint are matched with each other first. before[unit] is the unit
// it follows, or PLAN_NONE. Hopcroft and Karp's algorithm: at most sqrt(n) rounds over all edges.
// Errors: BRAID_NO_MEMORY.
braid_status braid_plan_match(const struct plan_graph *plan, const bool *implied,
                              uint32_t **out_before);

// The transitive reduction: which edges say something that no longer path says.
// For each edge, by its place in pred_nodes, whether the rest implies it. Of edges between the same
// two units all but the first are implied. Takes n * m / 64 steps and 64 bytes a unit.
// Errors: BRAID_NO_MEMORY.
braid_status braid_plan_reduce(const struct plan_graph *plan, bool **out_implied);

#endif
