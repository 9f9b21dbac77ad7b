// SPDX-License-Identifier: Apache-2.0
// A maximum matching of units with a next unit each: the fewest chains that edges can make.
#ifndef BRAID_PLAN_MATCH_H
#define BRAID_PLAN_MATCH_H

#include "plan/plan_graph.h"

// Matches units along edges that are not implied, each with at most one predecessor and one
// successor. Units with one lane hint are matched with each other first. before[unit] is the unit
// it follows, or PLAN_NONE. Hopcroft and Karp's algorithm: at most sqrt(n) rounds over all edges.
// Errors: BRAID_NO_MEMORY.
braid_status braid_plan_match(const struct plan_graph *plan, const bool *implied,
                              uint32_t **out_before);

#endif
