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

#endif
