// SPDX-License-Identifier: Apache-2.0
// One pass of serial list scheduling over the units of a graph, forward or backward in time.
//
// The ready unit with the lowest key goes next, on the lane where it starts first. So a lane may
// stay idle beside a ready unit, if a unit that is not ready yet was worth more. In other modes the
// unit goes next that can start first, or whose key and start add up to least. Limits of the device
// beside the number of lanes are not looked at.
#ifndef BRAID_PLAN_PLAN_PASS_H
#define BRAID_PLAN_PLAN_PASS_H

#include <stdint.h>

#include <braid/status.h>

#include "base/store.h"
#include "plan/plan_bits.h"
#include "plan/plan_costs.h"
#include "plan/plan_placement.h"

struct pass_lane {
    uint64_t free_ns;
    uint32_t place;
};

// When a unit may start: that depends on its lane only by the waits that it is spared.
struct arrival {
    uint64_t first_ns;  // after all that it comes after
    uint32_t lane;      // where the last of these runs
    uint64_t second_ns; // after all on other lanes
};

// One more that a unit comes after. PLAN_NONE is the lane before the first.
static inline void plan_arrive(struct arrival *arrival, uint64_t seen_ns, uint32_t lane)
{
    if (lane == arrival->lane || arrival->lane == PLAN_NONE) {
        arrival->lane = lane;
        arrival->first_ns = seen_ns > arrival->first_ns ? seen_ns : arrival->first_ns;
    } else if (seen_ns > arrival->first_ns) {
        arrival->second_ns = arrival->first_ns;
        arrival->first_ns = seen_ns;
        arrival->lane = lane;
    } else if (seen_ns > arrival->second_ns) {
        arrival->second_ns = seen_ns;
    }
}

// Which of the ready units goes next.
enum pass_mode { PASS_BY_KEY, PASS_BY_START, PASS_BY_BOTH, NUM_PASS_MODES };

struct plan_ranks {
    uint32_t *rank_of; // per unit; the lowest goes first
    uint32_t *unit_at; // per rank
};

struct plan_pass {
    const struct plan_graph *plan;
    const struct plan_costs *costs;
    uint32_t max_lanes; // each place's
    bool is_plain;      // units are nodes, and there is one place

    uint64_t *length_ns; // per unit
    uint64_t *keys;      // per unit, set by the caller
    uint32_t *pins;      // per unit, set by the caller: the lane of an earlier pass, or PLAN_NONE
    enum pass_mode mode; // set by the caller
    // Set by the caller: of lanes where a unit starts as early it takes that of the lowest number.
    // Otherwise it takes the one that was idle for the shortest time.
    bool takes_first_lane;

    uint64_t *start_ns; // per unit, from the end of the graph if the pass goes backward
    uint32_t *lane_of;  // per unit
    uint32_t *sequence; // units in the order in which they were placed
    uint32_t num_lanes;
    uint64_t makespan_ns; // with the cost of lanes beyond the first

    struct pass_lane *lanes;
    uint32_t *renamed, *left; // per lane of an earlier pass, per unit
    uint32_t *by_path;        // units, the heaviest path ahead first, if they were put in order
    bool has_path;
    struct store store; // holds the arrays
    struct plan_ranks ranks;
    uint64_t *scratch[2];     // per unit
    struct arrival *arrivals; // per unit; unless it goes by keys
    struct plan_bits ready;   // ranks
};

// False when memory runs out. Nothing is pinned at first; the caller sets the sequence.
bool braid_plan_pass_init(struct plan_pass *pass, const struct plan_graph *plan,
                          const struct plan_costs *costs, uint32_t max_lanes);
void braid_plan_pass_finish(struct plan_pass *pass);

void braid_plan_pass_run(struct plan_pass *pass, bool forward);

// Sets the keys for a pass in the other direction: by the ends of this one, the latest first.
void braid_plan_pass_turn(struct plan_pass *pass);

// Sets the keys so that the heaviest path ahead goes first, with edge_ns for each edge.
void braid_plan_pass_key_by_path(struct plan_pass *pass, uint64_t edge_ns);

// Sets the sequence to that order without waits, so that a pass takes units of equal keys in it.
void braid_plan_pass_order_by_path(struct plan_pass *pass);

// How many units, lanes and edges a pass looks at.
uint64_t braid_plan_pass_visits(const struct plan_graph *plan, uint32_t max_lanes);

// Ranks by ascending key, then by index. Overwrites keys.
// Errors: BRAID_NO_MEMORY.
braid_status braid_plan_ranks_create(uint64_t *keys, uint32_t num, struct plan_ranks *out_ranks);
// Ranks the units in unit_at, whose keys stand in the same order: equal keys keep it. spare_keys
// has as many items, and is overwritten.
void braid_plan_ranks_fill(uint64_t *keys, uint32_t num, uint64_t *spare_keys,
                           struct plan_ranks *ranks);
void braid_plan_ranks_finish(struct plan_ranks *ranks);

// Not if waits cost nothing, or the graph has bundles, hints, several places, or too many units.
bool braid_plan_may_look_ahead(const struct plan_pass *pass);

// Which ready unit goes next: it has the heaviest path ahead with waits (HEFT) or without (ISH).
// Or it has the heaviest path through it (CPOP), or the most successors. AHEAD_PATH looks ahead.
enum ahead_order { AHEAD_WITH_WAITS, AHEAD_PATH, AHEAD_INTO_GAPS, AHEAD_THROUGH, AHEAD_SUCCESSORS };
#define NUM_AHEAD_ORDERS (AHEAD_SUCCESSORS + 1)

// Sets keys and pins of a pass forward that makes this plan.
void braid_plan_look_ahead(struct plan_pass *pass, enum ahead_order order);

#endif
