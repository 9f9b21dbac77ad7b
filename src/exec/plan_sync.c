// SPDX-License-Identifier: Apache-2.0
// One pass in issue order. Each lane has a vector clock of what it knows to have ended. A unit asks
// for its predecessors on other lanes, latest first: what the clock covers needs no wait; else the
// wait is kept and the clock of the unit waited for merged in.
//
// Why that is exact: a predecessor p of v is dropped just if p reaches v through the lane
// predecessor of v or through a predecessor issued later than p, which is when the edge is not in
// the transitive reduction; a path from p to v through a predecessor of v passes only units issued
// after p, so latest first never keeps what a later merge would have covered.
//
// Widening: instead of p, wait for the latest unit q of its lane that is planned to end, wait
// included, by the time v starts. The planned times stay, the clock learns more, and later waits
// turn out covered. q was issued before v, so nothing can turn into a circle.
#include "exec/plan_sync.h"

#include "base/error.h"
#include "exec/plan_clocks.h"
#include "exec/plan_heap.h"

struct spot {
    uint32_t lane, issue, version;
};

struct sync {
    const struct plan_graph *plan;
    const struct plan_costs *costs;
    const struct plan_placement *placement;
    struct plan_sync *out;
    struct spot *spots;   // per unit
    uint32_t *latest;     // per lane: 1 + issue of the latest predecessor there of the unit at hand
    struct array touched; // uint32_t: lanes with such
    struct plan_heap asks; // what the unit may wait for, latest first
    struct plan_clocks clocks;
    // Widening only. Lanes as lists of units, how many are issued, and the latest known to have
    // ended by the start of some unit. Versions of units after that one are kept for it.
    uint32_t *lane_first, *lane_units, *num_on_lane, *settled;
};

static uint64_t seen_ns(const struct sync *sync, uint32_t unit)
{
    return sync->placement->start_ns[unit] + sync->costs->unit_ns[unit] +
           sync->costs->model.wait_ns;
}

// The unit to wait for in place of the predecessor `pred` of `unit`.
static uint32_t widen(struct sync *sync, uint32_t unit, uint32_t pred)
{
    uint32_t lane = sync->spots[pred].lane;
    const uint32_t *units = sync->lane_units + sync->lane_first[lane];
    uint32_t at = sync->settled[lane];
    uint64_t start = sync->placement->start_ns[unit];
    while (at + 1 < sync->num_on_lane[lane] && seen_ns(sync, units[at + 1]) <= start) {
        plan_clocks_drop(&sync->clocks, sync->spots[units[at]].version);
        at++;
    }
    sync->settled[lane] = at;
    bool later = sync->spots[units[at]].issue > sync->spots[pred].issue;
    return later && seen_ns(sync, units[at]) <= start ? units[at] : pred;
}

// Collects for each other lane the latest predecessor there; earlier ones are covered by it.
static bool collect_asks(struct sync *sync, uint32_t unit, uint32_t lane)
{
    const struct plan_graph *plan = sync->plan;
    const uint32_t *known = plan_clock(&sync->clocks, sync->clocks.current[lane]);
    for (uint32_t e = plan->pred_first[unit]; e < plan->pred_first[unit + 1]; e++) {
        const struct spot *spot = &sync->spots[plan->pred_units[e]];
        if (spot->lane == lane || known[spot->lane] > spot->issue)
            continue;
        uint32_t *latest = &sync->latest[spot->lane];
        if (!*latest) {
            uint32_t *slot = braid_array_append(&sync->touched, 1, sizeof(*slot));
            if (!slot)
                return false;
            *slot = spot->lane;
        }
        if (spot->issue + 1 > *latest)
            *latest = spot->issue + 1;
    }
    const uint32_t *lanes = sync->touched.items;
    for (size_t i = 0; i < sync->touched.num; i++) {
        uint32_t ask = sync->placement->issued[sync->latest[lanes[i]] - 1];
        sync->latest[lanes[i]] = 0;
        if (sync->settled)
            ask = widen(sync, unit, ask);
        if (!plan_heap_push(&sync->asks, UINT32_MAX - sync->spots[ask].issue, ask))
            return false;
    }
    sync->touched.num = 0;
    return true;
}

static bool keep_wait(struct sync *sync, uint32_t lane, uint32_t ask)
{
    uint32_t *slot = braid_array_append(&sync->out->waits, 1, sizeof(*slot));
    if (!slot || sync->out->waits.num > UINT32_MAX || !braid_plan_clocks_own(&sync->clocks, lane))
        return false;
    *slot = ask;
    const struct spot *spot = &sync->spots[ask];
    braid_plan_clocks_merge(&sync->clocks, lane, spot->version);
    uint32_t *known = plan_clock(&sync->clocks, sync->clocks.current[lane]);
    if (spot->issue + 1 > known[spot->lane])
        known[spot->lane] = spot->issue + 1;
    return true;
}

static bool keep_waits(struct sync *sync, uint32_t lane)
{
    while (plan_heap_first(&sync->asks)) {
        uint32_t ask = plan_heap_pop(&sync->asks).value;
        const uint32_t *known = plan_clock(&sync->clocks, sync->clocks.current[lane]);
        if (known[sync->spots[ask].lane] > sync->spots[ask].issue)
            continue;
        if (!keep_wait(sync, lane, ask))
            return false;
    }
    return true;
}

// The unit is issued: it has a version that its successors will ask for; its predecessors have
// one such less.
static void issue(struct sync *sync, uint32_t unit, uint32_t index, uint32_t lane)
{
    const struct plan_graph *plan = sync->plan;
    uint32_t version = sync->clocks.current[lane];
    uint32_t users = plan->succ_first[unit + 1] - plan->succ_first[unit];
    sync->spots[unit] = (struct spot){ lane, index, version };
    if (sync->settled) {
        users++;
        sync->num_on_lane[lane]++;
    }
    plan_clocks_keep(&sync->clocks, version, users);
    for (uint32_t e = plan->pred_first[unit]; e < plan->pred_first[unit + 1]; e++)
        plan_clocks_drop(&sync->clocks, sync->spots[plan->pred_units[e]].version);
}

static bool list_lanes(struct sync *sync)
{
    const struct plan_placement *placement = sync->placement;
    uint32_t num_lanes = placement->num_lanes, num_units = sync->plan->num_units;
    sync->lane_first = braid_allocate_zeroed((size_t)num_lanes + 2, sizeof(uint32_t));
    sync->lane_units = braid_allocate_zeroed(num_units, sizeof(uint32_t));
    sync->num_on_lane = braid_allocate_zeroed(num_lanes, sizeof(uint32_t));
    sync->settled = braid_allocate_zeroed(num_lanes, sizeof(uint32_t));
    if (!sync->lane_first || !sync->lane_units || !sync->num_on_lane || !sync->settled)
        return false;
    for (uint32_t unit = 0; unit < num_units; unit++)
        sync->lane_first[placement->lane_of[unit] + 2]++;
    for (uint32_t lane = 0; lane < num_lanes; lane++)
        sync->lane_first[lane + 2] += sync->lane_first[lane + 1];
    for (uint32_t i = 0; i < num_units; i++) {
        uint32_t unit = placement->issued[i];
        sync->lane_units[sync->lane_first[placement->lane_of[unit] + 1]++] = unit;
    }
    return true;
}

static bool allocate_sync(struct sync *sync, bool widen)
{
    size_t num_units = sync->plan->num_units;
    sync->out->first = malloc((num_units + 1) * sizeof(uint32_t));
    sync->spots = malloc((num_units + 1) * sizeof(struct spot));
    sync->latest = braid_allocate_zeroed(sync->placement->num_lanes, sizeof(uint32_t));
    return sync->out->first && sync->spots && sync->latest &&
           braid_plan_clocks_init(&sync->clocks, sync->placement->num_lanes) &&
           (!widen || list_lanes(sync));
}

static void finish_sync(struct sync *sync)
{
    free(sync->spots);
    free(sync->latest);
    free(sync->lane_first);
    free(sync->lane_units);
    free(sync->num_on_lane);
    free(sync->settled);
    braid_array_finish(&sync->touched);
    braid_array_finish(&sync->asks.items);
    braid_plan_clocks_finish(&sync->clocks);
}

static bool sync_all(struct sync *sync)
{
    uint32_t num_units = sync->plan->num_units;
    for (uint32_t i = 0; i < num_units; i++) {
        uint32_t unit = sync->placement->issued[i];
        uint32_t lane = sync->placement->lane_of[unit];
        sync->out->first[i] = (uint32_t)sync->out->waits.num;
        if (!collect_asks(sync, unit, lane) || !keep_waits(sync, lane))
            return false;
        issue(sync, unit, i, lane);
    }
    sync->out->first[num_units] = (uint32_t)sync->out->waits.num;
    return true;
}

braid_status braid_plan_sync(const struct plan_graph *plan, const struct plan_costs *costs,
                             const struct plan_placement *placement, bool widen,
                             struct plan_sync *out_sync)
{
    struct plan_sync out = { 0 };
    struct sync sync = { .plan = plan, .costs = costs, .placement = placement, .out = &out };
    bool done = allocate_sync(&sync, widen) && sync_all(&sync);
    finish_sync(&sync);
    if (done) {
        *out_sync = out;
        return BRAID_OK;
    }
    braid_plan_sync_finish(&out);
    return braid_error_no_memory("the waits of a plan");
}

void braid_plan_sync_finish(struct plan_sync *sync)
{
    braid_array_finish(&sync->waits);
    free(sync->first);
    *sync = (struct plan_sync){ 0 };
}
