// SPDX-License-Identifier: Apache-2.0
// What each lane knows to have ended, unit by unit in issue order; so which waits a unit needs.
#ifndef BRAID_PLAN_KNOW_H
#define BRAID_PLAN_KNOW_H

#include "plan/plan_clocks.h"
#include "plan/plan_graph.h"

struct plan_spot {
    uint32_t lane;
    uint32_t version; // what was known when it started
};

struct plan_know {
    const struct plan_graph *plan;
    uint32_t *issued;        // units in issue order
    uint32_t *issue_of;      // per unit issued its place there
    struct plan_spot *spots; // per unit issued
    uint32_t num_issued;
    // Units issued before this are known to have ended on every lane: they need no asking, and most
    // edges of a big graph come from such, so they are told by issue_of alone.
    uint32_t settled;
    // The predecessors that the unit at hand has to ask for, latest first: at most one a lane, and
    // none that another of them knows to have ended.
    uint32_t *asks;
    uint32_t num_asks;
    bool is_free; // all its predecessors are settled
    struct plan_clocks clocks;
    uint32_t *latest;    // per lane, scratch: 1 + issue of the latest predecessor there
    uint32_t *lane_last; // per lane: 1 + issue of the latest unit
};

// `issued` is where the units are listed as they are issued, with room for all.
// False when memory runs out.
bool braid_plan_know_init(struct plan_know *know, const struct plan_graph *plan, uint32_t num_lanes,
                          uint32_t *issued);
void braid_plan_know_finish(struct plan_know *know);

// Finds the asks of a unit all of whose predecessors are issued. They do not depend on its lane.
// `latest` is at least 1 + the issue of each: where that is settled, nothing is looked at.
void braid_plan_know_ask(struct plan_know *know, uint32_t unit, uint32_t latest);

// Issues the unit asked for last on a lane: each unit in `waits` is waited for, unless what the
// lane knows by then covers it, and is appended to out_waits. False when memory runs out.
bool braid_plan_know_issue(struct plan_know *know, uint32_t unit, uint32_t lane,
                           const uint32_t *waits, uint32_t num_waits, struct array *out_waits);

// One use of what a unit knows has ended; nothing is counted any more for settled units.
static inline void plan_know_drop(struct plan_know *know, uint32_t unit)
{
    if (know->issue_of[unit] >= know->settled)
        plan_clocks_drop(&know->clocks, know->spots[unit].version);
}

// What the next unit of a lane knows without waiting: per lane one more than an issue.
static inline const uint32_t *plan_know_of_lane(const struct plan_know *know, uint32_t lane)
{
    return plan_clock(&know->clocks, know->clocks.current[lane]);
}

// Whether the next unit of a lane would have to wait for `unit`.
static inline bool plan_know_needs_wait(const struct plan_know *know, uint32_t lane, uint32_t unit)
{
    uint32_t other = know->spots[unit].lane;
    return other != lane && plan_know_of_lane(know, lane)[other] <= know->issue_of[unit];
}

#endif
