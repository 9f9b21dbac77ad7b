// SPDX-License-Identifier: Apache-2.0
// Serial list scheduling, forward or backward.
#include "plan/plan_pass.h"

#include <string.h>

// The direction in which edges are walked.
struct ahead {
    const uint32_t *first, *nodes; // what a node comes after
    const uint32_t *next_first, *next_nodes;
    bool forward;
};

#define MOST_UNITS_COMPARED 64 // unless keys decide: the first by key

// Compiled twice: a plain graph has no bundles, and one place.
#define PLAINLY static inline __attribute__((always_inline))

uint64_t braid_plan_pass_visits(const struct plan_graph *plan, uint32_t max_lanes)
{
    uint64_t lanes = max_lanes < plan->num_units ? max_lanes : plan->num_units;
    return plan->num_edges + plan->num_units * (2 + lanes / 4);
}

static uint64_t unit_length(const struct plan_graph *plan, const struct plan_costs *costs,
                            uint32_t unit)
{
    uint32_t last = plan_last_member(plan, unit);
    return costs->node_ns[last] + (costs->offset_ns ? costs->offset_ns[last] : 0);
}

bool braid_plan_pass_init(struct plan_pass *pass, const struct plan_graph *plan,
                          const struct plan_costs *costs, uint32_t max_lanes)
{
    uint32_t num = plan->num_units;
    size_t num_lanes = (size_t)max_lanes * plan->num_places;
    *pass = (struct plan_pass){ .plan = plan,
                                .costs = costs,
                                .max_lanes = max_lanes,
                                .is_plain = !plan->units.members && plan->num_places == 1 };
    struct store *store = &pass->store;
    pass->length_ns = braid_store_take(store, num, sizeof(uint64_t));
    pass->keys = braid_store_take(store, num, sizeof(uint64_t));
    pass->pins = braid_store_take(store, num, sizeof(uint32_t));
    pass->start_ns = braid_store_take(store, num, sizeof(uint64_t));
    pass->lane_of = braid_store_take(store, num, sizeof(uint32_t));
    pass->sequence = braid_store_take(store, num, sizeof(uint32_t));
    pass->lanes = braid_store_take(store, num_lanes, sizeof(struct pass_lane));
    pass->renamed = braid_store_take(store, num_lanes, sizeof(uint32_t));
    pass->left = braid_store_take(store, num, sizeof(uint32_t));
    pass->by_path = braid_store_take(store, num, sizeof(uint32_t));
    pass->scratch[0] = braid_store_take(store, num, sizeof(uint64_t));
    pass->scratch[1] = braid_store_take(store, num, sizeof(uint64_t));
    pass->ranks.rank_of = braid_store_take(store, num, sizeof(uint32_t));
    pass->ranks.unit_at = braid_store_take(store, num, sizeof(uint32_t));
    pass->arrivals = braid_store_take(store, num, sizeof(struct arrival));
    bool done = plan_bits_init(&pass->ready, num) && !store->failed;
    for (uint32_t unit = 0; done && unit < num; unit++) {
        pass->length_ns[unit] = unit_length(plan, costs, unit);
        pass->pins[unit] = PLAN_NONE;
    }
    return done;
}

void braid_plan_pass_finish(struct plan_pass *pass)
{
    braid_store_finish(&pass->store);
    plan_bits_finish(&pass->ready);
}

// From the start of a unit, in the direction of the pass, to that of a node of it.
static uint64_t offset_of(const struct plan_pass *pass, const struct ahead *ahead, uint32_t node)
{
    if (!pass->costs->offset_ns)
        return 0;
    uint64_t offset = pass->costs->offset_ns[node];
    uint32_t unit = plan_unit_of(pass->plan, node);
    return ahead->forward ? offset : pass->length_ns[unit] - offset - pass->costs->node_ns[node];
}

// Without bundles, on one place.
PLAINLY struct arrival find_plain_arrival(const struct plan_pass *pass, const struct ahead *ahead,
                                          uint32_t node)
{
    struct arrival arrival = { .lane = PLAN_NONE };
    uint64_t wait_ns = pass->costs->model.wait_ns;
    for (uint32_t e = ahead->first[node]; e < ahead->first[node + 1]; e++) {
        uint32_t other = ahead->nodes[e];
        uint64_t end_ns = pass->start_ns[other] + pass->length_ns[other];
        plan_arrive(&arrival, end_ns + wait_ns, pass->lane_of[other]);
    }
    return arrival;
}

PLAINLY struct arrival find_arrival(struct plan_pass *pass, const struct ahead *ahead,
                                    uint32_t unit, bool plain)
{
    if (plain)
        return find_plain_arrival(pass, ahead, unit);
    const struct plan_graph *plan = pass->plan;
    struct arrival arrival = { .lane = PLAN_NONE };
    uint32_t to = plan_place_of_unit(plan, unit);
    for (uint32_t i = 0; i < plan_unit_size(plan, unit); i++) {
        uint32_t node = plan_unit_member(plan, unit, i);
        uint64_t offset = offset_of(pass, ahead, node);
        for (uint32_t e = ahead->first[node]; e < ahead->first[node + 1]; e++) {
            uint32_t other = ahead->nodes[e], of = plan_unit_of(plan, other);
            uint32_t from = plan_place_of_unit(plan, of), lane = pass->lane_of[of];
            uint64_t seen = pass->start_ns[of] + offset_of(pass, ahead, other) +
                            pass->costs->node_ns[other] +
                            (ahead->forward ? plan_wait_ns(pass->costs, from, to)
                                            : plan_wait_ns(pass->costs, to, from));
            plan_arrive(&arrival, seen > offset ? seen - offset : 0, lane);
        }
    }
    return arrival;
}

static uint64_t start_on(const struct plan_pass *pass, const struct arrival *arrival, uint32_t lane)
{
    const struct plan_costs *costs = pass->costs;
    uint64_t seen_ns = lane == arrival->lane ? arrival->second_ns : arrival->first_ns;
    if (lane == pass->num_lanes)
        return seen_ns;
    uint64_t free_ns =
        pass->lanes[lane].free_ns + costs->model.node_ns + (seen_ns ? costs->wait_busy_ns : 0);
    return free_ns > seen_ns ? free_ns : seen_ns;
}

// If a unit starts as early on two lanes, the better one was idle for a shorter time: the other may
// be of use before. On a tie it is that of the predecessor that ended last.
static bool is_better(const struct plan_pass *pass, const struct arrival *arrival, uint32_t lane,
                      uint32_t than)
{
    uint64_t free = pass->lanes[lane].free_ns, than_free = pass->lanes[than].free_ns;
    if (pass->takes_first_lane)
        return lane < than;
    return free != than_free ? free > than_free : lane == arrival->lane;
}

// On all lanes but that of the predecessor that ended last, a unit waits for all that it comes
// after.
PLAINLY uint32_t choose_lane(const struct plan_pass *pass, const struct arrival *arrival,
                             uint32_t unit, bool plain, uint64_t *out_start_ns)
{
    uint32_t place = plan_place_of_unit(pass->plan, unit), num = 0, best = arrival->lane;
    uint64_t best_ns = UINT64_MAX, seen_ns = arrival->first_ns;
    uint64_t gap_ns = pass->costs->model.node_ns + (seen_ns ? pass->costs->wait_busy_ns : 0);
    if (best != PLAN_NONE && (plain || pass->lanes[best].place == place))
        best_ns = start_on(pass, arrival, best);
    for (uint32_t lane = 0; lane < pass->num_lanes; lane++) {
        if (!plain && pass->lanes[lane].place != place)
            continue;
        num++;
        uint64_t start_ns = pass->lanes[lane].free_ns + gap_ns;
        start_ns = start_ns > seen_ns ? start_ns : seen_ns;
        if (start_ns < best_ns || (start_ns == best_ns && is_better(pass, arrival, lane, best))) {
            best = lane;
            best_ns = start_ns;
        }
    }
    if (num < pass->max_lanes && start_on(pass, arrival, pass->num_lanes) < best_ns) {
        best = pass->num_lanes;
        best_ns = start_on(pass, arrival, best);
    }
    *out_start_ns = best_ns;
    return best;
}

static bool has_room(const struct plan_pass *pass, uint32_t place)
{
    uint32_t num = 0;
    for (uint32_t lane = 0; lane < pass->num_lanes; lane++)
        num += pass->lanes[lane].place == place;
    return num < pass->max_lanes;
}

// The lane to which a unit is pinned, under its new number; PLAN_NONE if there is none.
static uint32_t pinned_lane(struct plan_pass *pass, uint32_t unit)
{
    uint32_t pin = pass->pins[unit];
    if (pin == PLAN_NONE)
        return PLAN_NONE;
    if (pass->renamed[pin] == PLAN_NONE && has_room(pass, plan_place_of_unit(pass->plan, unit)))
        pass->renamed[pin] = pass->num_lanes;
    return pass->renamed[pin];
}

PLAINLY void put(struct plan_pass *pass, const struct ahead *ahead, uint32_t unit, bool plain)
{
    struct arrival arrival =
        pass->mode == PASS_BY_KEY ? find_arrival(pass, ahead, unit, plain) : pass->arrivals[unit];
    uint64_t start_ns;
    uint32_t lane = pinned_lane(pass, unit);
    if (lane == PLAN_NONE)
        lane = choose_lane(pass, &arrival, unit, plain, &start_ns);
    else
        start_ns = start_on(pass, &arrival, lane);
    if (pass->pins[unit] != PLAN_NONE)
        pass->renamed[pass->pins[unit]] = lane;
    struct pass_lane *at = &pass->lanes[lane];
    if (lane == pass->num_lanes) {
        pass->num_lanes++;
        *at = (struct pass_lane){ .place = plan_place_of_unit(pass->plan, unit) };
    }
    at->free_ns = start_ns + pass->length_ns[unit];
    pass->start_ns[unit] = start_ns;
    pass->lane_of[unit] = lane;
    if (at->free_ns > pass->makespan_ns)
        pass->makespan_ns = at->free_ns;
}

PLAINLY void make_ready(struct plan_pass *pass, const struct ahead *ahead, uint32_t unit,
                        bool plain)
{
    plan_bits_add(&pass->ready, pass->ranks.rank_of[unit]);
    if (pass->mode != PASS_BY_KEY)
        pass->arrivals[unit] = find_arrival(pass, ahead, unit, plain);
}

PLAINLY void release(struct plan_pass *pass, const struct ahead *ahead, uint32_t unit, bool plain)
{
    const struct plan_graph *plan = pass->plan;
    for (uint32_t i = 0; i < (plain ? 1 : plan_unit_size(plan, unit)); i++) {
        uint32_t node = plain ? unit : plan_unit_member(plan, unit, i);
        for (uint32_t e = ahead->next_first[node]; e < ahead->next_first[node + 1]; e++) {
            uint32_t next = ahead->next_nodes[e];
            next = plain ? next : plan_unit_of(plan, next);
            if (--pass->left[next] == 0)
                make_ready(pass, ahead, next, plain);
        }
    }
}

PLAINLY void begin(struct plan_pass *pass, const struct ahead *ahead, bool plain)
{
    const struct plan_graph *plan = pass->plan;
    pass->num_lanes = 0;
    pass->makespan_ns = 0;
    memset(pass->renamed, 0xff, (size_t)pass->max_lanes * plan->num_places * sizeof(uint32_t));
    for (uint32_t unit = 0; unit < plan->num_units; unit++) {
        uint32_t num = 0;
        for (uint32_t i = 0; i < (plain ? 1 : plan_unit_size(plan, unit)); i++) {
            uint32_t node = plain ? unit : plan_unit_member(plan, unit, i);
            num += ahead->first[node + 1] - ahead->first[node];
        }
        pass->left[unit] = num;
        if (!num)
            make_ready(pass, ahead, unit, plain);
    }
}

// The two lanes that are free first. No unit starts before the first. Without meaning where there
// are places, or lanes to add: then 0.
struct soonest {
    uint32_t lane;
    uint64_t first_ns, second_ns;
};

static struct soonest find_soonest(const struct plan_pass *pass)
{
    if (pass->num_lanes < pass->max_lanes || pass->plan->num_places > 1)
        return (struct soonest){ PLAN_NONE, 0, 0 };
    struct soonest soonest = { PLAN_NONE, UINT64_MAX, UINT64_MAX };
    for (uint32_t lane = 0; lane < pass->num_lanes; lane++) {
        uint64_t free_ns = pass->lanes[lane].free_ns + pass->costs->model.node_ns;
        if (free_ns < soonest.first_ns) {
            soonest = (struct soonest){ lane, free_ns, soonest.first_ns };
        } else if (free_ns < soonest.second_ns) {
            soonest.second_ns = free_ns;
        }
    }
    return soonest;
}

// When a unit can start on the best lane.
static uint64_t earliest(const struct plan_pass *pass, const struct soonest *soonest, uint32_t unit)
{
    const struct arrival *arrival = &pass->arrivals[unit];
    uint64_t start_ns = UINT64_MAX;
    if (pass->plan->num_places > 1) {
        (void)choose_lane(pass, arrival, unit, false, &start_ns);
        return start_ns;
    }
    if (pass->num_lanes < pass->max_lanes)
        return arrival->lane == PLAN_NONE ||
                       start_on(pass, arrival, arrival->lane) > arrival->first_ns
                   ? arrival->first_ns
                   : start_on(pass, arrival, arrival->lane);
    uint64_t free_ns = arrival->lane == soonest->lane ? soonest->second_ns : soonest->first_ns;
    if (arrival->first_ns && free_ns != UINT64_MAX)
        free_ns += pass->costs->wait_busy_ns;
    start_ns = free_ns > arrival->first_ns ? free_ns : arrival->first_ns;
    if (arrival->lane == PLAN_NONE)
        return start_ns;
    uint64_t beside_ns = start_on(pass, arrival, arrival->lane);
    return beside_ns < start_ns ? beside_ns : start_ns;
}

// The first of those that are best; `rank` is the lowest. Keys rise with ranks, so the search ends
// where no key can win.
static uint32_t choose_rank(const struct plan_pass *pass, uint32_t rank)
{
    uint32_t best = rank;
    uint64_t least = UINT64_MAX;
    struct soonest soonest = find_soonest(pass);
    for (uint32_t i = 0; i < MOST_UNITS_COMPARED && rank != UINT32_MAX; i++) {
        uint32_t unit = pass->ranks.unit_at[rank];
        uint64_t key = pass->mode == PASS_BY_BOTH ? pass->keys[unit] : 0;
        if (soonest.first_ns + key >= least)
            break;
        uint64_t value = key + earliest(pass, &soonest, unit);
        if (value < least) {
            best = rank;
            least = value;
        }
        rank = plan_bits_next(&pass->ready, rank + 1);
    }
    return best;
}

PLAINLY void run(struct plan_pass *pass, const struct ahead *ahead, bool plain)
{
    begin(pass, ahead, plain);
    for (uint32_t num = 0; num < pass->plan->num_units; num++) {
        uint32_t rank = plan_bits_lowest(&pass->ready);
        rank = pass->mode == PASS_BY_KEY ? rank : choose_rank(pass, rank);
        uint32_t unit = pass->ranks.unit_at[rank];
        plan_bits_remove(&pass->ready, rank);
        put(pass, ahead, unit, plain);
        pass->sequence[num] = unit;
        release(pass, ahead, unit, plain);
    }
    if (pass->num_lanes > 1)
        pass->makespan_ns += (pass->num_lanes - 1) * pass->costs->model.root_ns;
}

// Ranks units by their keys, and equal ones by the sequence of the last pass.
static void plan_pass_rank(struct plan_pass *pass)
{
    uint32_t num = pass->plan->num_units;
    for (uint32_t i = 0; i < num; i++) {
        pass->ranks.unit_at[i] = pass->sequence[i];
        pass->scratch[0][i] = pass->keys[pass->sequence[i]];
    }
    braid_plan_ranks_fill(pass->scratch[0], num, pass->scratch[1], &pass->ranks);
}

void braid_plan_pass_run(struct plan_pass *pass, bool forward)
{
    const struct plan_graph *plan = pass->plan;
    struct ahead ahead = { plan->pred_first, plan->pred_nodes, plan->succ_first, plan->succ_nodes,
                           forward };
    if (!forward)
        ahead = (struct ahead){ plan->succ_first, plan->succ_nodes, plan->pred_first,
                                plan->pred_nodes, forward };
    plan_pass_rank(pass);
    if (pass->is_plain)
        run(pass, &ahead, true);
    else
        run(pass, &ahead, false);
}

void braid_plan_pass_turn(struct plan_pass *pass)
{
    for (uint32_t unit = 0; unit < pass->plan->num_units; unit++)
        pass->keys[unit] = pass->makespan_ns - pass->start_ns[unit] - pass->length_ns[unit];
}

void braid_plan_pass_key_by_path(struct plan_pass *pass, uint64_t edge_ns)
{
    const struct plan_graph *plan = pass->plan;
    memset(pass->keys, 0, plan->num_units * sizeof(*pass->keys));
    for (uint32_t i = plan->num_nodes; i-- > 0;) {
        uint32_t node = plan_ordered_node(plan, i), unit = plan_unit_of(plan, node);
        uint64_t below = 0;
        for (uint32_t e = plan->succ_first[node]; e < plan->succ_first[node + 1]; e++) {
            uint64_t tail = pass->keys[plan_unit_of(plan, plan->succ_nodes[e])];
            below = tail > below ? tail : below;
        }
        below += edge_ns + pass->length_ns[unit];
        pass->keys[unit] = below > pass->keys[unit] ? below : pass->keys[unit];
    }
    for (uint32_t unit = 0; unit < plan->num_units; unit++)
        pass->keys[unit] = INT64_MAX - pass->keys[unit];
}

void braid_plan_pass_order_by_path(struct plan_pass *pass)
{
    const uint32_t num = pass->plan->num_units;
    if (!pass->has_path) {
        for (uint32_t unit = 0; unit < num; unit++)
            pass->sequence[unit] = unit;
        braid_plan_pass_key_by_path(pass, 0);
        plan_pass_rank(pass);
        memcpy(pass->by_path, pass->ranks.unit_at, num * sizeof(*pass->by_path));
        pass->has_path = true;
    }
    memcpy(pass->sequence, pass->by_path, num * sizeof(*pass->sequence));
}

// ---- looking ahead ----

// HEFT with lookahead (L. Bittencourt, R. Sakellariou and E. Madeira, 2010): a unit goes to the
// lane after which the paths ahead of its successors end first. It may go into a gap in front of
// units that were placed before it. The lanes start in the order of their numbers.

enum { NUM_SOONEST = 3 };

// The units of a lane, the earliest first, as a list: `first` by lane, `next` by unit.
struct lookahead {
    struct plan_pass *pass;
    uint32_t *first, *next;
    uint64_t *free_ns; // by lane: when its last unit has ended
    uint32_t soonest[NUM_SOONEST + 1];
    int num_soonest;
    bool looks_ahead; // or units start as early as they can
};

// Where a unit stands on a lane: behind another unit there, or PLAN_NONE.
struct gap {
    uint64_t start_ns;
    uint32_t lane, behind;
};

// On a lane with gaps a unit does not start before the end of those that it comes after.
static uint64_t seen_on(const struct plan_pass *pass, const struct arrival *arrival, uint32_t lane)
{
    if (lane != arrival->lane)
        return arrival->first_ns;
    const uint64_t end_ns = arrival->first_ns - pass->costs->model.wait_ns;
    return end_ns > arrival->second_ns ? end_ns : arrival->second_ns;
}

// The first gap of a lane in which a unit fits.
static struct gap find_gap(const struct lookahead *ahead, const struct arrival *arrival,
                           uint32_t unit, uint32_t lane)
{
    const struct plan_pass *pass = ahead->pass;
    const uint64_t between_ns = pass->costs->model.node_ns;
    struct gap gap = { seen_on(pass, arrival, lane), lane, .behind = PLAN_NONE };
    for (uint32_t next = ahead->first[lane]; next != PLAN_NONE; next = ahead->next[next]) {
        if (gap.start_ns + pass->length_ns[unit] + between_ns <= pass->start_ns[next])
            break;
        const uint64_t free_ns = pass->start_ns[next] + pass->length_ns[next] + between_ns;
        gap.start_ns = free_ns > gap.start_ns ? free_ns : gap.start_ns;
        gap.behind = next;
    }
    return gap;
}

static uint64_t path_ahead(const struct plan_pass *pass, uint32_t unit)
{
    return INT64_MAX - pass->keys[unit];
}

// When a lane is free, behind all its units; or behind one more, in a gap there.
static uint64_t free_on(const struct lookahead *ahead, const struct gap *gap, uint32_t unit,
                        uint32_t lane)
{
    const struct plan_pass *pass = ahead->pass;
    const uint64_t end_ns =
        gap->lane == lane ? gap->start_ns + pass->length_ns[unit] + pass->costs->model.node_ns : 0;
    return end_ns > ahead->free_ns[lane] ? end_ns : ahead->free_ns[lane];
}

// When a successor of the unit in a gap can start, behind the units of some lane.
static uint64_t start_behind(const struct lookahead *ahead, const struct gap *gap, uint32_t unit,
                             uint32_t succ)
{
    const struct plan_pass *pass = ahead->pass;
    struct arrival arrival = pass->arrivals[succ];
    uint64_t least_ns = UINT64_MAX;
    plan_arrive(&arrival, gap->start_ns + pass->length_ns[unit] + pass->costs->model.wait_ns,
                gap->lane);
    const uint32_t lanes[] = { arrival.lane, gap->lane, ahead->soonest[0], ahead->soonest[1],
                               ahead->soonest[2] };
    for (int i = 0; i < 2 + ahead->num_soonest; i++) {
        const uint64_t seen_ns = seen_on(pass, &arrival, lanes[i]);
        const uint64_t free_ns = free_on(ahead, gap, unit, lanes[i]);
        const uint64_t start_ns = free_ns > seen_ns ? free_ns : seen_ns;
        least_ns = start_ns < least_ns ? start_ns : least_ns;
    }
    return least_ns;
}

// When the last path ahead of the unit and of its successors ends, if the unit is put into a gap.
static uint64_t end_of_paths(const struct lookahead *ahead, const struct gap *gap, uint32_t unit)
{
    const struct plan_pass *pass = ahead->pass;
    const struct plan_graph *plan = pass->plan;
    uint64_t last_ns = gap->start_ns + path_ahead(pass, unit);
    uint32_t e = plan->succ_first[unit], end = ahead->looks_ahead ? plan->succ_first[unit + 1] : e;
    for (; e < end; e++) {
        const uint32_t succ = plan->succ_nodes[e];
        const uint64_t end_ns = start_behind(ahead, gap, unit, succ) + path_ahead(pass, succ);
        last_ns = end_ns > last_ns ? end_ns : last_ns;
    }
    return last_ns;
}

// The lanes that are free first. Beside a successor's own two lanes no other can be better.
static void list_soonest(struct lookahead *ahead)
{
    ahead->num_soonest = 0;
    for (uint32_t lane = 0; lane < ahead->pass->max_lanes; lane++) {
        int at = ahead->num_soonest;
        for (; at > 0 && ahead->free_ns[ahead->soonest[at - 1]] > ahead->free_ns[lane]; at--)
            ahead->soonest[at] = ahead->soonest[at - 1];
        ahead->soonest[at] = lane;
        ahead->num_soonest += ahead->num_soonest < NUM_SOONEST;
    }
}

// The successors wait for the unit from now on.
static void tell_successors(struct lookahead *ahead, const struct gap *gap, uint32_t unit)
{
    struct plan_pass *pass = ahead->pass;
    const struct plan_graph *plan = pass->plan;
    const uint64_t end_ns = gap->start_ns + pass->length_ns[unit];
    for (uint32_t e = plan->succ_first[unit]; e < plan->succ_first[unit + 1]; e++)
        plan_arrive(&pass->arrivals[plan->succ_nodes[e]], end_ns + pass->costs->model.wait_ns,
                    gap->lane);
    ahead->free_ns[gap->lane] = free_on(ahead, gap, unit, gap->lane);
}

// Where the paths ahead end first, and on a tie where the unit starts first.
static struct gap choose_gap(struct lookahead *ahead, uint32_t unit)
{
    const struct plan_pass *pass = ahead->pass;
    const struct arrival *arrival = &pass->arrivals[unit]; // all that it comes after have told it
    struct gap best = find_gap(ahead, arrival, unit, 0);
    if (ahead->looks_ahead)
        list_soonest(ahead);
    uint64_t best_ns = end_of_paths(ahead, &best, unit);
    for (uint32_t lane = 1; lane < pass->max_lanes; lane++) {
        const struct gap gap = find_gap(ahead, arrival, unit, lane);
        const uint64_t end_ns = end_of_paths(ahead, &gap, unit);
        if (end_ns < best_ns || (end_ns == best_ns && gap.start_ns < best.start_ns)) {
            best = gap;
            best_ns = end_ns;
        }
    }
    return best;
}

static void put_in_gap(struct lookahead *ahead, uint32_t unit)
{
    struct plan_pass *pass = ahead->pass;
    const struct gap best = choose_gap(ahead, unit);
    tell_successors(ahead, &best, unit);
    uint32_t *link =
        best.behind == PLAN_NONE ? &ahead->first[best.lane] : &ahead->next[best.behind];
    ahead->next[unit] = *link;
    *link = unit;
    pass->start_ns[unit] = best.start_ns;
    pass->lane_of[unit] = best.lane;
}

bool braid_plan_may_look_ahead(const struct plan_pass *pass)
{
    enum { MOST_UNITS = 1024 }; // a unit looks at all units placed before
    return pass->is_plain && !pass->plan->hint_of && pass->plan->num_units <= MOST_UNITS &&
           pass->costs->model.wait_ns;
}

// Ranks the units. Equal ones go by the path without waits.
static void rank(struct plan_pass *pass, const struct ahead *edges, enum ahead_order order)
{
    const struct plan_graph *plan = pass->plan;
    const bool spares_waits = order == AHEAD_PATH || order == AHEAD_INTO_GAPS;
    braid_plan_pass_order_by_path(pass);
    braid_plan_pass_key_by_path(pass, spares_waits ? 0 : pass->costs->model.wait_ns);
    for (uint32_t i = 0; i < plan->num_nodes && order == AHEAD_THROUGH; i++) {
        uint32_t node = plan_ordered_node(plan, i);
        pass->start_ns[node] = find_plain_arrival(pass, edges, node).first_ns;
        pass->keys[node] -= pass->start_ns[node];
    }
    if (order == AHEAD_SUCCESSORS)
        memset(pass->keys, 0xff, plan->num_nodes * sizeof(*pass->keys));
    for (uint32_t e = 0; e < plan->num_edges && order == AHEAD_SUCCESSORS; e++)
        pass->keys[plan->pred_nodes[e]]--;
    plan_pass_rank(pass);
}

// Without bundles a unit is a node, and there are at most as many lanes. The lists are in room that
// a pass does not need between runs.
void braid_plan_look_ahead(struct plan_pass *pass, enum ahead_order order)
{
    const uint32_t num = pass->plan->num_units;
    const struct ahead edges = { pass->plan->pred_first, pass->plan->pred_nodes,
                                 pass->plan->succ_first, pass->plan->succ_nodes, true };
    struct lookahead ahead = { pass, pass->renamed, pass->pins, .free_ns = pass->scratch[0],
                               .looks_ahead = order == AHEAD_PATH };
    pass->mode = PASS_BY_KEY;
    rank(pass, &edges, order);
    memset(ahead.free_ns, 0, pass->max_lanes * sizeof(*ahead.free_ns));
    for (uint32_t unit = 0; unit < num; unit++)
        pass->arrivals[unit] = (struct arrival){ .lane = PLAN_NONE };
    begin(pass, &edges, true);
    for (uint32_t i = 0; i < num; i++) {
        const uint32_t at = plan_bits_lowest(&pass->ready), unit = pass->ranks.unit_at[at];
        plan_bits_remove(&pass->ready, at);
        put_in_gap(&ahead, unit);
        pass->sequence[i] = unit;
        release(pass, &edges, unit, true);
    }
    memcpy(pass->keys, pass->start_ns, num * sizeof(*pass->keys));
    memcpy(pass->pins, pass->lane_of, num * sizeof(*pass->pins));
}
