// SPDX-License-Identifier: Apache-2.0
// Event-driven list scheduling. Time jumps from one end of a node to the next. At each, all nodes
// that ended release their successors. Then idle lanes are filled from the ready units.
#include "plan/plan_list.h"

#include "plan/plan_bundle_starts.h"
#include "plan/plan_choose.h"
#include "plan/plan_fetch.h"
#include "plan/plan_sites.h"
#include "plan/schedule.h"

static bool has_named_lane(const struct lister *lister, uint32_t unit)
{
    return lister->plan->hint_before && lister->plan->hint_before[unit] != PLAN_NONE;
}

// A unit queues behind another only where idle lanes were looked at. One that was ready before
// could not start in the round before this: then all lanes were busy, or the device was.
static braid_serialisation_cause why_delayed(const struct lister *lister, uint32_t unit,
                                             uint32_t lane)
{
    if (has_named_lane(lister, unit))
        return BRAID_SERIALISED_BY_HINT;
    if (!lister->lanes[lane].idle)
        return BRAID_SERIALISED_BY_WAIT_COST;
    return lister->here->num_left_idle ? BRAID_SERIALISED_BY_MAX_CONCURRENT
                                       : BRAID_SERIALISED_BY_LANES;
}

static bool note_delay(struct lister *lister, uint32_t unit, uint32_t lane)
{
    struct plan_delay *delay = braid_array_append(&lister->out->delays, 1, sizeof(*delay));
    if (delay)
        *delay =
            (struct plan_delay){ lister->lanes[lane].tail, plan_first_member(lister->plan, unit),
                                 why_delayed(lister, unit, lane) };
    return delay;
}

static void add_ready(struct lister *lister, uint32_t unit)
{
    struct site *site = site_of(lister, unit);
    plan_bits_add(sleeps(lister, unit) ? &site->sleepers : &site->ready,
                  lister->ranks->rank_of[unit]);
}

// Nothing of a unit is held up by this predecessor any more.
static inline void free_unit(struct lister *lister, uint32_t unit)
{
    struct inputs *inputs = &lister->inputs[unit];
    if (--inputs->left)
        return;
    inputs->left = lister->round;
    add_ready(lister, unit);
}

static bool is_first_member(const struct plan_graph *plan, uint32_t node)
{
    return plan_member_before(plan, node) == PLAN_NONE;
}

// A node that has just been placed lets units start that need it for a later node of theirs. They
// start as soon as they reach that node no earlier than this one ends, or at once.
static bool free_later_members(struct lister *lister, uint32_t node, uint64_t end_ns)
{
    const struct plan_graph *plan = lister->plan;
    if (!plan->units.members)
        return true;
    for (uint32_t e = plan->succ_first[node]; e < plan->succ_first[node + 1]; e++) {
        uint32_t succ = plan->succ_nodes[e], unit = plan_unit_of(plan, succ);
        if (is_first_member(plan, succ))
            continue;
        struct inputs *inputs = &lister->inputs[unit];
        uint32_t issue = lister->waits.spots[node].issue + 1;
        inputs->latest = issue > inputs->latest ? issue : inputs->latest;
        if (lister->early || end_ns <= lister->now_ns + lister->costs->offset_ns[succ])
            free_unit(lister, unit);
        else if (!plan_heap_push(&lister->frees, end_ns - lister->costs->offset_ns[succ], unit))
            return false;
    }
    return true;
}

// Puts the node at hand on a lane.
static bool put_node(struct lister *lister, uint32_t node, uint32_t lane, uint64_t start_ns)
{
    struct plan_placement *out = lister->out;
    uint64_t end_ns = start_ns + lister->costs->node_ns[node];
    lister->lanes[lane].tail = node;
    lister->lanes[lane].free_ns = end_ns;
    out->lane_of[node] = lane;
    out->start_ns[node] = start_ns;
    if (end_ns > out->makespan_ns)
        out->makespan_ns = end_ns;
    lister->gave_up = lister->give_up_ns != UINT64_MAX &&
                      start_ns + lister->costs->bottom_ns[node] > lister->give_up_ns;
    if (lister->gave_up)
        return false;
    out->wait_first[lister->waits.num_issued] = (uint32_t)out->waits.num;
    fetch_successors(lister, node);
    return plan_heap_push(&lister->ends, end_ns, node) &&
           braid_plan_waits_issue(&lister->waits, node, lane, &out->waits) &&
           free_later_members(lister, node, end_ns);
}

// Puts a unit on a lane, whose first node is the one at hand.
static bool put(struct lister *lister, uint32_t unit, uint32_t lane, uint64_t start_ns)
{
    const struct plan_graph *plan = lister->plan;
    bool first = lane == lister->out->num_lanes;
    bool delayed = !first &&
                   (lister->inputs[unit].left < lister->round || !lister->lanes[lane].idle) &&
                   (!lister->is_apart || has_named_lane(lister, unit));
    if (delayed && !note_delay(lister, unit, lane))
        return false;
    set_busy(lister, lane);
    lister->here->share += share_of(lister, unit);
    lister->here->num_sleeping += sleeps(lister, unit);
    bool done = put_node(lister, plan_first_member(plan, unit), lane, start_ns);
    for (uint32_t i = 1; done && i < plan_unit_size(plan, unit); i++) {
        uint32_t node = plan_unit_member(plan, unit, i);
        done = braid_plan_ask_node(lister, node, lister->inputs[unit].latest) &&
               put_node(lister, node, lane, braid_plan_start_on(lister, lane));
    }
    return done;
}

static bool put_anywhere(struct lister *lister, uint32_t unit)
{
    struct offer offer = braid_plan_choose_lane(lister);
    if (plan_unit_size(lister->plan, unit) == 1)
        return put(lister, unit, offer.lane, offer.start_ns);
    return braid_plan_ask_node(lister, plan_first_member(lister->plan, unit),
                               lister->inputs[unit].latest) &&
           put(lister, unit, offer.lane, braid_plan_start_on(lister, offer.lane));
}

// Whether a lane is idle whose last node is one that the unit at hand has to ask for.
static bool has_home(const struct lister *lister)
{
    const struct plan_ask *asks = lister->asks.items;
    for (size_t i = 0; i < lister->asks.num; i++) {
        if (is_home(lister, &asks[i]))
            return true;
    }
    return false;
}

// If several units start now, those with a home choose first, so that no other takes it.
static bool put_batch(struct lister *lister, uint32_t num)
{
    uint32_t num_left = 0;
    for (uint32_t i = 0; i < num; i++) {
        if (!braid_plan_ask_unit(lister, lister->batch[i]))
            return false;
        if (num > 1 && !has_home(lister))
            lister->batch[num_left++] = lister->batch[i];
        else if (!put_anywhere(lister, lister->batch[i]))
            return false;
    }
    for (uint32_t i = 0; i < num_left; i++) {
        if (!braid_plan_ask_unit(lister, lister->batch[i]) ||
            !put_anywhere(lister, lister->batch[i]))
            return false;
    }
    return true;
}

// A unit whose hint names a lane starts there or waits for it. Returns false when memory runs out.
static bool put_hinted(struct lister *lister, uint32_t unit, uint32_t rank)
{
    const struct plan_graph *plan = lister->plan;
    uint32_t lane = lister->out->lane_of[plan_first_member(plan, plan->hint_before[unit])];
    if (!lister->lanes[lane].idle)
        return plan_heap_push(&lister->lanes[lane].waiting, rank, unit);
    return braid_plan_ask_node(lister, plan_first_member(plan, unit),
                               lister->inputs[unit].latest) &&
           put(lister, unit, lane, braid_plan_start_on(lister, lane));
}

static bool fill_site(struct lister *lister)
{
    struct starting none = { 0 };
    while (next_ready(lister, &none)) {
        struct starting starting = { 0 };
        struct plan_bits *ready;
        while ((ready = next_ready(lister, &starting))) {
            uint32_t rank = plan_bits_lowest(ready);
            uint32_t unit = lister->ranks->unit_at[rank];
            plan_bits_remove(ready, rank);
            fetch_next(lister, ready, rank);
            if (!has_named_lane(lister, unit)) {
                lister->batch[starting.num++] = unit;
                starting.num_sleeping += sleeps(lister, unit);
                starting.share += share_of(lister, unit);
            } else if (!put_hinted(lister, unit, rank))
                return false;
        }
        if (!put_batch(lister, starting.num))
            return false;
    }
    return true;
}

static bool fill_lanes(struct lister *lister)
{
    bool done = true;
    for (uint32_t i = 0; i < lister->plan->num_places && done; i++) {
        lister->here = &lister->sites[i];
        done = fill_site(lister);
    }
    return done;
}

// One predecessor less holds up the start of a unit.
static inline void release_unit(struct lister *lister, uint32_t unit, uint32_t issue)
{
    struct inputs *inputs = &lister->inputs[unit];
    if (issue > inputs->latest)
        inputs->latest = issue;
    free_unit(lister, unit);
}

// A node that ended no longer holds up the units that start with a successor of it. Every edge
// passes here: without bundles, a node is its unit, and nothing is asked about them.
static void release_successors(struct lister *lister, uint32_t node)
{
    const struct plan_graph *plan = lister->plan;
    uint32_t issue = lister->waits.spots[node].issue + 1;
    uint32_t first = plan->succ_first[node], end = plan->succ_first[node + 1];
    for (uint32_t e = first; e < end && !plan->units.members; e++)
        release_unit(lister, plan->succ_nodes[e], issue);
    for (uint32_t e = first; e < end && plan->units.members; e++) {
        uint32_t succ = plan->succ_nodes[e];
        if (is_first_member(plan, succ))
            release_unit(lister, plan_unit_of(plan, succ), issue);
    }
}

static void end_node(struct lister *lister, uint32_t node)
{
    const struct plan_graph *plan = lister->plan;
    struct lane *lane = &lister->lanes[lister->out->lane_of[node]];
    release_successors(lister, node);
    if (plan_member_after(plan, node) != PLAN_NONE)
        return;
    uint32_t unit = plan_unit_of(plan, node);
    site_of(lister, unit)->share -= share_of(lister, unit);
    site_of(lister, unit)->num_sleeping -= sleeps(lister, unit);
    if (lane->tail != node)
        return; // another is queued behind it
    set_idle(lister, lister->out->lane_of[node]);
    if (plan_heap_first(&lane->waiting))
        add_ready(lister, plan_heap_pop(&lane->waiting).value);
}

static bool is_due(const struct lister *lister, const struct plan_heap *heap)
{
    return plan_heap_first(heap) && plan_heap_first(heap)->key == lister->now_ns;
}

// Lets time go on to the next end, or to where a unit is no longer held up, and handles all events
// of that moment. A predecessor ends later than it stops holding up a unit.
static void next_round(struct lister *lister)
{
    const struct plan_heap_item *end = plan_heap_first(&lister->ends);
    const struct plan_heap_item *unit = plan_heap_first(&lister->frees);
    lister->round++;
    for (uint32_t i = 0; i < lister->plan->num_places; i++)
        lister->sites[i].num_left_idle = lister->sites[i].num_idle;
    lister->now_ns = unit && unit->key < end->key ? unit->key : end->key;
    while (is_due(lister, &lister->frees))
        free_unit(lister, plan_heap_pop(&lister->frees).value);
    while (is_due(lister, &lister->ends)) {
        uint32_t node = plan_heap_pop(&lister->ends).value;
        fetch_next_end(lister);
        end_node(lister, node);
    }
}

static bool place_all(struct lister *lister)
{
    const struct plan_graph *plan = lister->plan;
    lister->round = 1;
    for (uint32_t unit = 0; unit < plan->num_units; unit++) {
        uint32_t num_preds = plan_num_preds(plan, unit);
        lister->inputs[unit] = (struct inputs){ .left = num_preds ? num_preds : lister->round };
        if (num_preds)
            continue;
        add_ready(lister, unit);
    }
    while (fill_lanes(lister)) {
        if (!plan_heap_first(&lister->ends)) {
            lister->out->wait_first[plan->num_nodes] = (uint32_t)lister->out->waits.num;
            return true;
        }
        next_round(lister);
    }
    return false;
}

// Clocks of 128 lanes or fewer are never too long; see plan_clocks.c.
static bool has_too_many_lanes(const struct lister *lister)
{
    return lister->waits.clocks.is_full;
}

static uint32_t most_of(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static braid_status place_once(const struct lister *start, bool or_fewer, bool early,
                               struct plan_placement *out_placement)
{
    struct plan_placement out;
    struct lister lister;
    uint32_t max_lanes = start->max_lanes;
    bool done, again;
    do {
        out = (struct plan_placement){ 0 };
        lister = *start;
        lister.out = &out;
        lister.max_lanes = max_lanes;
        lister.early = early;
        if (start->plan->units.members) // how long it really is comes out at the end
            lister.give_up_ns = UINT64_MAX;
        done = braid_plan_lister_allocate(&lister) && place_all(&lister);
        for (uint32_t i = 0; done && i < start->plan->num_places; i++)
            out.most_lanes = most_of(out.most_lanes, lister.sites[i].num_lanes);
        braid_plan_lister_finish(&lister);
        again = !done && or_fewer && has_too_many_lanes(&lister);
        max_lanes /= 2;
        if (!done)
            braid_plan_placement_finish(&out);
    } while (again);
    if (!done && !lister.gave_up)
        return braid_plan_clocks_error(&lister.waits.clocks, "the placement of a plan");
    if (lister.gave_up)
        out = (struct plan_placement){ .given_up = true, .num_placed = lister.waits.num_issued };
    else if (out.num_lanes > 1)
        out.makespan_ns += (out.num_lanes - 1) * start->costs->model.root_ns;
    braid_status status = BRAID_OK;
    if (!out.given_up && plan_bundles_may_start_sooner(start->plan, start->costs, out.num_lanes))
        status = braid_plan_start_bundles(start->plan, start->costs, &out);
    if (status)
        braid_plan_placement_finish(&out);
    else
        *out_placement = out;
    return status;
}

// A unit whose later nodes wait for others may start early, for the sake of those that wait for its
// first nodes. Then it holds its lane idle. Or it starts late, and leaves the lane to others. Both
// are tried.
braid_status braid_plan_list(const struct plan_graph *plan, const struct plan_costs *costs,
                             const struct plan_ranks *ranks, const struct plan_limits *limits,
                             struct plan_placement *out_placement)
{
    uint32_t most = limits->max_lanes < plan->num_units ? limits->max_lanes : plan->num_units;
    const struct lister start = {
        .plan = plan,
        .costs = costs,
        .ranks = ranks,
        .max_lanes = most ? most : 1,
        .give_up_ns = limits->give_up_ns,
        .is_apart = limits->is_apart,
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
