// SPDX-License-Identifier: Apache-2.0
// Orders of list schedulers, from which the search for a plan starts.
#ifndef BRAID_PLAN_PLAN_STARTS_H
#define BRAID_PLAN_PLAN_STARTS_H

#include "plan/plan_gaps.h"

// Into gaps; and passes in all modes, by two keys, with two choices of lanes.
#define NUM_PLAN_STARTS (NUM_GAPS_ORDERS + 4 * NUM_PASS_MODES)

// The first start for a graph.
uint32_t braid_plan_first_start(const struct plan_pass *pass);

// Prepares a pass forward, whose pins are those of hints. Errors: BRAID_NO_MEMORY.
braid_status braid_plan_start(struct plan_pass *pass, uint32_t start);

#endif
