// SPDX-License-Identifier: Apache-2.0
// Event-driven list scheduling. Time jumps from one end of a unit to the next; at each, all units
// that ended release their successors, then idle lanes are filled from the ready units.
#include "plan/plan_place.h"

#include "base/big_memory.h"
#include "base/error.h"
#include "plan/plan_choose.h"
#include "plan/schedule.h"

static void set_idle(struct place *place, uint32_t lane)
{
    place->lanes[lane].idle = true;
    place->num_idle++;
    plan_bits_add(&place->idle, lane);
}

static void set_busy(struct place *place, uint32_t lane)
{
    if (lane == place->out->num_lanes) {
        place->out->num_lanes++; // its first unit: it was idle, though not in the set
        place->num_idle--;
    } else if (place->lanes[lane].idle) {
        place->lanes[lane].idle = false;
        place->num_idle--;
        plan_bits_remove(&place->idle, lane);
    }
}

static bool has_named_lane(const struct place *place, uint32_t unit)
{
    return place->plan->hint_before && place->plan->hint_before[unit] != PLAN_NONE;
}

// A unit queues behind another only where idle lanes were looked at. One that was ready before
// could not start in the round before this: then all lanes were busy, or the device was.
static braid_serialisation_cause why_delayed(const struct place *place, uint32_t lane)
{
    if (!place->lanes[lane].idle)
        return BRAID_SERIALISED_BY_WAIT_COST;
    return place->num_left_idle ? BRAID_SERIALISED_BY_MAX_CONCURRENT : BRAID_SERIALISED_BY_LANES;
}

static bool note_delay(struct place *place, uint32_t unit, uint32_t lane)
{
    if (!has_named_lane(place, unit)) {
        struct plan_delayed *slot = braid_array_append(&place->out->delayed, 1, sizeof(*slot));
        if (slot)
            *slot = (struct plan_delayed){ unit, why_delayed(place, lane) };
        return slot;
    }
    struct plan_pair *pair = braid_array_append(&place->out->hinted, 1, sizeof(*pair));
    if (pair)
        *pair = (struct plan_pair){ place->lanes[lane].tail, unit };
    return pair;
}

static uint32_t share_of(const struct place *place, uint32_t unit)
{
    return place->costs->unit_share ? place->costs->unit_share[unit] : 0;
}

// Puts the unit at hand on a lane.
static bool put(struct place *place, uint32_t unit, uint32_t lane, uint64_t start_ns)
{
    struct plan_placement *out = place->out;
    uint64_t end_ns = start_ns + place->costs->unit_ns[unit];
    bool first = lane == out->num_lanes;
    bool delayed = !first && (place->inputs[unit].left < place->round || !place->lanes[lane].idle);
    if (delayed && !note_delay(place, unit, lane))
        return false;
    set_busy(place, lane);
    place->share += share_of(place, unit);
    place->lanes[lane].tail = unit;
    place->lanes[lane].free_ns = end_ns;
    out->lane_of[unit] = lane;
    out->start_ns[unit] = start_ns;
    if (end_ns > out->makespan_ns)
        out->makespan_ns = end_ns;
    out->wait_first[place->know.num_issued] = (uint32_t)out->waits.num;
    return plan_heap_push(&place->ends, end_ns, unit) &&
           braid_plan_know_issue(&place->know, unit, lane, place->know.asks, place->know.num_asks,
                                 &out->waits);
}

static bool put_anywhere(struct place *place, uint32_t unit)
{
    struct offer offer = braid_plan_choose_lane(place);
    return put(place, unit, offer.lane, offer.start_ns);
}

// Whether a lane is idle whose last unit is one that the unit at hand has to ask for.
static bool has_home(const struct place *place)
{
    for (uint32_t i = 0; i < place->know.num_asks; i++) {
        uint32_t ask = place->know.asks[i];
        const struct lane *lane = &place->lanes[place->know.spots[ask].lane];
        if (lane->idle && lane->tail == ask)
            return true;
    }
    return false;
}

static void ask(struct place *place, uint32_t unit)
{
    struct plan_know *know = &place->know;
    uint64_t wait_ns = place->costs->model.wait_ns;
    braid_plan_know_ask(know, unit, place->inputs[unit].latest);
    for (uint32_t i = 0; i < know->num_asks; i++) {
        uint32_t pred = know->asks[i];
        place->asks[i] = (struct plan_ask){ know->spots[pred].lane, know->issue_of[pred], 0 };
        if (wait_ns) // else it ended before now
            place->asks[i].seen_ns =
                place->out->start_ns[pred] + place->costs->unit_ns[pred] + wait_ns;
    }
}

// Of several that start now, units with a home choose first, so that no other takes it.
static bool put_batch(struct place *place, uint32_t num)
{
    uint32_t num_left = 0;
    for (uint32_t i = 0; i < num; i++) {
        ask(place, place->batch[i]);
        if (num > 1 && !has_home(place))
            place->batch[num_left++] = place->batch[i];
        else if (!put_anywhere(place, place->batch[i]))
            return false;
    }
    for (uint32_t i = 0; i < num_left; i++) {
        ask(place, place->batch[i]);
        if (!put_anywhere(place, place->batch[i]))
            return false;
    }
    return true;
}

// A unit whose hint names a lane starts there or waits for it. Returns false when memory runs out.
static bool put_hinted(struct place *place, uint32_t unit, uint32_t rank)
{
    uint32_t lane = place->out->lane_of[place->plan->hint_before[unit]];
    if (!place->lanes[lane].idle)
        return plan_heap_push(&place->lanes[lane].waiting, rank, unit);
    ask(place, unit);
    return put(place, unit, lane, braid_plan_start_on(place, lane));
}

static uint32_t num_startable(const struct place *place)
{
    uint32_t num_busy = place->max_lanes - place->num_idle;
    uint32_t most = place->costs->model.max_concurrent;
    uint32_t room = most > num_busy ? most - num_busy : 0;
    return room < place->num_idle ? room : place->num_idle;
}

// Whether the first of the ready units can start beside the running ones and `num` more that take
// `share` of the device. None overtakes it: a large one would never find room.
static bool next_can_start(const struct place *place, uint32_t num, uint32_t share)
{
    if (plan_bits_empty(&place->ready) || num >= num_startable(place))
        return false;
    uint32_t taken = place->share + share;
    uint32_t unit = place->ranks->unit_at[plan_bits_lowest(&place->ready)];
    return taken == 0 || taken + share_of(place, unit) <= PLAN_WHOLE_DEVICE;
}

static bool fill_lanes(struct place *place)
{
    while (next_can_start(place, 0, 0)) {
        uint32_t num = 0, share = 0;
        while (next_can_start(place, num, share)) {
            uint32_t rank = plan_bits_lowest(&place->ready);
            uint32_t unit = place->ranks->unit_at[rank];
            plan_bits_remove(&place->ready, rank);
            if (!has_named_lane(place, unit)) {
                place->batch[num++] = unit;
                share += share_of(place, unit);
            } else if (!put_hinted(place, unit, rank))
                return false;
        }
        if (!put_batch(place, num))
            return false;
    }
    return true;
}

static void release_successors(struct place *place, uint32_t unit)
{
    const struct plan_graph *plan = place->plan;
    uint32_t issue = place->know.issue_of[unit] + 1;
    for (uint32_t e = plan->succ_first[unit]; e < plan->succ_first[unit + 1]; e++) {
        uint32_t succ = plan->succ_units[e];
        struct inputs *inputs = &place->inputs[succ];
        if (issue > inputs->latest)
            inputs->latest = issue;
        if (--inputs->left)
            continue;
        inputs->left = place->round;
        plan_bits_add(&place->ready, place->ranks->rank_of[succ]);
    }
}

// Lets time go on to the next end, and lets all units end that end then.
static void next_round(struct place *place)
{
    place->round++;
    place->num_left_idle = place->num_idle;
    place->now_ns = plan_heap_first(&place->ends)->key;
    while (plan_heap_first(&place->ends) && plan_heap_first(&place->ends)->key == place->now_ns) {
        uint32_t unit = plan_heap_pop(&place->ends).value;
        struct lane *lane = &place->lanes[place->out->lane_of[unit]];
        place->share -= share_of(place, unit);
        release_successors(place, unit);
        if (lane->tail != unit)
            continue; // another is queued behind it
        set_idle(place, place->out->lane_of[unit]);
        if (plan_heap_first(&lane->waiting))
            plan_bits_add(&place->ready, (uint32_t)plan_heap_pop(&lane->waiting).key);
    }
}

static bool allocate_place(struct place *place)
{
    size_t num = place->plan->num_units;
    struct plan_placement *out = place->out;
    out->lane_of = plan_allocate(num, sizeof(*out->lane_of));
    out->start_ns = plan_allocate(num, sizeof(*out->start_ns));
    out->issued = plan_allocate(num, sizeof(*out->issued));
    out->wait_first = plan_allocate(num, sizeof(*out->wait_first));
    place->inputs = plan_allocate(num, sizeof(*place->inputs));
    place->lanes = calloc(place->max_lanes, sizeof(*place->lanes));
    place->batch = malloc(place->max_lanes * sizeof(*place->batch));
    place->asks = malloc(place->max_lanes * sizeof(*place->asks));
    return plan_bits_init(&place->ready, place->plan->num_units) &&
           plan_bits_init(&place->idle, place->max_lanes) && out->lane_of && out->start_ns &&
           out->issued && out->wait_first && place->inputs && place->lanes && place->batch &&
           place->asks &&
           braid_plan_know_init(&place->know, place->plan, place->max_lanes, out->issued);
}

static void finish_place(struct place *place)
{
    for (uint32_t i = 0; place->lanes && i < place->max_lanes; i++)
        braid_array_finish(&place->lanes[i].waiting.items);
    plan_bits_finish(&place->ready);
    plan_bits_finish(&place->idle);
    braid_plan_know_finish(&place->know);
    braid_array_finish(&place->ends.items);
    free(place->inputs);
    free(place->lanes);
    free(place->batch);
    free(place->asks);
}

static bool place_all(struct place *place)
{
    const struct plan_graph *plan = place->plan;
    place->num_idle = place->max_lanes;
    place->round = 1;
    for (uint32_t unit = 0; unit < plan->num_units; unit++) {
        uint32_t num_preds = plan->pred_first[unit + 1] - plan->pred_first[unit];
        place->inputs[unit] = (struct inputs){ .left = num_preds ? num_preds : place->round };
        if (num_preds)
            continue;
        plan_bits_add(&place->ready, place->ranks->rank_of[unit]);
    }
    while (fill_lanes(place)) {
        if (!plan_heap_first(&place->ends)) {
            place->out->wait_first[plan->num_units] = (uint32_t)place->out->waits.num;
            return true;
        }
        next_round(place);
    }
    return false;
}

braid_status braid_plan_place(const struct plan_graph *plan, const struct plan_costs *costs,
                              const struct plan_ranks *ranks, uint32_t max_lanes,
                              struct plan_placement *out_placement)
{
    uint32_t most = max_lanes < plan->num_units ? max_lanes : plan->num_units;
    struct plan_placement out = { 0 };
    struct place place = {
        .plan = plan,
        .costs = costs,
        .ranks = ranks,
        .out = &out,
        .max_lanes = most ? most : 1,
    };
    bool done = allocate_place(&place) && place_all(&place);
    finish_place(&place);
    if (!done) {
        braid_plan_placement_finish(&out);
        return braid_plan_clocks_error(&place.know.clocks, "the placement of a plan");
    }
    if (out.num_lanes > 1)
        out.makespan_ns += (out.num_lanes - 1) * costs->model.root_ns;
    *out_placement = out;
    return BRAID_OK;
}

void braid_plan_placement_finish(struct plan_placement *placement)
{
    free(placement->lane_of);
    free(placement->start_ns);
    free(placement->issued);
    free(placement->wait_first);
    braid_array_finish(&placement->waits);
    braid_array_finish(&placement->delayed);
    braid_array_finish(&placement->hinted);
    *placement = (struct plan_placement){ 0 };
}
