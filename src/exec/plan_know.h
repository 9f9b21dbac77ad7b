// SPDX-License-Identifier: Apache-2.0
// What each lane knows to have ended, unit by unit in issue order; so which waits a unit needs.
#ifndef BRAID_EXEC_PLAN_KNOW_H
#define BRAID_EXEC_PLAN_KNOW_H

#include "exec/plan_clocks.h"
#include "exec/plan_graph.h"

struct plan_spot {
    uint32_t lane, issue; // issue counts units from 0
    uint32_t version;     // what was known when it started
};

struct plan_know {
    const struct plan_graph *plan;
    struct plan_spot *spots; // per unit issued
    uint32_t num_issued;
    // The predecessors that the unit at hand has to ask for, latest first: at most one a lane, and
    // none that another of them knows to have ended.
    uint32_t *asks;
    uint32_t num_asks;
    struct plan_clocks clocks;
    uint32_t *latest; // per lane, scratch: 1 + issue of the latest predecessor there
    uint32_t *issued; // units in issue order
};

// `issued` is where the units are listed as they are issued, with room for all.
// False when memory runs out.
bool braid_plan_know_init(struct plan_know *know, const struct plan_graph *plan, uint32_t num_lanes,
                          uint32_t *issued);
void braid_plan_know_finish(struct plan_know *know);

// Finds the asks of a unit all of whose predecessors are issued. They do not depend on its lane.
void braid_plan_know_ask(struct plan_know *know, uint32_t unit);

// Issues a unit on a lane: each unit in `waits` is waited for, unless what the lane knows by then
// covers it, and is appended to out_waits. False when memory runs out.
bool braid_plan_know_issue(struct plan_know *know, uint32_t unit, uint32_t lane,
                           const uint32_t *waits, uint32_t num_waits, struct array *out_waits);

// Whether the next unit of a lane would have to wait for `unit`.
static inline bool plan_know_needs_wait(const struct plan_know *know, uint32_t lane, uint32_t unit)
{
    const struct plan_spot *spot = &know->spots[unit];
    return spot->lane != lane &&
           plan_clock(&know->clocks, know->clocks.current[lane])[spot->lane] <= spot->issue;
}

// How many of the asks the next unit of a lane would have to wait for.
static inline uint32_t plan_know_num_waits(const struct plan_know *know, uint32_t lane)
{
    uint32_t num = 0;
    for (uint32_t i = 0; i < know->num_asks; i++)
        num += plan_know_needs_wait(know, lane, know->asks[i]);
    return num;
}

#endif
