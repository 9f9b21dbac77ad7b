// SPDX-License-Identifier: Apache-2.0
// Placing a graph on some number of lanes in the best of several orders.
#ifndef BRAID_PLAN_PLAN_LIST_ORDERS_H
#define BRAID_PLAN_PLAN_LIST_ORDERS_H

#include "plan/plan_list.h"

struct plan_tries {
    const struct plan_graph *plan;
    const struct plan_costs *costs;
    // Ready units by the heaviest path ahead, and by level. If by_level has no rank_of, it is not
    // tried, since the graph is too big for it.
    struct plan_ranks by_bottom, by_level;
    // Which of two plans is the shorter one: by makespan, or by the expected time of a frame.
    bool by_makespan;
    uint64_t num_visits; // units and edges that were looked at so far
    uint32_t most_lanes; // more of them than this would have changed nothing in the last try
    uint32_t num_lanes;  // that the last plan used, before it was improved by looking ahead
    bool is_shortest;    // no plan on as many lanes as in the last try, or fewer, is shorter
};

// Errors: BRAID_NO_MEMORY.
braid_status braid_plan_tries_create(const struct plan_graph *plan, const struct plan_costs *costs,
                                     bool by_makespan, struct plan_tries *out_tries);
void braid_plan_tries_finish(struct plan_tries *tries);

// How many units and edges placing the graph so often looks at.
uint64_t braid_plan_visits(const struct plan_graph *plan, uint64_t num_tries);

// How long a plan is.
uint64_t braid_plan_length(const struct plan_tries *tries, const struct plan_placement *placement);

// Places the graph within the limits by list scheduling in the best of several orders, or gives it
// up. Errors: BRAID_NO_MEMORY.
braid_status braid_plan_try_lists(struct plan_tries *tries, const struct plan_limits *limits,
                                  struct plan_placement *out_placement);

// Takes `other` in the place of `best` where it is shorter, or as long with fewer waits; finishes
// the one that is not taken. One given up is never taken.
void braid_plan_keep_shorter(const struct plan_tries *tries, struct plan_placement *best,
                             struct plan_placement *other);

#endif
