// SPDX-License-Identifier: Apache-2.0
// Local search over orders of units: list scheduling makes a plan of each, with all that waits and
// lanes cost by the model, so whatever is found is a plan like any other.
//
// The first step, and the first after each gain, justifies (J. D. Wiest, 1964): units go by the
// heaviest path that the plan itself, lane orders and waits included, has from them to its end.
// The others move one unit: mostly one of the chain that is as long as the plan, to before what it
// stood behind on its lane or to some place earlier, else any unit to anywhere near. Orders that do
// as well are taken too, so that the search does not stay where it began.
#include "plan/plan_search.h"

#include <string.h>

#include "base/array.h"
#include "base/big_memory.h"
#include "base/error.h"

// Of so many equal plans with more waits one is taken.
#define MOVES_TO_MORE_WAITS 3

struct search {
    struct plan_tries *tries;
    struct plan_placement *best;    // the shortest found, of those the one with the fewest waits
    struct plan_placement *current; // as long; the best itself, or `other`
    struct plan_placement other;
    struct plan_ranks ranks; // of the order at hand
    uint32_t *taken;         // unit_at of the order that was taken last
    uint64_t *keys;          // scratch: per node, then per unit
    uint32_t *lane_before;   // per node, the one before it on its lane in the current plan
    uint32_t *lane_last;     // scratch, per lane
    uint32_t *chain;         // nodes of the chain that is as long as the plan, last to first
    uint32_t num_chain;
    uint32_t num_units, num_lanes; // of each place at most
    uint64_t random;
};

// Steele, Lea and Flood (2014), SplitMix64.
static uint32_t random_below(struct search *search, uint32_t limit)
{
    uint64_t x = search->random += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)(((x ^ x >> 31) >> 32) * limit >> 32);
}

static uint64_t end_of(const struct search *search, uint32_t node)
{
    return search->current->start_ns[node] + search->tries->costs->node_ns[node];
}

static uint64_t wait_between(const struct search *search, uint32_t from, uint32_t to)
{
    const struct plan_graph *plan = search->tries->plan;
    return plan_wait_ns(search->tries->costs, plan_place_of(plan, from), plan_place_of(plan, to));
}

static void find_lanes(struct search *search)
{
    const struct plan_placement *current = search->current;
    for (uint32_t lane = 0; lane < current->num_lanes; lane++)
        search->lane_last[lane] = PLAN_NONE;
    for (uint32_t i = 0; i < search->tries->plan->num_nodes; i++) {
        uint32_t node = current->issued[i], *last = &search->lane_last[current->lane_of[node]];
        search->lane_before[node] = *last;
        *last = node;
    }
}

// What the node started behind: of what it may have waited for, what ended last.
static uint32_t find_cause(const struct search *search, uint32_t node)
{
    const struct plan_graph *plan = search->tries->plan;
    const braid_cost_model *model = &search->tries->costs->model;
    uint32_t cause = search->lane_before[node];
    uint64_t latest = cause == PLAN_NONE ? 0 : end_of(search, cause) + model->node_ns;
    for (uint32_t e = plan->pred_first[node]; e < plan->pred_first[node + 1]; e++) {
        uint32_t pred = plan->pred_nodes[e];
        bool same = search->current->lane_of[pred] == search->current->lane_of[node];
        uint64_t seen = end_of(search, pred) + (same ? 0 : wait_between(search, pred, node));
        if (seen >= latest) {
            latest = seen;
            cause = pred;
        }
    }
    return cause;
}

// From the node that ends last back to one that started behind nothing.
static void find_chain(struct search *search)
{
    const struct plan_graph *plan = search->tries->plan;
    uint32_t node = search->current->issued[0];
    for (uint32_t i = 0; i < plan->num_nodes; i++)
        if (end_of(search, i) > end_of(search, node))
            node = i;
    for (search->num_chain = 0; node != PLAN_NONE && search->num_chain < plan->num_nodes;
         node = find_cause(search, node))
        search->chain[search->num_chain++] = node;
}

// Units by the time at which they must start if the plan is to be no longer.
static braid_status justify(struct search *search)
{
    const struct plan_graph *plan = search->tries->plan;
    const struct plan_costs *costs = search->tries->costs;
    const struct plan_placement *current = search->current;
    uint64_t *tails = search->keys;
    memset(tails, 0, plan->num_nodes * sizeof(*tails));
    for (uint32_t i = plan->num_nodes; i-- > 0;) {
        uint32_t node = current->issued[i], before = search->lane_before[node];
        tails[node] += costs->node_ns[node]; // until now, what is behind it
        if (before != PLAN_NONE && tails[before] < tails[node] + costs->model.node_ns)
            tails[before] = tails[node] + costs->model.node_ns;
        for (uint32_t e = plan->pred_first[node]; e < plan->pred_first[node + 1]; e++) {
            uint32_t pred = plan->pred_nodes[e];
            bool same = current->lane_of[pred] == current->lane_of[node];
            uint64_t tail = tails[node] + (same ? 0 : wait_between(search, pred, node));
            tails[pred] = tail > tails[pred] ? tail : tails[pred];
        }
    }
    uint64_t *keys = tails + plan->num_nodes;
    for (uint32_t unit = 0; unit < search->num_units; unit++)
        keys[unit] = UINT64_MAX - tails[plan_first_member(plan, unit)];
    braid_plan_ranks_finish(&search->ranks);
    return braid_plan_ranks_create(keys, search->num_units, &search->ranks);
}

static void move_unit(struct search *search, uint32_t from, uint32_t to)
{
    uint32_t *unit_at = search->ranks.unit_at, unit = unit_at[from];
    if (to < from)
        memmove(unit_at + to + 1, unit_at + to, (from - to) * sizeof(*unit_at));
    else
        memmove(unit_at + from, unit_at + from + 1, (to - from) * sizeof(*unit_at));
    unit_at[to] = unit;
}

static uint32_t place_of(const struct search *search, uint32_t node)
{
    return search->ranks.rank_of[plan_unit_of(search->tries->plan, node)];
}

static void change_order(struct search *search)
{
    uint32_t num = search->num_units, window = num / 8 + 2;
    uint32_t choice = random_below(search, 4);
    uint32_t node = search->chain[random_below(search, search->num_chain)];
    if (choice < 3) {
        uint32_t before = search->lane_before[node], from = place_of(search, node);
        uint32_t to = before == PLAN_NONE ? from : place_of(search, before);
        if (choice == 2 || to >= from) {
            uint32_t most = from < window ? from : window;
            to = from - random_below(search, most + 1);
        }
        move_unit(search, from, to);
    } else {
        uint32_t from = random_below(search, num);
        uint32_t to = from + random_below(search, 2 * window + 1);
        to = to < window ? 0 : to - window;
        move_unit(search, from, to < num ? to : num - 1);
    }
}

static void index_order(struct search *search)
{
    for (uint32_t i = 0; i < search->num_units; i++)
        search->ranks.rank_of[search->ranks.unit_at[i]] = i;
}

static void take_order(struct search *search)
{
    memcpy(search->taken, search->ranks.unit_at, search->num_units * sizeof(*search->taken));
    find_lanes(search);
    find_chain(search);
}

static void forget_order(struct search *search)
{
    memcpy(search->ranks.unit_at, search->taken, search->num_units * sizeof(*search->taken));
    index_order(search);
}

// Of two plans as long, one with more waits is gone on from now and then, and never the result.
static void take_plan(struct search *search, struct plan_placement *plan, uint64_t ns,
                      bool *out_shorter)
{
    uint64_t best_ns = braid_plan_length(search->tries, search->best);
    bool better = ns < best_ns || (ns == best_ns && plan->waits.num <= search->best->waits.num);
    *out_shorter = ns < best_ns;
    if (ns > best_ns || (!better && plan->waits.num > search->current->waits.num &&
                         random_below(search, MOVES_TO_MORE_WAITS) > 0)) {
        braid_plan_placement_finish(plan);
        forget_order(search);
        return;
    }
    struct plan_placement *place = better ? search->best : &search->other;
    braid_plan_placement_finish(&search->other);
    if (better)
        braid_plan_placement_finish(search->best);
    *place = *plan;
    search->current = place;
    take_order(search);
}

// Makes a plan of the order at hand, and takes or forgets it.
static braid_status try_order(struct search *search, bool *out_shorter)
{
    const struct plan_tries *tries = search->tries;
    uint64_t best_ns = braid_plan_length(tries, search->best);
    const struct plan_limits limits = { search->num_lanes, true, best_ns };
    struct plan_placement plan;
    braid_status status =
        braid_plan_place(tries->plan, tries->costs, &search->ranks, &limits, &plan);
    if (!status)
        take_plan(search, &plan, plan.given_up ? UINT64_MAX : braid_plan_length(tries, &plan),
                  out_shorter);
    return status;
}

// Units as the placement issues them.
static braid_status start_order(struct search *search)
{
    const struct plan_graph *plan = search->tries->plan;
    for (uint32_t i = 0; i < plan->num_nodes; i++) {
        uint32_t node = search->current->issued[i];
        if (plan_member_before(plan, node) == PLAN_NONE)
            search->keys[plan_unit_of(plan, node)] = i;
    }
    braid_status status = braid_plan_ranks_create(search->keys, search->num_units, &search->ranks);
    if (!status)
        take_order(search);
    return status;
}

static bool allocate(struct search *search)
{
    size_t num_nodes = search->tries->plan->num_nodes, num_units = search->num_units;
    search->taken = plan_allocate(num_units, sizeof(*search->taken));
    search->keys = plan_allocate(num_nodes + num_units, sizeof(*search->keys));
    search->lane_before = plan_allocate(num_nodes, sizeof(*search->lane_before));
    size_t num_lanes = (size_t)search->num_lanes * search->tries->plan->num_places;
    search->lane_last = plan_allocate(num_lanes, sizeof(*search->lane_last));
    search->chain = plan_allocate(num_nodes, sizeof(*search->chain));
    return search->taken && search->keys && search->lane_before && search->lane_last &&
           search->chain;
}

static void finish(struct search *search)
{
    braid_plan_placement_finish(&search->other);
    braid_plan_ranks_finish(&search->ranks);
    free(search->taken);
    free(search->keys);
    free(search->lane_before);
    free(search->lane_last);
    free(search->chain);
}

static bool is_shortest(const struct search *search)
{
    const struct plan_costs *costs = search->tries->costs;
    uint64_t roots = (search->best->num_lanes - 1) * costs->model.root_ns;
    return search->best->waits.num == 0 && search->best->makespan_ns <= costs->critical_ns + roots;
}

braid_status braid_plan_search(struct plan_tries *tries, uint32_t num_steps,
                               struct plan_placement *placement)
{
    struct search search = { .tries = tries,
                             .best = placement,
                             .current = placement,
                             .num_units = tries->plan->num_units,
                             .num_lanes = placement->most_lanes };
    if (search.num_units < 2 || placement->num_lanes < 2)
        return BRAID_OK;
    braid_status status =
        allocate(&search) ? start_order(&search) : braid_error_no_memory("the search for a plan");
    bool shorter = true;
    for (uint32_t step = 0; step < num_steps && !status && !is_shortest(&search); step++) {
        if (shorter)
            status = justify(&search);
        else
            change_order(&search);
        if (!status) {
            index_order(&search);
            status = try_order(&search, &shorter);
        }
    }
    finish(&search);
    return status;
}
