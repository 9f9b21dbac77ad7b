// SPDX-License-Identifier: Apache-2.0
// Event-driven list scheduling. Time jumps from one end of a node to the next. At each, all nodes
// that ended release their successors. Then idle lanes are filled from the ready units.

#include "base/big_memory.h"
#include "base/host_memory.h"
#include "base/store.h"
#include "plan/plan_heap.h"
#include "plan/plan_passes.h"
#include "plan/plan_waits.h"

// The search runs such a function for each node or lane of a big graph.
#define INLINED static inline __attribute__((always_inline))

struct lane {
    uint32_t tail; // the last node placed on it; it is idle when that has ended
    uint8_t at;    // its place
    bool idle;
    uint64_t free_ns;         // when the tail ends
    struct plan_heap waiting; // ready units whose hint names this lane, by rank
};

struct inputs {
    // Predecessors of its nodes that still hold up its start; then the round it became ready in.
    uint32_t left;
    uint32_t latest; // 1 + issue of the latest of those that do not
};

// A predecessor that the unit at hand has to ask for, if its order is not known.
struct plan_ask {
    uint32_t lane, issue;
    uint64_t seen_ns; // when a unit that waits for it may start
};

// A place of the lister, which is a device, and the units that run there now.
struct site {
    uint32_t num_lanes, num_idle;
    uint32_t share;            // the part of the device that running units have taken
    struct plan_bits ready;    // ranks
    struct plan_bits sleepers; // ranks of ready units that take no place; where there are such
    uint32_t num_sleeping;     // lanes that run one of them
    struct plan_bits idle;     // lanes used before and idle now
    uint32_t num_left_idle;    // lanes, when the round before this ended
};

struct lister {
    const struct plan_graph *plan;
    const struct plan_costs *costs;
    const struct plan_ranks *ranks;
    struct plan_placement *out;
    uint32_t max_lanes; // on each site
    bool is_apart;      // as in struct plan_limits
    struct store store; // holds lanes, sites and batch
    struct lane *lanes;
    struct site *sites; // per place
    struct site *here;  // the one whose lanes are filled
    struct plan_waits waits;
    struct array asks;      // struct plan_ask: what the unit or node at hand has to ask for
    struct plan_heap ends;  // nodes placed and not ended, by when they end
    struct plan_heap frees; // units, by when an issued predecessor no longer holds them up
    bool early;             // units start with their first node, whatever later ones wait for
    struct inputs *inputs;  // per unit
    uint32_t *batch;        // units that start now; one for each lane of a site
    uint32_t round;
    uint64_t now_ns;
    uint64_t give_up_ns; // a longer makespan is of no use
    bool gave_up;        // it was certain to be longer
};

// Whether the node asked for is the last one of its lane, and has ended.
static inline bool is_home(const struct lister *lister, const struct plan_ask *ask)
{
    const struct lane *lane = &lister->lanes[ask->lane];
    return lane->idle && lane->tail == lister->waits.issued[ask->issue];
}

// A lane for the unit at hand, and the unit's start and waits there.
struct offer {
    uint32_t lane;
    uint64_t start_ns;
    uint32_t num_waits;
};

// ---- the lane of a unit ----

// Asks, and chooses a lane: where the unit at hand starts first, and of those where it waits least.
// The state that this looks at is made here.

// With many idle lanes only this many are looked at, so that time stays linear.
#define MOST_LANES_TRIED 128

// Adds the asks of a node to the list. If a node stands some time behind the start of its unit, the
// unit may start that much before the answer.
INLINED bool add_asks(struct lister *lister, uint32_t node, uint32_t latest, uint64_t offset_ns)
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

// Fills the asks of a node, which is then the one at hand; or those of all nodes of a unit. All
// predecessors are placed. `latest` is that of the unit's inputs. False when memory runs out.
static bool plan_ask_node(struct lister *lister, uint32_t node, uint32_t latest)
{
    lister->asks.num = 0;
    return add_asks(lister, node, latest, 0);
}

static bool plan_ask_unit(struct lister *lister, uint32_t unit)
{
    const struct plan_graph *plan = lister->plan;
    uint32_t latest = lister->inputs[unit].latest;
    if (plan_unit_size(plan, unit) == 1 || lister->is_apart)
        return plan_ask_node(lister, plan_first_member(plan, unit), latest);
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

INLINED void add_waits(const struct lister *lister, struct offer *offer)
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

// The earliest start wins, then the fewest waits. A lane that would lose if it had only the waits
// of `least` is not looked at further.
INLINED void consider(const struct lister *lister, uint32_t lane, const struct offer *least,
                      struct offer *best)
{
    struct offer offer = { lane, earliest_on(lister, lane, least->num_waits), least->num_waits };
    offer.start_ns = offer.start_ns > least->start_ns ? offer.start_ns : least->start_ns;
    if (!is_better(lister, &offer, best))
        return;
    if (least->num_waits < lister->asks.num) {
        offer = (struct offer){ .lane = lane, .start_ns = earliest_on(lister, lane, false) };
        add_waits(lister, &offer);
    }
    if (is_better(lister, &offer, best))
        *best = offer;
}

// At least so long and so often a unit waits on a lane with none of the nodes that it asks for.
static struct offer least_elsewhere(const struct lister *lister)
{
    struct offer least = { .lane = lister->out->num_lanes, .start_ns = lister->now_ns };
    const struct plan_ask *asks = lister->asks.items;
    for (size_t i = 0; i < lister->asks.num; i++) {
        if (!plan_is_fresh(&lister->waits, asks[i].lane, asks[i].issue))
            continue;
        least.num_waits++;
        least.start_ns = asks[i].seen_ns > least.start_ns ? asks[i].seen_ns : least.start_ns;
    }
    return least;
}

static void consider_idle(const struct lister *lister, const struct offer *least,
                          struct offer *best)
{
    const struct plan_bits *idle = &lister->here->idle;
    uint32_t num_words = (lister->out->num_lanes + 63) / 64, num_tried = 0;
    for (uint32_t w = 0; w < num_words; w++) {
        for (uint64_t bits = idle->level[0][w]; bits; bits &= bits - 1) {
            if (num_tried++ == MOST_LANES_TRIED)
                return;
            consider(lister, w * 64 + (uint32_t)__builtin_ctzll(bits), least, best);
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

// The lane for the unit asked for.
// Looks at the lanes of the unit's asks, at the other idle ones, and at a new one. A busy lane is
// worth queueing on if a wait would take longer than its last unit. If free units stay apart, only
// a lane that ends with a predecessor of the unit's first node will do, or else a new one.
static struct offer plan_choose_lane(const struct lister *lister)
{
    struct offer best = { .lane = lister->out->num_lanes, .start_ns = UINT64_MAX };
    bool queue = lister->costs->model.wait_ns > 0;
    const struct plan_ask *asks = lister->asks.items;
    for (size_t i = 0; i < lister->asks.num; i++) {
        uint32_t lane = asks[i].lane;
        if (&lister->sites[lister->lanes[lane].at] == lister->here &&
            (lister->is_apart ? may_follow(lister, &asks[i]) : lister->lanes[lane].idle || queue))
            consider(lister, lane, &(struct offer){ 0 }, &best);
    }
    const struct offer least = least_elsewhere(lister);
    if (!lister->is_apart && !is_better(lister, &best, &least))
        consider_idle(lister, &least, &best);
    bool has_lane = lister->is_apart && best.start_ns != UINT64_MAX;
    if (!has_lane && lister->here->num_lanes < lister->max_lanes)
        consider(lister, lister->out->num_lanes, &least, &best);
    return best;
}

// When the node at hand would start on a lane.
static uint64_t plan_start_on(const struct lister *lister, uint32_t lane)
{
    struct offer offer = { .lane = lane, .start_ns = earliest_on(lister, lane, false) };
    add_waits(lister, &offer);
    return offer.start_ns;
}

static bool allocate_sites(struct lister *lister, size_t num_lanes)
{
    uint32_t num_units = lister->plan->num_units, num = lister->plan->num_places;
    lister->sites = braid_store_take(&lister->store, num, sizeof(*lister->sites));
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

// Makes the room that the members already set ask for. After a failure, too, the second function
// frees it. False: no memory, or clocks that take too much (plan_waits.h).
static bool plan_lister_allocate(struct lister *lister)
{
    size_t num_lanes = (size_t)lister->max_lanes * lister->plan->num_places;
    struct plan_placement *out = lister->out;
    lister->inputs = plan_allocate(lister->plan->num_units, sizeof(*lister->inputs));
    lister->lanes = braid_store_take(&lister->store, num_lanes, sizeof(*lister->lanes));
    lister->batch = braid_store_take(&lister->store, lister->max_lanes, sizeof(*lister->batch));
    return braid_plan_placement_init(lister->plan, out) && allocate_sites(lister, num_lanes) &&
           lister->inputs && !lister->store.failed &&
           braid_plan_waits_init(&lister->waits, lister->plan, (uint32_t)num_lanes, out->issued);
}

static void plan_lister_finish(struct lister *lister)
{
    uint32_t num_lanes = lister->max_lanes * lister->plan->num_places;
    for (uint32_t i = 0; lister->lanes && i < num_lanes; i++)
        braid_array_finish(&lister->lanes[i].waiting.items);
    for (uint32_t i = 0; lister->sites && i < lister->plan->num_places; i++) {
        plan_bits_finish(&lister->sites[i].ready);
        plan_bits_finish(&lister->sites[i].sleepers);
        plan_bits_finish(&lister->sites[i].idle);
    }
    braid_plan_waits_finish(&lister->waits);
    braid_array_finish(&lister->ends.items);
    braid_array_finish(&lister->frees.items);
    braid_array_finish(&lister->asks);
    braid_free(lister->inputs);
    braid_store_finish(&lister->store);
}

// ---- the units that run at each place, and the next ready unit that may start there ----

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
    if (taken == 0)
        return &here->ready;
    uint32_t unit = lister->ranks->unit_at[plan_bits_lowest(&here->ready)];
    return taken + share_of(lister, unit) <= PLAN_WHOLE_DEVICE ? &here->ready : NULL;
}

// Planning a big graph waits for memory most of the time, since nodes come in no order. So the
// memory of later units is fetched ahead. gcc leaves out calls that only fetch, unless they are
// inlined.
INLINED void fetch_unit(const struct lister *lister, uint32_t rank)
{
    uint32_t unit = lister->ranks->unit_at[rank], node = plan_first_member(lister->plan, unit);
    __builtin_prefetch(&lister->inputs[unit]);
    __builtin_prefetch(&lister->plan->pred_first[node]);
    __builtin_prefetch(&lister->plan->succ_first[node]);
    __builtin_prefetch(&lister->costs->node_ns[node]);
    __builtin_prefetch(&lister->waits.spots[node], 1);
    __builtin_prefetch(&lister->out->lane_of[node], 1);
    __builtin_prefetch(&lister->out->start_ns[node], 1);
}

// That of the unit behind the next one: one ahead is too late.
INLINED void fetch_next(const struct lister *lister, const struct plan_bits *ready, uint32_t rank)
{
    uint32_t next = plan_bits_next(ready, rank + 1);
    uint32_t after = next == UINT32_MAX ? next : plan_bits_next(ready, next + 1);
    if (after != UINT32_MAX)
        fetch_unit(lister, after);
}

INLINED void fetch_successors(const struct lister *lister, uint32_t node)
{
    __builtin_prefetch(&lister->plan->succ_nodes[lister->plan->succ_first[node]]);
}

// Its successors were fetched when it was placed.
INLINED void fetch_next_end(const struct lister *lister)
{
    const struct plan_graph *plan = lister->plan;
    const struct plan_heap_item *next = plan_heap_first(&lister->ends);
    for (uint32_t e = next ? plan->succ_first[next->value] : 0;
         next && e < plan->succ_first[next->value + 1]; e++) {
        uint32_t unit = plan_unit_of(plan, plan->succ_nodes[e]);
        __builtin_prefetch(&lister->inputs[unit], 1);
        __builtin_prefetch(&lister->ranks->rank_of[unit]);
    }
}

// ---- the list ----

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
INLINED bool put_node(struct lister *lister, uint32_t node, uint32_t lane, uint64_t start_ns)
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
        done = plan_ask_node(lister, node, lister->inputs[unit].latest) &&
               put_node(lister, node, lane, plan_start_on(lister, lane));
    }
    return done;
}

static bool put_anywhere(struct lister *lister, uint32_t unit)
{
    struct offer offer = plan_choose_lane(lister);
    if (plan_unit_size(lister->plan, unit) == 1)
        return put(lister, unit, offer.lane, offer.start_ns);
    return plan_ask_node(lister, plan_first_member(lister->plan, unit),
                         lister->inputs[unit].latest) &&
           put(lister, unit, offer.lane, plan_start_on(lister, offer.lane));
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
        if (!plan_ask_unit(lister, lister->batch[i]))
            return false;
        if (num > 1 && !has_home(lister))
            lister->batch[num_left++] = lister->batch[i];
        else if (!put_anywhere(lister, lister->batch[i]))
            return false;
    }
    for (uint32_t i = 0; i < num_left; i++) {
        if (!plan_ask_unit(lister, lister->batch[i]) || !put_anywhere(lister, lister->batch[i]))
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
    return plan_ask_node(lister, plan_first_member(plan, unit), lister->inputs[unit].latest) &&
           put(lister, unit, lane, plan_start_on(lister, lane));
}

static bool fill_site(struct lister *lister)
{
    struct starting starting;
    do {
        struct plan_bits *ready;
        starting = (struct starting){ 0 };
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
    } while (starting.num);
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
        done = plan_lister_allocate(&lister) && place_all(&lister);
        for (uint32_t i = 0; done && i < start->plan->num_places; i++)
            out.most_lanes = most_of(out.most_lanes, lister.sites[i].num_lanes);
        plan_lister_finish(&lister);
        // Clocks of 128 lanes or fewer are never too long; see plan_waits.c.
        again = !done && or_fewer && lister.waits.clocks.is_full;
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
    return braid_plan_placement_give(status, &out, out_placement);
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
