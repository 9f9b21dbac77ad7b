// SPDX-License-Identifier: Apache-2.0
// Chooses a lane: where the unit at hand starts first, and of those where it waits least.
#include "plan/plan_choose.h"

// With many idle lanes only this many are looked at, so that time stays linear.
#define MOST_LANES_TRIED 128

// When a unit could start on a lane if it had to wait for nothing there.
static uint64_t earliest_on(const struct place *place, uint32_t lane)
{
    if (lane == place->out->num_lanes)
        return place->now_ns;
    uint64_t free_ns = place->lanes[lane].free_ns + place->costs->model.node_ns;
    return free_ns > place->now_ns ? free_ns : place->now_ns;
}

static void add_waits(const struct place *place, struct offer *offer)
{
    const uint32_t *known = plan_know_of_lane(&place->know, offer->lane);
    for (uint32_t i = 0; i < place->know.num_asks; i++) {
        const struct plan_ask *ask = &place->asks[i];
        if (ask->lane == offer->lane || known[ask->lane] > ask->issue)
            continue;
        offer->num_waits++;
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
    struct offer offer = { .lane = lane, .start_ns = earliest_on(place, lane) };
    if (!is_better(place, &offer, best))
        return;
    add_waits(place, &offer);
    if (is_better(place, &offer, best))
        *best = offer;
}

static void consider_idle(const struct place *place, struct offer *best)
{
    uint32_t num_words = (place->out->num_lanes + 63) / 64, num_tried = 0;
    for (uint32_t w = 0; w < num_words; w++) {
        for (uint64_t bits = place->idle.level[0][w]; bits; bits &= bits - 1) {
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
    for (uint32_t i = 0; i < place->know.num_asks; i++) {
        uint32_t lane = place->asks[i].lane;
        if (place->lanes[lane].idle || queue)
            consider(place, lane, &best);
    }
    consider_idle(place, &best);
    if (place->out->num_lanes < place->max_lanes)
        consider(place, place->out->num_lanes, &best);
    return best;
}

uint64_t braid_plan_start_on(const struct place *place, uint32_t lane)
{
    struct offer offer = { .lane = lane, .start_ns = earliest_on(place, lane) };
    add_waits(place, &offer);
    return offer.start_ns;
}
