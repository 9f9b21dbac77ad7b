// SPDX-License-Identifier: Apache-2.0
// The lane for a unit that is about to start, and the state of a placement that the choice looks
// at.
#ifndef BRAID_PLAN_CHOOSE_H
#define BRAID_PLAN_CHOOSE_H

#include "plan/plan_bits.h"
#include "plan/plan_costs.h"
#include "plan/plan_heap.h"
#include "plan/plan_placement.h"
#include "plan/plan_rank.h"
#include "plan/plan_waits.h"

struct lane {
    uint32_t tail; // the last node placed on it; it is idle when that has ended
    uint8_t at;    // its place
    bool idle;
    uint64_t free_ns;         // when the tail ends
    struct plan_heap waiting; // ready units whose hint names this lane, by rank
};

struct inputs {
    // Predecessors of its nodes that still hold up its start; then the round it became ready in.
    uint32_t left;
    uint32_t latest; // 1 + issue of the latest of those that do not
};

// A predecessor that the unit at hand has to ask for, if its order is not known.
struct plan_ask {
    uint32_t lane, issue;
    uint64_t seen_ns; // when a unit that waits for it may start
};

// A place of the lister, which is a device, and the units that run there now.
struct site {
    uint32_t num_lanes, num_idle;
    uint32_t share;            // the part of the device that running units have taken
    struct plan_bits ready;    // ranks
    struct plan_bits sleepers; // ranks of ready units that take no place; where there are such
    uint32_t num_sleeping;     // lanes that run one of them
    struct plan_bits idle;     // lanes used before and idle now
    uint32_t num_left_idle;    // lanes, when the round before this ended
};

struct lister {
    const struct plan_graph *plan;
    const struct plan_costs *costs;
    const struct plan_ranks *ranks;
    struct plan_placement *out;
    uint32_t max_lanes; // on each site
    bool is_apart;      // as in struct plan_limits
    struct lane *lanes;
    struct site *sites; // per place
    struct site *here;  // the one whose lanes are filled
    struct plan_waits waits;
    struct array asks;      // struct plan_ask: what the unit or node at hand has to ask for
    struct plan_heap ends;  // nodes placed and not ended, by when they end
    struct plan_heap frees; // units, by when an issued predecessor no longer holds them up
    bool early;             // units start with their first node, whatever later ones wait for
    struct inputs *inputs;  // per unit
    uint32_t *batch;        // units that start now; one for each lane of a site
    uint32_t round;
    uint64_t now_ns;
    uint64_t give_up_ns; // a longer makespan is of no use
    bool gave_up;        // it was certain to be longer
};

// Whether the node asked for is the last one of its lane, and has ended.
static inline bool is_home(const struct lister *lister, const struct plan_ask *ask)
{
    const struct lane *lane = &lister->lanes[ask->lane];
    return lane->idle && lane->tail == lister->waits.issued[ask->issue];
}

// A lane for the unit at hand, and the unit's start and waits there.
struct offer {
    uint32_t lane;
    uint64_t start_ns;
    uint32_t num_waits;
};

// Makes the room that the members already set ask for. After a failure, too, the second function
// frees it. False: no memory, or clocks that take too much (plan_clocks.h).
bool braid_plan_lister_allocate(struct lister *lister);
void braid_plan_lister_finish(struct lister *lister);

// Fills the asks of a node, which is then the one at hand; or those of all nodes of a unit. All
// predecessors are placed. `latest` is that of the unit's inputs. False when memory runs out.
bool braid_plan_ask_node(struct lister *lister, uint32_t node, uint32_t latest);
bool braid_plan_ask_unit(struct lister *lister, uint32_t unit);

// The lane for the unit asked for.
struct offer braid_plan_choose_lane(const struct lister *lister);

// When the node at hand would start on a lane.
uint64_t braid_plan_start_on(const struct lister *lister, uint32_t lane);

#endif
