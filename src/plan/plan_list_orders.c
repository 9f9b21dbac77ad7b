// SPDX-License-Identifier: Apache-2.0
// Ready units go by the heaviest path still ahead or, in a graph small enough to try both, by
// level.
#include <string.h>

#include "base/big_memory.h"
#include "base/error.h"
#include "base/host_memory.h"
#include "plan/plan_expect.h"
#include "plan/plan_passes.h"

// ---- ranks ----

// A stable radix sort, lowest digit first: linear, and equal keys keep the order of the units.

#define DIGIT_BITS 11
#define NUM_DIGITS (1u << DIGIT_BITS)
#define FEW 128

struct column {
    uint64_t *keys;
    uint32_t *units;
};

static uint32_t digit_of(uint64_t key, unsigned shift)
{
    return (uint32_t)(key >> shift) & (NUM_DIGITS - 1);
}

static void sort_digit(const struct column *from, const struct column *to, uint32_t num,
                       unsigned shift)
{
    uint32_t start[NUM_DIGITS] = { 0 };
    for (uint32_t i = 0; i < num; i++)
        start[digit_of(from->keys[i], shift)]++;
    uint32_t sum = 0;
    for (uint32_t d = 0; d < NUM_DIGITS; d++) {
        uint32_t count = start[d];
        start[d] = sum;
        sum += count;
    }
    for (uint32_t i = 0; i < num; i++) {
        uint32_t at = start[digit_of(from->keys[i], shift)]++;
        to->keys[at] = from->keys[i];
        to->units[at] = from->units[i];
    }
}

// Counting digits takes longer than this for few keys. Like that it leaves equal keys as they are.
// A pass leaves the keys of the next one nearly in order, or nearly in reverse.
static void sort_few(struct column *a, uint32_t num)
{
    const bool is_down = num && a->keys[0] > a->keys[num - 1];
    for (uint32_t i = 0, k = num - 1; is_down && i < k; i++, k--) {
        const uint64_t key = a->keys[i];
        const uint32_t unit = a->units[i];
        a->keys[i] = a->keys[k];
        a->units[i] = a->units[k];
        a->keys[k] = key;
        a->units[k] = unit;
    }
    for (uint32_t i = 1; i < num; i++) {
        uint64_t key = a->keys[i];
        uint32_t unit = a->units[i], at = i;
        for (; at > 0 && (a->keys[at - 1] > key || (is_down && a->keys[at - 1] == key)); at--) {
            a->keys[at] = a->keys[at - 1];
            a->units[at] = a->units[at - 1];
        }
        a->keys[at] = key;
        a->units[at] = unit;
    }
}

// Leaves the units in order in a->units.
static void sort_column(struct column *a, struct column *b, uint32_t num)
{
    uint64_t differing = 0;
    if (num <= FEW) {
        sort_few(a, num);
        return;
    }
    for (uint32_t i = 0; i < num; i++)
        differing |= a->keys[i] ^ a->keys[0];
    for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
        if (digit_of(differing, shift) == 0)
            continue; // all keys have this digit
        sort_digit(a, b, num, shift);
        const struct column sorted = *b;
        *b = *a;
        *a = sorted;
    }
}

// rank_of is scratch until it is written.
void braid_plan_ranks_fill(uint64_t *keys, uint32_t num, uint64_t *spare_keys,
                           struct plan_ranks *ranks)
{
    struct column a = { keys, ranks->unit_at }, b = { spare_keys, ranks->rank_of };
    sort_column(&a, &b, num);
    if (a.units != ranks->unit_at)
        memcpy(ranks->unit_at, a.units, num * sizeof(*a.units));
    for (uint32_t i = 0; i < num; i++)
        ranks->rank_of[ranks->unit_at[i]] = i;
}

void braid_plan_ranks_finish(struct plan_ranks *ranks)
{
    braid_free(ranks->rank_of);
    braid_free(ranks->unit_at);
    *ranks = (struct plan_ranks){ 0 };
}

braid_status braid_plan_ranks_create(uint64_t *keys, uint32_t num, struct plan_ranks *out_ranks)
{
    struct plan_ranks ranks = { plan_allocate(num, sizeof(uint32_t)),
                                plan_allocate(num, sizeof(uint32_t)) };
    uint64_t *spare_keys = plan_allocate(num, sizeof(uint64_t));
    bool done = ranks.rank_of && ranks.unit_at && spare_keys;
    if (done) {
        for (uint32_t i = 0; i < num; i++)
            ranks.unit_at[i] = i;
        braid_plan_ranks_fill(keys, num, spare_keys, &ranks);
        *out_ranks = ranks;
    } else {
        braid_plan_ranks_finish(&ranks);
    }
    braid_free(spare_keys);
    return done ? BRAID_OK : braid_error_no_memory("the order of ready nodes");
}

// ---- orders ----

// A graph of more units and edges than this has one order.
#define MOST_IN_TWO_ORDERS 1000000

uint64_t braid_plan_visits(const struct plan_graph *plan, uint64_t num_tries)
{
    return ((uint64_t)plan->num_units + plan->num_edges) * num_tries;
}

uint64_t braid_plan_length(const struct plan_tries *tries, const struct plan_placement *placement)
{
    if (tries->by_makespan)
        return placement->makespan_ns;
    return braid_plan_expected_ns(&tries->costs->model, placement->makespan_ns,
                                  tries->plan->num_nodes, placement->waits.num);
}

// The heaviest path still ahead goes first.
static braid_status rank_by_bottom(const struct plan_graph *plan, const struct plan_costs *costs,
                                   struct plan_ranks *out_ranks)
{
    uint64_t *keys = braid_allocate(((size_t)plan->num_units + 1) * sizeof(*keys));
    if (!keys)
        return braid_error_no_memory("the order of ready nodes");
    for (uint32_t i = 0; i < plan->num_units; i++)
        keys[i] = costs->critical_ns - costs->bottom_ns[plan_first_member(plan, i)];
    braid_status status = braid_plan_ranks_create(keys, plan->num_units, out_ranks);
    braid_free(keys);
    return status;
}

// The fewest edges from the start go first, and then the heaviest path still ahead.
static braid_status rank_by_level(const struct plan_graph *plan, const struct plan_ranks *by_bottom,
                                  struct plan_ranks *out_ranks)
{
    uint64_t *keys = braid_allocate_zeroed(plan->num_units, sizeof(*keys));
    if (!keys)
        return braid_error_no_memory("the order of ready nodes");
    for (uint32_t i = 0; i < plan->num_nodes; i++) {
        uint32_t node = plan_ordered_node(plan, i), unit = plan_unit_of(plan, node);
        uint64_t level = keys[unit] >> 32;
        for (uint32_t e = plan->pred_first[node]; e < plan->pred_first[node + 1]; e++) {
            uint64_t above = (keys[plan_unit_of(plan, plan->pred_nodes[e])] >> 32) + 1;
            level = above > level ? above : level;
        }
        keys[unit] = level << 32 | by_bottom->rank_of[unit];
    }
    braid_status status = braid_plan_ranks_create(keys, plan->num_units, out_ranks);
    braid_free(keys);
    return status;
}

void braid_plan_tries_finish(struct plan_tries *tries)
{
    braid_plan_ranks_finish(&tries->by_bottom);
    braid_plan_ranks_finish(&tries->by_level);
}

braid_status braid_plan_tries_create(const struct plan_graph *plan, const struct plan_costs *costs,
                                     bool by_makespan, struct plan_tries *out_tries)
{
    struct plan_tries tries = { .plan = plan, .costs = costs, .by_makespan = by_makespan };
    braid_status status = rank_by_bottom(plan, costs, &tries.by_bottom);
    if (!status && braid_plan_visits(plan, 1) <= MOST_IN_TWO_ORDERS)
        status = rank_by_level(plan, &tries.by_bottom, &tries.by_level);
    if (status)
        braid_plan_tries_finish(&tries);
    else
        *out_tries = tries;
    return status;
}

// A placement that was given up was visited in part.
static void count_visits(struct plan_tries *tries, const struct plan_placement *placement)
{
    const struct plan_graph *plan = tries->plan;
    uint64_t visits = braid_plan_visits(plan, 1);
    if (placement->given_up)
        visits = visits / (plan->num_nodes + UINT64_C(1)) * placement->num_placed + 1;
    tries->num_visits += visits;
}

void braid_plan_keep_shorter(const struct plan_tries *tries, struct plan_placement *best,
                             struct plan_placement *other)
{
    struct plan_placement worse = *other;
    uint64_t best_ns = best->given_up ? UINT64_MAX : braid_plan_length(tries, best);
    uint64_t other_ns = other->given_up ? UINT64_MAX : braid_plan_length(tries, other);
    if (other_ns < best_ns || (other_ns == best_ns && other->waits.num < best->waits.num)) {
        worse = *best;
        *best = *other;
    }
    braid_plan_placement_finish(&worse);
}

static braid_status try_bottom(struct plan_tries *tries, const struct plan_limits *limits,
                               struct plan_placement *out_placement)
{
    braid_status status =
        braid_plan_list(tries->plan, tries->costs, &tries->by_bottom, limits, out_placement);
    if (status)
        return status;
    count_visits(tries, out_placement);
    // Where a wait takes time a unit may queue on a busy lane, and who does depends on idle ones.
    bool left_some = !out_placement->given_up && out_placement->most_lanes < limits->max_lanes;
    tries->most_lanes = left_some && !tries->costs->model.wait_ns ? out_placement->num_lanes + 1
                                                                  : limits->max_lanes;
    return BRAID_OK;
}

static braid_status try_levels(struct plan_tries *tries, const struct plan_limits *limits,
                               struct plan_placement *best)
{
    struct plan_placement other;
    if (limits->max_lanes < 2 || !tries->by_level.rank_of)
        return BRAID_OK;
    braid_status status =
        braid_plan_list(tries->plan, tries->costs, &tries->by_level, limits, &other);
    if (status)
        return status;
    count_visits(tries, &other);
    braid_plan_keep_shorter(tries, best, &other);
    return BRAID_OK;
}

braid_status braid_plan_try_lists(struct plan_tries *tries, const struct plan_limits *limits,
                                  struct plan_placement *out_placement)
{
    struct plan_placement best;
    braid_status status = try_bottom(tries, limits, &best);
    if (status)
        return status;
    struct plan_limits shorter = *limits;
    if (!best.given_up)
        shorter = (struct plan_limits){ best.most_lanes, true, braid_plan_length(tries, &best) };
    status = try_levels(tries, &shorter, &best);
    return braid_plan_placement_give(status, &best, out_placement);
}
