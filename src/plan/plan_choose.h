// SPDX-License-Identifier: Apache-2.0
// The lane for a unit that is about to start, and the state of a placement that the choice looks
// at.
#ifndef BRAID_PLAN_CHOOSE_H
#define BRAID_PLAN_CHOOSE_H

#include "plan/plan_bits.h"
#include "plan/plan_heap.h"
#include "plan/plan_know.h"
#include "plan/plan_place.h"

struct lane {
    uint32_t tail; // the last unit placed on it; it is idle when that has ended
    bool idle;
    uint64_t free_ns;         // when the tail ends
    struct plan_heap waiting; // ready units whose hint names this lane, by rank
};

struct inputs {
    uint32_t left;   // predecessors that have not ended; then the round the unit became ready in
    uint32_t latest; // 1 + issue of the latest predecessor that has ended
};

// What the unit at hand has to ask for, where its order is not known.
struct plan_ask {
    uint32_t lane, issue;
    uint64_t seen_ns; // when a lane that waits for it goes on
};

struct place {
    const struct plan_graph *plan;
    const struct plan_costs *costs;
    const struct plan_ranks *ranks;
    struct plan_placement *out;
    uint32_t max_lanes, num_idle;
    uint32_t share; // of the device, taken by the units that run
    struct lane *lanes;
    struct plan_know know;
    struct plan_ask *asks;  // per ask of know
    struct plan_bits ready; // ranks
    struct plan_bits idle;  // lanes used before and idle now
    struct plan_heap ends;  // units placed and not ended, by when they end
    struct inputs *inputs;  // per unit
    uint32_t *batch;        // units that start now; one for each lane
    uint32_t round;
    uint32_t num_left_idle; // lanes, when the round before this ended
    uint64_t now_ns;
};

// A lane for the unit at hand, and what it means there.
struct offer {
    uint32_t lane;
    uint64_t start_ns;
    uint32_t num_waits;
};

struct offer braid_plan_choose_lane(const struct place *place);

// When the unit at hand would start on a lane.
uint64_t braid_plan_start_on(const struct place *place, uint32_t lane);

#endif
