// SPDX-License-Identifier: Apache-2.0
// Event-driven list scheduling. Time jumps from one end of a node to the next; at each, all nodes
// that ended release their successors, then idle lanes are filled from the ready units.
#include "plan/plan_place.h"

#include "plan/plan_choose.h"
#include "plan/plan_sites.h"
#include "plan/plan_sooner.h"
#include "plan/schedule.h"

static bool has_named_lane(const struct place *place, uint32_t unit)
{
    return place->plan->hint_before && place->plan->hint_before[unit] != PLAN_NONE;
}

// A unit queues behind another only where idle lanes were looked at. One that was ready before
// could not start in the round before this: then all lanes were busy, or the device was.
static braid_serialisation_cause why_delayed(const struct place *place, uint32_t unit,
                                             uint32_t lane)
{
    if (has_named_lane(place, unit))
        return BRAID_SERIALISED_BY_HINT;
    if (!place->lanes[lane].idle)
        return BRAID_SERIALISED_BY_WAIT_COST;
    return place->here->num_left_idle ? BRAID_SERIALISED_BY_MAX_CONCURRENT
                                      : BRAID_SERIALISED_BY_LANES;
}

static bool note_delay(struct place *place, uint32_t unit, uint32_t lane)
{
    struct plan_delay *delay = braid_array_append(&place->out->delays, 1, sizeof(*delay));
    if (delay)
        *delay = (struct plan_delay){ place->lanes[lane].tail, plan_first_member(place->plan, unit),
                                      why_delayed(place, unit, lane) };
    return delay;
}

static void add_ready(struct place *place, uint32_t rank)
{
    uint32_t unit = place->ranks->unit_at[rank];
    struct site *site = site_of(place, unit);
    plan_bits_add(sleeps(place, unit) ? &site->sleepers : &site->ready, rank);
}

// Nothing of a unit is held up by this predecessor any more.
static inline void free_unit(struct place *place, uint32_t unit)
{
    struct inputs *inputs = &place->inputs[unit];
    if (--inputs->left)
        return;
    inputs->left = place->round;
    add_ready(place, place->ranks->rank_of[unit]);
}

static bool is_first_member(const struct plan_graph *plan, uint32_t node)
{
    return plan_member_before(plan, node) == PLAN_NONE;
}

// A node that has just been placed lets units start that need it for a later node of theirs: as
// soon as they reach that node no earlier than this one ends, or at once.
static bool free_later_members(struct place *place, uint32_t node, uint64_t end_ns)
{
    const struct plan_graph *plan = place->plan;
    if (!plan->units.members)
        return true;
    for (uint32_t e = plan->succ_first[node]; e < plan->succ_first[node + 1]; e++) {
        uint32_t succ = plan->succ_nodes[e], unit = plan_unit_of(plan, succ);
        if (is_first_member(plan, succ))
            continue;
        struct inputs *inputs = &place->inputs[unit];
        uint32_t issue = place->know.issue_of[node] + 1;
        inputs->latest = issue > inputs->latest ? issue : inputs->latest;
        if (place->early || end_ns <= place->now_ns + place->costs->offset_ns[succ])
            free_unit(place, unit);
        else if (!plan_heap_push(&place->frees, end_ns - place->costs->offset_ns[succ], unit))
            return false;
    }
    return true;
}

// Puts the node at hand on a lane.
static bool put_node(struct place *place, uint32_t node, uint32_t lane, uint64_t start_ns)
{
    struct plan_placement *out = place->out;
    uint64_t end_ns = start_ns + place->costs->node_ns[node];
    place->lanes[lane].tail = node;
    place->lanes[lane].free_ns = end_ns;
    out->lane_of[node] = lane;
    out->start_ns[node] = start_ns;
    if (end_ns > out->makespan_ns)
        out->makespan_ns = end_ns;
    place->gave_up = start_ns + place->costs->bottom_ns[node] > place->give_up_ns;
    if (place->gave_up)
        return false;
    out->wait_first[place->know.num_issued] = (uint32_t)out->waits.num;
    return plan_heap_push(&place->ends, end_ns, node) &&
           braid_plan_know_issue(&place->know, node, lane, &out->waits) &&
           free_later_members(place, node, end_ns);
}

// Puts a unit on a lane, whose first node is the one at hand.
static bool put(struct place *place, uint32_t unit, uint32_t lane, uint64_t start_ns)
{
    const struct plan_graph *plan = place->plan;
    bool first = lane == place->out->num_lanes;
    bool delayed = !first && (place->inputs[unit].left < place->round || !place->lanes[lane].idle);
    if (delayed && !note_delay(place, unit, lane))
        return false;
    set_busy(place, lane);
    place->here->share += share_of(place, unit);
    place->here->num_sleeping += sleeps(place, unit);
    bool done = put_node(place, plan_first_member(plan, unit), lane, start_ns);
    for (uint32_t i = 1; done && i < plan_unit_size(plan, unit); i++) {
        uint32_t node = plan_unit_member(plan, unit, i);
        done = braid_plan_ask_node(place, node, place->inputs[unit].latest) &&
               put_node(place, node, lane, braid_plan_start_on(place, lane));
    }
    return done;
}

static bool put_anywhere(struct place *place, uint32_t unit)
{
    struct offer offer = braid_plan_choose_lane(place);
    if (plan_unit_size(place->plan, unit) == 1)
        return put(place, unit, offer.lane, offer.start_ns);
    return braid_plan_ask_node(place, plan_first_member(place->plan, unit),
                               place->inputs[unit].latest) &&
           put(place, unit, offer.lane, braid_plan_start_on(place, offer.lane));
}

// Whether a lane is idle whose last node is one that the unit at hand has to ask for.
static bool has_home(const struct place *place)
{
    const struct plan_ask *asks = place->asks.items;
    for (size_t i = 0; i < place->asks.num; i++) {
        const struct lane *lane = &place->lanes[asks[i].lane];
        if (lane->idle && lane->tail == place->know.issued[asks[i].issue])
            return true;
    }
    return false;
}

// Of several that start now, units with a home choose first, so that no other takes it.
static bool put_batch(struct place *place, uint32_t num)
{
    uint32_t num_left = 0;
    for (uint32_t i = 0; i < num; i++) {
        if (!braid_plan_ask_unit(place, place->batch[i]))
            return false;
        if (num > 1 && !has_home(place))
            place->batch[num_left++] = place->batch[i];
        else if (!put_anywhere(place, place->batch[i]))
            return false;
    }
    for (uint32_t i = 0; i < num_left; i++) {
        if (!braid_plan_ask_unit(place, place->batch[i]) || !put_anywhere(place, place->batch[i]))
            return false;
    }
    return true;
}

// A unit whose hint names a lane starts there or waits for it. Returns false when memory runs out.
static bool put_hinted(struct place *place, uint32_t unit, uint32_t rank)
{
    const struct plan_graph *plan = place->plan;
    uint32_t lane = place->out->lane_of[plan_first_member(plan, plan->hint_before[unit])];
    if (!place->lanes[lane].idle)
        return plan_heap_push(&place->lanes[lane].waiting, rank, unit);
    return braid_plan_ask_node(place, plan_first_member(plan, unit), place->inputs[unit].latest) &&
           put(place, unit, lane, braid_plan_start_on(place, lane));
}

static bool fill_site(struct place *place)
{
    struct starting none = { 0 };
    while (next_ready(place, &none)) {
        struct starting starting = { 0 };
        struct plan_bits *ready;
        while ((ready = next_ready(place, &starting))) {
            uint32_t rank = plan_bits_lowest(ready);
            uint32_t unit = place->ranks->unit_at[rank];
            plan_bits_remove(ready, rank);
            if (!has_named_lane(place, unit)) {
                place->batch[starting.num++] = unit;
                starting.num_sleeping += sleeps(place, unit);
                starting.share += share_of(place, unit);
            } else if (!put_hinted(place, unit, rank))
                return false;
        }
        if (!put_batch(place, starting.num))
            return false;
    }
    return true;
}

static bool fill_lanes(struct place *place)
{
    bool done = true;
    for (uint32_t i = 0; i < place->plan->num_places && done; i++) {
        place->here = &place->sites[i];
        done = fill_site(place);
    }
    return done;
}

// One predecessor less holds up the start of a unit.
static inline void release_unit(struct place *place, uint32_t unit, uint32_t issue)
{
    struct inputs *inputs = &place->inputs[unit];
    if (issue > inputs->latest)
        inputs->latest = issue;
    free_unit(place, unit);
}

// A node that ended no longer holds up the units that start with a successor of it. Every edge
// passes here: without bundles, a node is its unit, and nothing is asked about them.
static void release_successors(struct place *place, uint32_t node)
{
    const struct plan_graph *plan = place->plan;
    uint32_t issue = place->know.issue_of[node] + 1;
    uint32_t first = plan->succ_first[node], end = plan->succ_first[node + 1];
    for (uint32_t e = first; e < end && !plan->units.members; e++)
        release_unit(place, plan->succ_nodes[e], issue);
    for (uint32_t e = first; e < end && plan->units.members; e++) {
        uint32_t succ = plan->succ_nodes[e];
        if (is_first_member(plan, succ))
            release_unit(place, plan_unit_of(plan, succ), issue);
    }
}

static void end_node(struct place *place, uint32_t node)
{
    const struct plan_graph *plan = place->plan;
    struct lane *lane = &place->lanes[place->out->lane_of[node]];
    release_successors(place, node);
    if (plan_member_after(plan, node) != PLAN_NONE)
        return;
    uint32_t unit = plan_unit_of(plan, node);
    site_of(place, unit)->share -= share_of(place, unit);
    site_of(place, unit)->num_sleeping -= sleeps(place, unit);
    if (lane->tail != node)
        return; // another is queued behind it
    set_idle(place, place->out->lane_of[node]);
    if (plan_heap_first(&lane->waiting))
        add_ready(place, (uint32_t)plan_heap_pop(&lane->waiting).key);
}

static bool is_due(const struct place *place, const struct plan_heap *heap)
{
    return plan_heap_first(heap) && plan_heap_first(heap)->key == place->now_ns;
}

// Lets time go on to the next end, or to where a unit is no longer held up, and lets all happen
// that happens then. What holds up a unit ends later than it no longer does.
static void next_round(struct place *place)
{
    const struct plan_heap_item *end = plan_heap_first(&place->ends);
    const struct plan_heap_item *unit = plan_heap_first(&place->frees);
    place->round++;
    for (uint32_t i = 0; i < place->plan->num_places; i++)
        place->sites[i].num_left_idle = place->sites[i].num_idle;
    place->now_ns = unit && unit->key < end->key ? unit->key : end->key;
    while (is_due(place, &place->frees))
        free_unit(place, plan_heap_pop(&place->frees).value);
    while (is_due(place, &place->ends))
        end_node(place, plan_heap_pop(&place->ends).value);
}

static bool place_all(struct place *place)
{
    const struct plan_graph *plan = place->plan;
    place->round = 1;
    for (uint32_t unit = 0; unit < plan->num_units; unit++) {
        uint32_t num_preds = plan_num_preds(plan, unit);
        place->inputs[unit] = (struct inputs){ .left = num_preds ? num_preds : place->round };
        if (num_preds)
            continue;
        add_ready(place, place->ranks->rank_of[unit]);
    }
    while (fill_lanes(place)) {
        if (!plan_heap_first(&place->ends)) {
            place->out->wait_first[plan->num_nodes] = (uint32_t)place->out->waits.num;
            return true;
        }
        next_round(place);
    }
    return false;
}

// Clocks of 128 lanes or fewer are never too long; see plan_clocks.c.
static bool has_too_many_lanes(const struct place *place)
{
    return place->know.clocks.is_full;
}

static uint32_t most_of(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static braid_status place_once(const struct place *start, bool or_fewer, bool early,
                               struct plan_placement *out_placement)
{
    struct plan_placement out;
    struct place place;
    uint32_t max_lanes = start->max_lanes;
    bool done, again;
    do {
        out = (struct plan_placement){ 0 };
        place = *start;
        place.out = &out;
        place.max_lanes = max_lanes;
        place.early = early;
        if (start->plan->units.members) // how long it really is comes out at the end
            place.give_up_ns = UINT64_MAX;
        done = braid_plan_place_allocate(&place) && place_all(&place);
        for (uint32_t i = 0; done && i < start->plan->num_places; i++)
            out.most_lanes = most_of(out.most_lanes, place.sites[i].num_lanes);
        braid_plan_place_finish(&place);
        again = !done && or_fewer && has_too_many_lanes(&place);
        max_lanes /= 2;
        if (!done)
            braid_plan_placement_finish(&out);
    } while (again);
    if (!done && !place.gave_up)
        return braid_plan_clocks_error(&place.know.clocks, "the placement of a plan");
    if (place.gave_up)
        out = (struct plan_placement){ .given_up = true, .num_placed = place.know.num_issued };
    else if (out.num_lanes > 1)
        out.makespan_ns += (out.num_lanes - 1) * start->costs->model.root_ns;
    braid_status status = BRAID_OK;
    if (!out.given_up && plan_may_start_sooner(start->plan, start->costs, out.num_lanes))
        status = braid_plan_start_sooner(start->plan, start->costs, &out);
    if (status)
        braid_plan_placement_finish(&out);
    else
        *out_placement = out;
    return status;
}

// A unit whose later nodes wait for others may start early and hold its lane idle, for the sake of
// those that wait for its first nodes; or late, and leave the lane to others. Both are tried.
braid_status braid_plan_place(const struct plan_graph *plan, const struct plan_costs *costs,
                              const struct plan_ranks *ranks, const struct plan_limits *limits,
                              struct plan_placement *out_placement)
{
    uint32_t most = limits->max_lanes < plan->num_units ? limits->max_lanes : plan->num_units;
    const struct place start = {
        .plan = plan,
        .costs = costs,
        .ranks = ranks,
        .max_lanes = most ? most : 1,
        .give_up_ns = limits->give_up_ns,
    };
    struct plan_placement late, early;
    braid_status status = place_once(&start, limits->or_fewer, false, &late);
    if (!status && plan->units.members) {
        status = place_once(&start, limits->or_fewer, true, &early);
        if (status)
            braid_plan_placement_finish(&late);
        else
            braid_plan_placement_keep(&late, &early);
    }
    if (!status)
        *out_placement = late;
    return status;
}
