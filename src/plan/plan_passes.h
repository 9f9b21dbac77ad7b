// SPDX-License-Identifier: Apache-2.0
// The passes of the planner: how each is called, in rising order.
#ifndef BRAID_PLAN_PASSES_H
#define BRAID_PLAN_PASSES_H

#include "plan/plan_costs.h"
#include "plan/plan_graph.h"
#include "plan/plan_pass.h"
#include "plan/plan_placement.h"
#include "plan/schedule.h"

// Plans a schedule whose graph and options are set. `inside`: as one island; NULL: not. On failure
// the arrays made so far stay in the schedule. Errors: BRAID_INVALID_ARGUMENT (times beyond 64
// bits), BRAID_NO_MEMORY.
braid_status braid_plan_passes(struct braid_schedule *schedule, const braid_graph *graph,
                               const struct plan_inside *inside);

// Up to so many lanes. If the lanes' knowledge of each other would take too much memory, `or_fewer`
// says whether fewer are taken instead. A placement that is certain to have a longer makespan than
// give_up_ns is given up. `is_apart`: units that the graph leaves free get different lanes.
struct plan_limits {
    uint32_t max_lanes;
    bool or_fewer;
    uint64_t give_up_ns;
    bool is_apart;
};

// List scheduling: whenever a lane is idle, the ready unit of the lowest rank starts. It takes the
// idle lane where it starts first and needs the fewest waits. Time is O(m + n (K + log n)), where K
// counts idle lanes only.
//
// Let S be the lane orders. The waits that add no ordering beyond the graph and S have a unique
// minimum. It is the cross-lane edges of the transitive reduction of the graph and S together.
// These are the waits found here. Errors: BRAID_NO_MEMORY.
braid_status braid_plan_list(const struct plan_graph *plan, const struct plan_costs *costs,
                             const struct plan_ranks *ranks, const struct plan_limits *limits,
                             struct plan_placement *out_placement);

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

// Whether a graph is small, on one place, and has neither bundles nor hints, nor nodes of no time.
bool braid_plan_is_exact(const struct plan_graph *plan, const struct plan_costs *costs);

// So many visits look at all plans of nearly all graphs of up to 11 units beside which others may
// run. A larger graph gets a sixth of them, and a visit takes longer the more lanes there are.
uint32_t braid_plan_exact_visits(uint32_t num_free, uint32_t num_lanes);

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

// Places the graph within the limits, or gives it up. A graph of limited size is not given up, and
// its plan is improved as far as every plan can afford. This takes forward-backward improvement of
// it and of other orders, and some steps of search. So it is never longer than by list scheduling,
// and is the same on every machine. Errors: BRAID_NO_MEMORY.
braid_status braid_plan_try(struct plan_tries *tries, const struct plan_limits *limits,
                            struct plan_placement *out_placement);

// No makespan on that many lanes is shorter.
uint64_t braid_plan_lower_bound(const struct plan_costs *costs, uint32_t num_lanes);

// The most lanes that the options and the graph allow.
uint32_t braid_plan_lane_limit(const struct plan_graph *plan, const struct plan_costs *costs,
                               const struct plan_options *options);

// Places the graph on the number of lanes that the cost model predicts to be best. On a tie or a
// small gain these are the fewest; if the gain over one lane is small, it is one lane. Errors:
// BRAID_NO_MEMORY.
braid_status braid_plan_best(const struct plan_graph *plan, const struct plan_costs *costs,
                             const struct plan_options *options,
                             struct plan_placement *out_placement);

#endif
