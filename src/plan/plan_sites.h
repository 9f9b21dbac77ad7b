// SPDX-License-Identifier: Apache-2.0
// The units that run at each place, and the next ready unit that may start there.
#ifndef BRAID_PLAN_SITES_H
#define BRAID_PLAN_SITES_H

#include "plan/plan_choose.h"

static inline struct site *site_of_lane(const struct lister *lister, uint32_t lane)
{
    return &lister->sites[lister->lanes[lane].at];
}

static inline struct site *site_of(const struct lister *lister, uint32_t unit)
{
    return &lister->sites[plan_place_of_unit(lister->plan, unit)];
}

static inline void set_idle(struct lister *lister, uint32_t lane)
{
    lister->lanes[lane].idle = true;
    site_of_lane(lister, lane)->num_idle++;
    plan_bits_add(&site_of_lane(lister, lane)->idle, lane);
}

static inline void set_busy(struct lister *lister, uint32_t lane)
{
    struct site *here = lister->here;
    if (lane == lister->out->num_lanes) {
        lister->out->num_lanes++; // its first unit: it was idle, though not in the set
        lister->lanes[lane].at = (uint8_t)(here - lister->sites);
        here->num_lanes++;
        here->num_idle--;
    } else if (lister->lanes[lane].idle) {
        lister->lanes[lane].idle = false;
        here->num_idle--;
        plan_bits_remove(&here->idle, lane);
    }
}

static inline uint32_t share_of(const struct lister *lister, uint32_t unit)
{
    return lister->costs->unit_share ? lister->costs->unit_share[unit] : 0;
}

static inline bool sleeps(const struct lister *lister, uint32_t unit)
{
    return lister->costs->unit_blocks && lister->costs->unit_blocks[unit];
}

// Units that start now, of which so many sleep, and their share of the device.
struct starting {
    uint32_t num, num_sleeping, share;
};

static inline uint32_t num_startable(const struct lister *lister)
{
    const struct site *here = lister->here;
    uint32_t num_busy = lister->max_lanes - here->num_idle;
    uint32_t num_awake = num_busy > here->num_sleeping ? num_busy - here->num_sleeping : 0;
    uint32_t most = lister->costs->model.max_concurrent;
    return most > num_awake ? most - num_awake : 0;
}

// Where the next of the ready units is that can start beside the running ones and those that start
// now; NULL: there is none. One that sleeps needs no more than a lane. None of the others overtakes
// the first of them: a large one would never find room.
static inline struct plan_bits *next_ready(struct lister *lister, const struct starting *starting)
{
    struct site *here = lister->here;
    if (starting->num >= here->num_idle)
        return NULL;
    if (lister->costs->unit_blocks && !plan_bits_empty(&here->sleepers))
        return &here->sleepers;
    if (plan_bits_empty(&here->ready) ||
        starting->num - starting->num_sleeping >= num_startable(lister))
        return NULL;
    uint32_t taken = here->share + starting->share;
    uint32_t unit = lister->ranks->unit_at[plan_bits_lowest(&here->ready)];
    return taken == 0 || taken + share_of(lister, unit) <= PLAN_WHOLE_DEVICE ? &here->ready : NULL;
}

#endif
