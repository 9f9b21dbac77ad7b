// SPDX-License-Identifier: Apache-2.0
// The shortest plan of a small graph, by branch and bound.
#ifndef BRAID_PLAN_EXACT_H
#define BRAID_PLAN_EXACT_H

#include "plan/plan_pass.h"

#define PLAN_MOST_EXACT_UNITS 24

// Units with bounds of the times after them, by falling tails.
struct plan_exact_units {
    uint32_t num;
    uint32_t unit_of[PLAN_MOST_EXACT_UNITS];
    uint32_t preds[PLAN_MOST_EXACT_UNITS], succs[PLAN_MOST_EXACT_UNITS]; // sets, a bit a unit
    uint32_t twins[PLAN_MOST_EXACT_UNITS]; // the set of those before it that differ in nothing
    uint64_t length_ns[PLAN_MOST_EXACT_UNITS];
    uint64_t tail_ns[PLAN_MOST_EXACT_UNITS]; // the least time from its start to the end of a plan
};

// Whether a graph is small, on one place, and has neither bundles nor hints, nor nodes of no time.
bool braid_plan_is_exact(const struct plan_graph *plan, const struct plan_costs *costs);

// Finds the facts of such a graph, whose units are its nodes.
void braid_plan_exact_units(const struct plan_graph *plan, const struct plan_costs *costs,
                            struct plan_exact_units *out_units);

// So many visits look at all plans of nearly all graphs of up to 11 units. A larger graph gets a
// sixth of them, and a visit takes longer the more lanes there are.
uint32_t braid_plan_exact_visits(const struct plan_graph *plan, uint32_t num_lanes);

// The task is to find the shortest plan of such a graph that takes less than limit_ns. At most so
// many parts of plans are visited.
struct plan_exact_task {
    const struct plan_graph *plan;
    const struct plan_costs *costs;
    uint32_t max_lanes, most_visits;
    uint64_t limit_ns;
    struct plan_pass *pass; // gets the plan; NULL: the first one found ends the visits
};

enum plan_exact_result {
    PLAN_EXACT_NONE,    // no plan is shorter than the limit
    PLAN_EXACT_FOUND,   // the shortest is found
    PLAN_EXACT_STOPPED, // not all was visited; a shorter plan may be found, and not be the shortest
};

// With STOPPED, too, *out_found tells whether the pass has a plan.
enum plan_exact_result braid_plan_exact(const struct plan_exact_task *task, bool *out_found);

#endif
