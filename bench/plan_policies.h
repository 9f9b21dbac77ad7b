// SPDX-License-Identifier: Apache-2.0
// Ways in which other systems put nodes on lanes, as policies of a simulator.
#ifndef BRAID_BENCH_PLAN_POLICIES_H
#define BRAID_BENCH_PLAN_POLICIES_H

#include "plan/plan_costs.h"
#include "plan/plan_graph.h"

// A placement: a lane for each unit, and an order of issue in which every edge goes forward.
struct policy_placement {
    uint32_t num_lanes;
    uint32_t *lane_of, *issued;
};

typedef void policy_function(const struct plan_graph *plan, uint32_t num_lanes,
                             struct policy_placement *placement);

struct policy {
    const char *name;
    policy_function *place;
};

extern const struct policy policies[];
extern const size_t num_policies;

// What a placement comes to: its makespan with free waits, how many edges cross lanes, how many of
// these are left by a cache of the latest wait of each lane for each other, the fewest waits, and
// how many units are waited for in each case.
struct policy_result {
    uint64_t makespan_ns;
    uint64_t crossing, cached, fewest;
    uint64_t crossing_events, cached_events, fewest_events;
};

struct policy_result policy_simulate(const struct plan_graph *plan, const struct plan_costs *costs,
                                     const struct policy_placement *placement);

#endif
