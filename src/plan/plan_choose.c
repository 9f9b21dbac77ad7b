// SPDX-License-Identifier: Apache-2.0
// Asks, and chooses a lane: where the unit at hand starts first, and of those where it waits least.
// The state that this looks at is made here.
#include "plan/plan_choose.h"

#include <stdlib.h>

#include "base/big_memory.h"

// With many idle lanes only this many are looked at, so that time stays linear.
#define MOST_LANES_TRIED 128

// Adds the asks of a node to the list. If a node stands some time behind the start of its unit, the
// unit may start that much before the answer.
static bool add_asks(struct lister *lister, uint32_t node, uint32_t latest, uint64_t offset_ns)
{
    struct plan_waits *waits = &lister->waits;
    const struct plan_costs *costs = lister->costs;
    braid_plan_waits_ask(waits, node, latest);
    if (waits->num_asks == 0)
        return true;
    if (lister->asks.capacity - lister->asks.num < waits->num_asks &&
        !braid_array_reserve(&lister->asks, waits->num_asks, sizeof(struct plan_ask)))
        return false;
    struct plan_ask *asks = (struct plan_ask *)lister->asks.items + lister->asks.num;
    lister->asks.num += waits->num_asks;
    for (uint32_t i = 0; i < waits->num_asks; i++) {
        uint32_t pred = waits->asks[i];
        asks[i] = (struct plan_ask){ waits->spots[pred].lane, waits->spots[pred].issue, 0 };
        if (!costs->model.wait_ns && !costs->offset_ns)
            continue; // it ended before now; where there are places there are units
        uint32_t at = lister->lanes[asks[i].lane].at,
                 here = (uint32_t)(lister->here - lister->sites);
        uint64_t seen_ns =
            lister->out->start_ns[pred] + costs->node_ns[pred] + plan_wait_ns(costs, at, here);
        asks[i].seen_ns = seen_ns > offset_ns ? seen_ns - offset_ns : 0;
    }
    return true;
}

bool braid_plan_ask_node(struct lister *lister, uint32_t node, uint32_t latest)
{
    lister->asks.num = 0;
    return add_asks(lister, node, latest, 0);
}

bool braid_plan_ask_unit(struct lister *lister, uint32_t unit)
{
    const struct plan_graph *plan = lister->plan;
    uint32_t latest = lister->inputs[unit].latest;
    if (plan_unit_size(plan, unit) == 1 || lister->is_apart)
        return braid_plan_ask_node(lister, plan_first_member(plan, unit), latest);
    lister->asks.num = 0;
    for (uint32_t i = 0; i < plan_unit_size(plan, unit); i++) {
        uint32_t node = plan_unit_member(plan, unit, i);
        if (!add_asks(lister, node, latest, lister->costs->offset_ns[node]))
            return false;
    }
    return true;
}

// When a unit could start on a lane if the nodes that it waits for there, if any, have ended.
static uint64_t earliest_on(const struct lister *lister, uint32_t lane, bool waits)
{
    if (lane == lister->out->num_lanes)
        return lister->now_ns;
    uint64_t free_ns = lister->lanes[lane].free_ns + lister->costs->model.node_ns;
    free_ns += waits ? lister->costs->wait_busy_ns : 0;
    return free_ns > lister->now_ns ? free_ns : lister->now_ns;
}

static void add_waits(const struct lister *lister, struct offer *offer)
{
    const uint32_t *known = plan_waits_clock_of_lane(&lister->waits, offer->lane);
    const struct plan_ask *asks = lister->asks.items;
    for (size_t i = 0; i < lister->asks.num; i++) {
        const struct plan_ask *ask = &asks[i];
        if (ask->lane == offer->lane || known[ask->lane] > ask->issue)
            continue;
        if (offer->num_waits++ == 0)
            offer->start_ns = earliest_on(lister, offer->lane, true);
        if (ask->seen_ns > offer->start_ns)
            offer->start_ns = ask->seen_ns;
    }
}

// Compares two lanes on which a unit starts as early and waits as often. A new lane is best, since
// the unit is behind nothing there that the graph does not name. Then comes the lane used last.
// Then comes the lower one, since lane 0 need not be joined to the program's next work.
static bool is_better_lane(const struct lister *lister, uint32_t lane, uint32_t than)
{
    uint32_t new_lane = lister->out->num_lanes;
    if (lane == new_lane || than == new_lane)
        return than != new_lane;
    uint64_t free = lister->lanes[lane].free_ns, than_free = lister->lanes[than].free_ns;
    return free > than_free || (free == than_free && lane < than);
}

static bool is_better(const struct lister *lister, const struct offer *offer,
                      const struct offer *than)
{
    if (offer->start_ns != than->start_ns)
        return offer->start_ns < than->start_ns;
    if (offer->num_waits != than->num_waits)
        return offer->num_waits < than->num_waits;
    return is_better_lane(lister, offer->lane, than->lane);
}

// The earliest start wins, then the fewest waits. A lane that would lose if it had to wait for
// nothing is not looked at further.
static void consider(const struct lister *lister, uint32_t lane, struct offer *best)
{
    struct offer offer = { .lane = lane, .start_ns = earliest_on(lister, lane, false) };
    if (!is_better(lister, &offer, best))
        return;
    add_waits(lister, &offer);
    if (is_better(lister, &offer, best))
        *best = offer;
}

static void consider_idle(const struct lister *lister, struct offer *best)
{
    const struct plan_bits *idle = &lister->here->idle;
    uint32_t num_words = (lister->out->num_lanes + 63) / 64, num_tried = 0;
    for (uint32_t w = 0; w < num_words; w++) {
        for (uint64_t bits = idle->level[0][w]; bits; bits &= bits - 1) {
            if (num_tried++ == MOST_LANES_TRIED)
                return;
            consider(lister, w * 64 + (uint32_t)__builtin_ctzll(bits), best);
        }
    }
}

// Whether the unit at hand may go behind a node that it asks for, if free units stay apart. Only
// units with the same hint go behind a hinted one.
static bool may_follow(const struct lister *lister, const struct plan_ask *ask)
{
    const struct plan_graph *plan = lister->plan;
    uint32_t unit = plan_unit_of(plan, lister->lanes[ask->lane].tail);
    return is_home(lister, ask) && !(plan->hint_of && plan->hint_of[unit]);
}

// Looks at the lanes of the unit's asks, at the other idle ones, and at a new one. A busy lane is
// worth queueing on if a wait would take longer than its last unit. If free units stay apart, only
// a lane that ends with a predecessor of the unit's first node will do, or else a new one.
struct offer braid_plan_choose_lane(const struct lister *lister)
{
    struct offer best = { .lane = lister->out->num_lanes, .start_ns = UINT64_MAX };
    bool queue = lister->costs->model.wait_ns > 0;
    const struct plan_ask *asks = lister->asks.items;
    for (size_t i = 0; i < lister->asks.num; i++) {
        uint32_t lane = asks[i].lane;
        if (&lister->sites[lister->lanes[lane].at] == lister->here &&
            (lister->is_apart ? may_follow(lister, &asks[i]) : lister->lanes[lane].idle || queue))
            consider(lister, lane, &best);
    }
    if (!lister->is_apart)
        consider_idle(lister, &best);
    bool has_lane = lister->is_apart && best.start_ns != UINT64_MAX;
    if (!has_lane && lister->here->num_lanes < lister->max_lanes)
        consider(lister, lister->out->num_lanes, &best);
    return best;
}

uint64_t braid_plan_start_on(const struct lister *lister, uint32_t lane)
{
    struct offer offer = { .lane = lane, .start_ns = earliest_on(lister, lane, false) };
    add_waits(lister, &offer);
    return offer.start_ns;
}

static bool allocate_sites(struct lister *lister, size_t num_lanes)
{
    uint32_t num_units = lister->plan->num_units, num = lister->plan->num_places;
    lister->sites = calloc(num, sizeof(*lister->sites));
    bool done = lister->sites;
    for (uint32_t i = 0; i < num && done; i++) {
        struct site *site = &lister->sites[i];
        site->num_idle = lister->max_lanes;
        done = plan_bits_init(&site->ready, num_units) &&
               (!lister->costs->unit_blocks || plan_bits_init(&site->sleepers, num_units)) &&
               plan_bits_init(&site->idle, (uint32_t)num_lanes);
    }
    return done;
}

bool braid_plan_lister_allocate(struct lister *lister)
{
    size_t num = lister->plan->num_nodes;
    size_t num_lanes = (size_t)lister->max_lanes * lister->plan->num_places;
    struct plan_placement *out = lister->out;
    out->lane_of = plan_allocate(num, sizeof(*out->lane_of));
    out->start_ns = plan_allocate(num, sizeof(*out->start_ns));
    out->issued = plan_allocate(num, sizeof(*out->issued));
    out->wait_first = plan_allocate(num, sizeof(*out->wait_first));
    lister->inputs = plan_allocate(lister->plan->num_units, sizeof(*lister->inputs));
    lister->lanes = calloc(num_lanes, sizeof(*lister->lanes));
    lister->batch = malloc(lister->max_lanes * sizeof(*lister->batch));
    return allocate_sites(lister, num_lanes) && out->lane_of && out->start_ns && out->issued &&
           out->wait_first && lister->inputs && lister->lanes && lister->batch &&
           braid_plan_waits_init(&lister->waits, lister->plan, (uint32_t)num_lanes, out->issued);
}

void braid_plan_lister_finish(struct lister *lister)
{
    uint32_t num_lanes = lister->max_lanes * lister->plan->num_places;
    for (uint32_t i = 0; lister->lanes && i < num_lanes; i++)
        braid_array_finish(&lister->lanes[i].waiting.items);
    for (uint32_t i = 0; lister->sites && i < lister->plan->num_places; i++) {
        plan_bits_finish(&lister->sites[i].ready);
        plan_bits_finish(&lister->sites[i].sleepers);
        plan_bits_finish(&lister->sites[i].idle);
    }
    free(lister->sites);
    braid_plan_waits_finish(&lister->waits);
    braid_array_finish(&lister->ends.items);
    braid_array_finish(&lister->frees.items);
    braid_array_finish(&lister->asks);
    free(lister->inputs);
    free(lister->lanes);
    free(lister->batch);
}
