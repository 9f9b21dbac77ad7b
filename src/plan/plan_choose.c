// SPDX-License-Identifier: Apache-2.0
// Asks, and chooses a lane: where the unit at hand starts first, and of those where it waits least.
// The state that this looks at is made here.
#include "plan/plan_choose.h"

#include <stdlib.h>

#include "base/big_memory.h"

// With many idle lanes only this many are looked at, so that time stays linear.
#define MOST_LANES_TRIED 128

// Adds what a node has to ask for to the list. A unit whose node stands some time behind its start
// may start that much before the answer.
static bool add_asks(struct place *place, uint32_t node, uint32_t latest, uint64_t offset_ns)
{
    struct plan_know *know = &place->know;
    const struct plan_costs *costs = place->costs;
    braid_plan_know_ask(know, node, latest);
    if (know->num_asks == 0)
        return true;
    if (place->asks.capacity - place->asks.num < know->num_asks &&
        !braid_array_reserve(&place->asks, know->num_asks, sizeof(struct plan_ask)))
        return false;
    struct plan_ask *asks = (struct plan_ask *)place->asks.items + place->asks.num;
    place->asks.num += know->num_asks;
    for (uint32_t i = 0; i < know->num_asks; i++) {
        uint32_t pred = know->asks[i];
        asks[i] = (struct plan_ask){ know->spots[pred].lane, know->issue_of[pred], 0 };
        if (!costs->model.wait_ns && !costs->offset_ns)
            continue; // it ended before now; where there are places there are units
        uint32_t at = place->lanes[asks[i].lane].at, here = (uint32_t)(place->here - place->sites);
        uint64_t seen_ns =
            place->out->start_ns[pred] + costs->node_ns[pred] + plan_wait_ns(costs, at, here);
        asks[i].seen_ns = seen_ns > offset_ns ? seen_ns - offset_ns : 0;
    }
    return true;
}

bool braid_plan_ask_node(struct place *place, uint32_t node, uint32_t latest)
{
    place->asks.num = 0;
    return add_asks(place, node, latest, 0);
}

bool braid_plan_ask_unit(struct place *place, uint32_t unit)
{
    const struct plan_graph *plan = place->plan;
    uint32_t latest = place->inputs[unit].latest;
    if (plan_unit_size(plan, unit) == 1)
        return braid_plan_ask_node(place, plan_first_member(plan, unit), latest);
    place->asks.num = 0;
    for (uint32_t i = 0; i < plan_unit_size(plan, unit); i++) {
        uint32_t node = plan_unit_member(plan, unit, i);
        if (!add_asks(place, node, latest, place->costs->offset_ns[node]))
            return false;
    }
    return true;
}

// When a unit could start on a lane if what it waits for there, if anything, has ended.
static uint64_t earliest_on(const struct place *place, uint32_t lane, bool waits)
{
    if (lane == place->out->num_lanes)
        return place->now_ns;
    uint64_t free_ns = place->lanes[lane].free_ns + place->costs->model.node_ns;
    free_ns += waits ? place->costs->wait_busy_ns : 0;
    return free_ns > place->now_ns ? free_ns : place->now_ns;
}

static void add_waits(const struct place *place, struct offer *offer)
{
    const uint32_t *known = plan_know_of_lane(&place->know, offer->lane);
    const struct plan_ask *asks = place->asks.items;
    for (size_t i = 0; i < place->asks.num; i++) {
        const struct plan_ask *ask = &asks[i];
        if (ask->lane == offer->lane || known[ask->lane] > ask->issue)
            continue;
        if (offer->num_waits++ == 0)
            offer->start_ns = earliest_on(place, offer->lane, true);
        if (ask->seen_ns > offer->start_ns)
            offer->start_ns = ask->seen_ns;
    }
}

// Of two lanes where a unit starts as early and waits as often: a new lane, where it comes after
// nothing that the graph does not name; then the lane used last; then the lower one, since lane 0
// need not be joined to what the program does next.
static bool is_better_lane(const struct place *place, uint32_t lane, uint32_t than)
{
    uint32_t new_lane = place->out->num_lanes;
    if (lane == new_lane || than == new_lane)
        return than != new_lane;
    uint64_t free = place->lanes[lane].free_ns, than_free = place->lanes[than].free_ns;
    return free > than_free || (free == than_free && lane < than);
}

static bool is_better(const struct place *place, const struct offer *offer,
                      const struct offer *than)
{
    if (offer->start_ns != than->start_ns)
        return offer->start_ns < than->start_ns;
    if (offer->num_waits != than->num_waits)
        return offer->num_waits < than->num_waits;
    return is_better_lane(place, offer->lane, than->lane);
}

// The earliest start wins, then the fewest waits. A lane that would lose if it had to wait for
// nothing is not looked at further.
static void consider(const struct place *place, uint32_t lane, struct offer *best)
{
    struct offer offer = { .lane = lane, .start_ns = earliest_on(place, lane, false) };
    if (!is_better(place, &offer, best))
        return;
    add_waits(place, &offer);
    if (is_better(place, &offer, best))
        *best = offer;
}

static void consider_idle(const struct place *place, struct offer *best)
{
    const struct plan_bits *idle = &place->here->idle;
    uint32_t num_words = (place->out->num_lanes + 63) / 64, num_tried = 0;
    for (uint32_t w = 0; w < num_words; w++) {
        for (uint64_t bits = idle->level[0][w]; bits; bits &= bits - 1) {
            if (num_tried++ == MOST_LANES_TRIED)
                return;
            consider(place, w * 64 + (uint32_t)__builtin_ctzll(bits), best);
        }
    }
}

// Looks at the lanes of what the unit has to ask for, at the other idle ones, and at a new one. A
// busy lane is worth queueing on where a wait would take longer than its last unit.
struct offer braid_plan_choose_lane(const struct place *place)
{
    struct offer best = { .lane = place->out->num_lanes, .start_ns = UINT64_MAX };
    bool queue = place->costs->model.wait_ns > 0;
    const struct plan_ask *asks = place->asks.items;
    for (size_t i = 0; i < place->asks.num; i++) {
        uint32_t lane = asks[i].lane;
        if (&place->sites[place->lanes[lane].at] == place->here &&
            (place->lanes[lane].idle || queue))
            consider(place, lane, &best);
    }
    consider_idle(place, &best);
    if (place->here->num_lanes < place->max_lanes)
        consider(place, place->out->num_lanes, &best);
    return best;
}

uint64_t braid_plan_start_on(const struct place *place, uint32_t lane)
{
    struct offer offer = { .lane = lane, .start_ns = earliest_on(place, lane, false) };
    add_waits(place, &offer);
    return offer.start_ns;
}

static bool allocate_sites(struct place *place, size_t num_lanes)
{
    uint32_t num_units = place->plan->num_units, num = place->plan->num_places;
    place->sites = calloc(num, sizeof(*place->sites));
    bool done = place->sites;
    for (uint32_t i = 0; i < num && done; i++) {
        struct site *site = &place->sites[i];
        site->num_idle = place->max_lanes;
        done = plan_bits_init(&site->ready, num_units) &&
               (!place->costs->unit_blocks || plan_bits_init(&site->sleepers, num_units)) &&
               plan_bits_init(&site->idle, (uint32_t)num_lanes);
    }
    return done;
}

bool braid_plan_place_allocate(struct place *place)
{
    size_t num = place->plan->num_nodes;
    size_t num_lanes = (size_t)place->max_lanes * place->plan->num_places;
    struct plan_placement *out = place->out;
    out->lane_of = plan_allocate(num, sizeof(*out->lane_of));
    out->start_ns = plan_allocate(num, sizeof(*out->start_ns));
    out->issued = plan_allocate(num, sizeof(*out->issued));
    out->wait_first = plan_allocate(num, sizeof(*out->wait_first));
    place->inputs = plan_allocate(place->plan->num_units, sizeof(*place->inputs));
    place->lanes = calloc(num_lanes, sizeof(*place->lanes));
    place->batch = malloc(place->max_lanes * sizeof(*place->batch));
    return allocate_sites(place, num_lanes) && out->lane_of && out->start_ns && out->issued &&
           out->wait_first && place->inputs && place->lanes && place->batch &&
           braid_plan_know_init(&place->know, place->plan, (uint32_t)num_lanes, out->issued);
}

void braid_plan_place_finish(struct place *place)
{
    uint32_t num_lanes = place->max_lanes * place->plan->num_places;
    for (uint32_t i = 0; place->lanes && i < num_lanes; i++)
        braid_array_finish(&place->lanes[i].waiting.items);
    for (uint32_t i = 0; place->sites && i < place->plan->num_places; i++) {
        plan_bits_finish(&place->sites[i].ready);
        plan_bits_finish(&place->sites[i].sleepers);
        plan_bits_finish(&place->sites[i].idle);
    }
    free(place->sites);
    braid_plan_know_finish(&place->know);
    braid_array_finish(&place->ends.items);
    braid_array_finish(&place->frees.items);
    braid_array_finish(&place->asks);
    free(place->inputs);
    free(place->lanes);
    free(place->batch);
}
