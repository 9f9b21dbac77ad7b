// SPDX-License-Identifier: Apache-2.0
// Serial list scheduling, forward or backward.
#include "plan/plan_pass.h"

#include <string.h>

#include "base/big_memory.h"

// The direction in which edges are walked.
struct ahead {
    const uint32_t *first, *nodes; // what a node comes after
    const uint32_t *next_first, *next_nodes;
    bool forward;
};

#define MOST_UNITS_COMPARED 64 // unless keys decide: the first by key

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
    pass->length_ns = plan_allocate(num, sizeof(uint64_t));
    pass->keys = plan_allocate(num, sizeof(uint64_t));
    pass->pins = plan_allocate(num, sizeof(uint32_t));
    pass->start_ns = plan_allocate(num, sizeof(uint64_t));
    pass->lane_of = plan_allocate(num, sizeof(uint32_t));
    pass->sequence = plan_allocate(num, sizeof(uint32_t));
    pass->lanes = plan_allocate(num_lanes, sizeof(struct pass_lane));
    pass->renamed = plan_allocate(num_lanes, sizeof(uint32_t));
    pass->left = plan_allocate(num, sizeof(uint32_t));
    pass->scratch[0] = plan_allocate(num, sizeof(uint64_t));
    pass->scratch[1] = plan_allocate(num, sizeof(uint64_t));
    pass->ranks.rank_of = plan_allocate(num, sizeof(uint32_t));
    pass->ranks.unit_at = plan_allocate(num, sizeof(uint32_t));
    pass->arrivals = plan_allocate(num, sizeof(struct arrival));
    bool done = plan_bits_init(&pass->ready, num) && pass->length_ns && pass->keys && pass->pins &&
                pass->start_ns && pass->lane_of && pass->sequence && pass->lanes && pass->renamed &&
                pass->left && pass->scratch[0] && pass->scratch[1] && pass->ranks.rank_of &&
                pass->ranks.unit_at && pass->arrivals;
    for (uint32_t unit = 0; done && unit < num; unit++) {
        pass->length_ns[unit] = unit_length(plan, costs, unit);
        pass->pins[unit] = PLAN_NONE;
    }
    return done;
}

void braid_plan_pass_finish(struct plan_pass *pass)
{
    void *const memory[] = { pass->length_ns, pass->keys,       pass->pins,       pass->start_ns,
                             pass->lane_of,   pass->sequence,   pass->lanes,      pass->renamed,
                             pass->left,      pass->scratch[0], pass->scratch[1], pass->arrivals };
    for (size_t i = 0; i < sizeof(memory) / sizeof(memory[0]); i++)
        free(memory[i]);
    braid_plan_ranks_finish(&pass->ranks);
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
static struct arrival find_plain_arrival(const struct plan_pass *pass, const struct ahead *ahead,
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

static struct arrival find_arrival(struct plan_pass *pass, const struct ahead *ahead, uint32_t unit)
{
    if (pass->is_plain)
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

struct arrival braid_plan_pass_arrival(const struct plan_pass *pass, uint32_t unit)
{
    const struct ahead ahead = { .first = pass->plan->pred_first, .nodes = pass->plan->pred_nodes };
    return find_plain_arrival(pass, &ahead, unit);
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
        return false;
    return free != than_free ? free > than_free : lane == arrival->lane;
}

static uint32_t choose_lane(const struct plan_pass *pass, const struct arrival *arrival,
                            uint32_t unit, uint64_t *out_start_ns)
{
    uint32_t place = plan_place_of_unit(pass->plan, unit), num = 0, best = PLAN_NONE;
    uint64_t best_ns = UINT64_MAX;
    for (uint32_t lane = 0; lane < pass->num_lanes; lane++) {
        if (pass->lanes[lane].place != place)
            continue;
        num++;
        uint64_t start_ns = start_on(pass, arrival, lane);
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

static void put(struct plan_pass *pass, const struct ahead *ahead, uint32_t unit)
{
    struct arrival arrival =
        pass->mode == PASS_BY_KEY ? find_arrival(pass, ahead, unit) : pass->arrivals[unit];
    uint64_t start_ns;
    uint32_t lane = pinned_lane(pass, unit);
    if (lane == PLAN_NONE)
        lane = choose_lane(pass, &arrival, unit, &start_ns);
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

static void make_ready(struct plan_pass *pass, const struct ahead *ahead, uint32_t unit)
{
    plan_bits_add(&pass->ready, pass->ranks.rank_of[unit]);
    if (pass->mode != PASS_BY_KEY)
        pass->arrivals[unit] = find_arrival(pass, ahead, unit);
}

static void release(struct plan_pass *pass, const struct ahead *ahead, uint32_t unit)
{
    const struct plan_graph *plan = pass->plan;
    for (uint32_t i = 0; i < plan_unit_size(plan, unit); i++) {
        uint32_t node = plan_unit_member(plan, unit, i);
        for (uint32_t e = ahead->next_first[node]; e < ahead->next_first[node + 1]; e++) {
            uint32_t next = plan_unit_of(plan, ahead->next_nodes[e]);
            if (--pass->left[next] == 0)
                make_ready(pass, ahead, next);
        }
    }
}

static void begin(struct plan_pass *pass, const struct ahead *ahead)
{
    const struct plan_graph *plan = pass->plan;
    pass->num_lanes = 0;
    pass->makespan_ns = 0;
    memset(pass->renamed, 0xff, (size_t)pass->max_lanes * plan->num_places * sizeof(uint32_t));
    for (uint32_t unit = 0; unit < plan->num_units; unit++) {
        uint32_t num = 0;
        for (uint32_t i = 0; i < plan_unit_size(plan, unit); i++) {
            uint32_t node = plan_unit_member(plan, unit, i);
            num += ahead->first[node + 1] - ahead->first[node];
        }
        pass->left[unit] = num;
        if (!num)
            make_ready(pass, ahead, unit);
    }
}

// The two lanes that are free first, of one place.
struct soonest {
    uint32_t lane;
    uint64_t first_ns, second_ns;
};

static struct soonest find_soonest(const struct plan_pass *pass)
{
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
        (void)choose_lane(pass, arrival, unit, &start_ns);
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

static uint32_t choose_rank(const struct plan_pass *pass)
{
    uint32_t rank = plan_bits_lowest(&pass->ready), best = rank;
    uint64_t least = UINT64_MAX;
    if (pass->mode == PASS_BY_KEY)
        return rank;
    struct soonest soonest = find_soonest(pass);
    for (uint32_t i = 0; i < MOST_UNITS_COMPARED && rank != UINT32_MAX; i++) {
        uint32_t unit = pass->ranks.unit_at[rank];
        uint64_t value = earliest(pass, &soonest, unit);
        value += pass->mode == PASS_BY_BOTH ? pass->keys[unit] : 0;
        if (value < least) {
            best = rank;
            least = value;
        }
        rank = plan_bits_next(&pass->ready, rank + 1);
    }
    return best;
}

static void run(struct plan_pass *pass, const struct ahead *ahead)
{
    begin(pass, ahead);
    for (uint32_t num = 0; num < pass->plan->num_units; num++) {
        uint32_t rank = choose_rank(pass), unit = pass->ranks.unit_at[rank];
        plan_bits_remove(&pass->ready, rank);
        put(pass, ahead, unit);
        pass->sequence[num] = unit;
        release(pass, ahead, unit);
    }
    if (pass->num_lanes > 1)
        pass->makespan_ns += (pass->num_lanes - 1) * pass->costs->model.root_ns;
}

void braid_plan_pass_rank(struct plan_pass *pass)
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
    braid_plan_pass_rank(pass);
    run(pass, &ahead);
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
    for (uint32_t unit = 0; unit < num; unit++)
        pass->sequence[unit] = unit;
    braid_plan_pass_key_by_path(pass, 0);
    braid_plan_pass_rank(pass);
    memcpy(pass->sequence, pass->ranks.unit_at, num * sizeof(*pass->sequence));
}
