// SPDX-License-Identifier: Apache-2.0
// Chooses the number of lanes by trying: each candidate is placed and its predicted makespan
// compared. Candidates that their lower bound rules out are skipped.
#include "plan/plan_lanes.h"

#include "base/error.h"

// Trying costs time, which a big graph does not have: this many units and edges are visited at
// most, or one candidate is tried, the one of the best lower bound.
#define MOST_VISITS 2000000

// A gain must be worth the waits that more lanes bring.
#define GAIN_OVER_ONE_LANE 50                    // one part in
#define GAIN_OVER_ONE_LANE_WHERE_ISSUE_LIMITS 20 // one part in; measured on a GPU (docs/cuda.md)
#define GAIN_OVER_FEWER_LANES 256                // one part in
#define GAIN_WHERE_ISSUE_LIMITS 60 // one part in, where the model says what issuing costs
// One part in, where no two of the largest kernels fit the device: such kernels leave it partly
// idle at both their ends, so a second lane gains twice what the model sees (docs/cuda.md).
#define GAIN_WHERE_KERNELS_ARE_LARGE 60
// Lanes for nodes of unknown cost may make the frame this part longer, should the nodes be short.
#define PRICE_OF_GUESSES 2 // one part in

static const uint32_t candidates[] = { 2,  3,  4,  5,  6,  7,  8,  9,  10, 12, 14,  16,
                                       20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128 };
#define NUM_CANDIDATES (sizeof(candidates) / sizeof(candidates[0]))
#define MOST_LANES_CHOSEN 128

uint32_t braid_plan_lane_limit(const struct plan_graph *plan, const struct plan_costs *costs,
                               const braid_schedule_options *options)
{
    if (options->policy == BRAID_POLICY_MAX_CONCURRENCY)
        return plan->num_units ? plan->num_units : 1;
    uint32_t limit = options->max_lanes ? options->max_lanes : MOST_LANES_CHOSEN;
    if (!options->fixed_lanes && limit > braid_plan_most_at_once(costs))
        limit = braid_plan_most_at_once(costs);
    if (limit > plan->num_units)
        limit = plan->num_units;
    return limit ? limit : 1;
}

static uint64_t visits(const struct plan_graph *plan, uint64_t num_tries)
{
    return ((uint64_t)plan->num_units + plan->num_edges) * num_tries;
}

static uint64_t lower_bound(const struct plan_costs *costs, uint32_t num_lanes)
{
    uint32_t most = costs->model.max_concurrent;
    uint64_t share = costs->work_ns / num_lanes;
    uint64_t awake = (costs->work_ns - costs->blocking_ns) / (most < num_lanes ? most : num_lanes);
    uint64_t bound = share > costs->critical_ns ? share : costs->critical_ns;
    bound = bound > awake ? bound : awake;
    return bound > costs->area_ns ? bound : costs->area_ns;
}

// What a frame really takes: both its makespan and the time that issuing its nodes and waits takes
// are lower bounds, and where they are near each other lanes wait for their turn. The cube root of
// the sum of the cubes fits measured frames (docs/cuda.md); here it is, in integers, the larger one
// and up to a quarter of it.
uint64_t braid_plan_expected_ns(const braid_cost_model *model, uint64_t makespan_ns,
                                uint64_t num_nodes, uint64_t num_waits)
{
    const uint64_t one = 1024; // of fixed point
    uint64_t issue_ns = model->issue_ns * num_nodes + model->issue_wait_ns * num_waits;
    uint64_t more = makespan_ns > issue_ns ? makespan_ns : issue_ns;
    uint64_t less = makespan_ns > issue_ns ? issue_ns : makespan_ns;
    if (less == 0)
        return more;
    uint64_t ratio = more >= one ? less / (more / one) : less * one / more;
    ratio = ratio < one ? ratio : one;
    return more + more / (4 * one) * (ratio * ratio * ratio / (one * one));
}

static uint64_t expected_ns(const struct plan_graph *plan, const struct plan_costs *costs,
                            uint64_t makespan_ns, uint64_t num_waits)
{
    return braid_plan_expected_ns(&costs->model, makespan_ns, plan->num_nodes, num_waits);
}

static bool is_worth(const struct plan_costs *costs, uint64_t expected, uint32_t chosen_lanes,
                     uint64_t chosen_ns)
{
    uint64_t part = costs->model.issue_ns ? GAIN_WHERE_ISSUE_LIMITS : GAIN_OVER_FEWER_LANES;
    if (chosen_lanes == 1 && costs->most_share * 2 > PLAN_WHOLE_DEVICE)
        part = GAIN_WHERE_KERNELS_ARE_LARGE;
    else if (chosen_lanes == 1)
        part = costs->model.issue_ns ? GAIN_OVER_ONE_LANE_WHERE_ISSUE_LIMITS : GAIN_OVER_ONE_LANE;
    return expected < chosen_ns - chosen_ns / part;
}

// Of all candidates the one with the best lower bound, the fewest lanes on a tie.
static uint32_t guess_lanes(const struct plan_graph *plan, const struct plan_costs *costs,
                            uint32_t limit)
{
    uint32_t best = 1;
    uint64_t best_ns = expected_ns(plan, costs, costs->one_lane_ns, 0);
    for (size_t i = 0; i <= NUM_CANDIDATES; i++) {
        uint32_t num = i < NUM_CANDIDATES && candidates[i] < limit ? candidates[i] : limit;
        uint64_t bound = lower_bound(costs, num) + (num - 1) * costs->model.root_ns;
        uint64_t expected = expected_ns(plan, costs, bound, 0);
        if (is_worth(costs, expected, best, best_ns)) {
            best = num;
            best_ns = expected;
        }
    }
    return best;
}

struct choice {
    const struct plan_graph *plan;
    const struct plan_costs *costs;
    const struct plan_ranks *ranks;
    struct plan_placement best; // no arrays yet while it stands for one lane
    uint64_t best_ns;           // what a frame of it is expected to take
    bool is_enough;             // a plan left a lane unused
};

// Takes the placement over, or frees it.
static void consider(struct choice *choice, struct plan_placement *placement)
{
    uint64_t expected =
        expected_ns(choice->plan, choice->costs, placement->makespan_ns, placement->waits.num);
    if (is_worth(choice->costs, expected, choice->best.num_lanes, choice->best_ns)) {
        struct plan_placement worse = choice->best;
        choice->best = *placement;
        choice->best_ns = expected;
        *placement = worse;
    }
    braid_plan_placement_finish(placement);
}

static uint64_t bound_of(const struct choice *choice, uint32_t num_lanes)
{
    return expected_ns(choice->plan, choice->costs, lower_bound(choice->costs, num_lanes), 0);
}

static braid_status try_lanes(struct choice *choice, uint32_t num_lanes)
{
    if (!is_worth(choice->costs, bound_of(choice, num_lanes), choice->best.num_lanes,
                  choice->best_ns))
        return BRAID_OK;
    struct plan_placement placement;
    braid_status status =
        braid_plan_place(choice->plan, choice->costs, choice->ranks, num_lanes, true, &placement);
    if (status)
        return status;
    choice->is_enough = placement.num_lanes < num_lanes;
    consider(choice, &placement);
    return BRAID_OK;
}

// Candidates in rising order. The one that looks best is placed beforehand: few of the smaller ones
// can then still be as good. Where a plan leaves a lane unused, more of them change nothing.
static braid_status try_all(struct choice *choice, uint32_t limit)
{
    const struct plan_costs *costs = choice->costs;
    uint32_t guess = guess_lanes(choice->plan, costs, limit);
    struct plan_placement probe;
    braid_status status = braid_plan_place(choice->plan, costs, choice->ranks, guess, true, &probe);
    if (status)
        return status;
    uint64_t probe_ns = expected_ns(choice->plan, costs, probe.makespan_ns, probe.waits.num);
    uint32_t most = probe.num_lanes < guess ? guess : limit;
    bool probed = guess == 1;
    if (probed)
        choice->best = probe; // what its bare numbers stood for
    for (size_t i = 0; !status && i <= NUM_CANDIDATES; i++) {
        uint32_t num = i < NUM_CANDIDATES && candidates[i] < most ? candidates[i] : most;
        if (num == guess && !probed) {
            consider(choice, &probe);
            probed = true;
        } else if (num > guess || !is_worth(costs, probe_ns, num, bound_of(choice, num))) {
            status = try_lanes(choice, num);
        }
        if (num == most || choice->is_enough)
            break;
    }
    if (!probed)
        braid_plan_placement_finish(&probe);
    return status;
}

static braid_status try_numbers(struct choice *choice, uint32_t limit)
{
    if (visits(choice->plan, NUM_CANDIDATES) <= 2 * MOST_VISITS)
        return try_all(choice, limit);
    return try_lanes(choice, guess_lanes(choice->plan, choice->costs, limit));
}

static bool is_bearable(const struct choice *choice, uint64_t expected)
{
    return expected <= choice->best_ns + choice->best_ns / PRICE_OF_GUESSES;
}

// Where costs are missing a node may be the longest of all: as many lanes are taken as may run at
// once, or the most that cost little should all nodes be as short as the model's default. A graph
// too big to try all numbers gets one try.
static braid_status try_many(struct choice *choice, uint32_t limit)
{
    bool big = visits(choice->plan, NUM_CANDIDATES) > 2 * MOST_VISITS, found = false;
    for (size_t i = NUM_CANDIDATES + 1; i-- > 0 && !found;) {
        uint32_t num = i < NUM_CANDIDATES ? candidates[i] : limit;
        uint64_t roots = (num - 1) * choice->costs->model.root_ns;
        if (num > limit || num <= choice->best.num_lanes ||
            !is_bearable(choice, lower_bound(choice->costs, num) + roots))
            continue;
        struct plan_placement other;
        braid_status status =
            braid_plan_place(choice->plan, choice->costs, choice->ranks, num, true, &other);
        if (status)
            return status;
        uint64_t expected =
            expected_ns(choice->plan, choice->costs, other.makespan_ns, other.waits.num);
        found = is_bearable(choice, expected);
        if (found) {
            struct plan_placement fewer = choice->best;
            choice->best = other;
            other = fewer;
        }
        braid_plan_placement_finish(&other);
        found |= big;
    }
    return BRAID_OK;
}

static braid_status place_by(const struct plan_graph *plan, const struct plan_costs *costs,
                             const struct plan_ranks *ranks, const braid_schedule_options *options,
                             uint32_t num_lanes, struct plan_placement *out_placement)
{
    if (num_lanes)
        return braid_plan_place(plan, costs, ranks, num_lanes, false, out_placement);
    uint32_t limit = braid_plan_lane_limit(plan, costs, options);
    if (options->fixed_lanes && options->max_lanes)
        return braid_plan_place(plan, costs, ranks, limit, false, out_placement);
    struct choice choice = {
        .plan = plan,
        .costs = costs,
        .ranks = ranks,
        .best = { .num_lanes = 1, .makespan_ns = costs->one_lane_ns },
        .best_ns = expected_ns(plan, costs, costs->one_lane_ns, 0),
    };
    braid_status status = try_numbers(&choice, limit);
    if (!status && costs->num_guessed)
        status = try_many(&choice, limit);
    if (!status && !choice.best.issued)
        return braid_plan_place(plan, costs, ranks, 1, false, out_placement);
    if (status)
        braid_plan_placement_finish(&choice.best);
    else
        *out_placement = choice.best;
    return status;
}

// The heaviest path still ahead goes first.
static braid_status rank_by_bottom(const struct plan_graph *plan, const struct plan_costs *costs,
                                   struct plan_ranks *out_ranks)
{
    uint64_t *keys = malloc(((size_t)plan->num_units + 1) * sizeof(*keys));
    if (!keys)
        return braid_error_no_memory("the order of ready nodes");
    for (uint32_t i = 0; i < plan->num_units; i++)
        keys[i] = costs->critical_ns - costs->bottom_ns[plan_first_member(plan, i)];
    braid_status status = braid_plan_ranks_create(keys, plan->num_units, out_ranks);
    free(keys);
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
    free(keys);
    return status;
}

// Ready units by the heaviest path ahead, and by level; no rank_of in by_level: it is not tried.
struct orders {
    struct plan_ranks by_bottom, by_level;
};

static braid_status make_orders(const struct plan_graph *plan, const struct plan_costs *costs,
                                struct orders *out_orders)
{
    struct orders orders = { 0 };
    braid_status status = rank_by_bottom(plan, costs, &orders.by_bottom);
    if (!status && visits(plan, 2) <= MOST_VISITS)
        status = rank_by_level(plan, &orders.by_bottom, &orders.by_level);
    if (status)
        braid_plan_ranks_finish(&orders.by_bottom);
    else
        *out_orders = orders;
    return status;
}

static void finish_orders(struct orders *orders)
{
    braid_plan_ranks_finish(&orders->by_bottom);
    braid_plan_ranks_finish(&orders->by_level);
}

// Keeps the better of a placement and that by level, on as many lanes.
static braid_status try_levels(const struct plan_graph *plan, const struct plan_costs *costs,
                               const struct orders *orders, struct plan_placement *best)
{
    struct plan_placement other;
    if (best->num_lanes < 2 || !orders->by_level.rank_of)
        return BRAID_OK;
    braid_status status =
        braid_plan_place(plan, costs, &orders->by_level, best->num_lanes, true, &other);
    if (!status)
        braid_plan_placement_keep(best, &other);
    return status;
}

// List scheduling may do worse on more lanes (R. L. Graham, 1966). What a plan on fewer lanes gains
// is taken: in a graph small enough to try them all more lanes never make a longer plan. In a
// larger one every fourth part less is tried.
static braid_status try_fewer(const struct plan_graph *plan, const struct plan_costs *costs,
                              const struct orders *orders, uint32_t limit,
                              struct plan_placement *best)
{
    bool all = visits(plan, 2 * (uint64_t)limit) <= MOST_VISITS;
    braid_status status = BRAID_OK;
    uint32_t num = limit;
    while (!status && num > 1 && (all || visits(plan, 16) <= MOST_VISITS)) {
        struct plan_placement other;
        num -= all ? 1 : num / 4 + 1;
        if (num == 0 || lower_bound(costs, num) >= best->makespan_ns)
            break;
        status = braid_plan_place(plan, costs, &orders->by_bottom, num, true, &other);
        if (status)
            break;
        status = try_levels(plan, costs, orders, &other);
        if (!status && other.makespan_ns < best->makespan_ns) {
            struct plan_placement worse = *best;
            *best = other;
            other = worse;
        }
        braid_plan_placement_finish(&other);
    }
    return status;
}

braid_status braid_plan_place_best(const struct plan_graph *plan, const struct plan_costs *costs,
                                   const braid_schedule_options *options, uint32_t num_lanes,
                                   struct plan_placement *out_placement)
{
    struct orders orders;
    struct plan_placement best = { 0 };
    braid_status status = make_orders(plan, costs, &orders);
    if (status)
        return status;
    status = place_by(plan, costs, &orders.by_bottom, options, num_lanes, &best);
    if (!status)
        status = try_levels(plan, costs, &orders, &best);
    if (!status && !num_lanes && options->fixed_lanes && options->max_lanes)
        status =
            try_fewer(plan, costs, &orders, braid_plan_lane_limit(plan, costs, options), &best);
    finish_orders(&orders);
    if (status)
        braid_plan_placement_finish(&best);
    else
        *out_placement = best;
    return status;
}
