// SPDX-License-Identifier: Apache-2.0
// Chooses the number of lanes by trying: each candidate is placed, and the expected times of its
// frame are compared. Candidates that their lower bound rules out are skipped.
//
// More lanes never make a longer plan, though list scheduling alone may do worse on more lanes (R.
// L. Graham, 1966). All plans that are tried under a lower limit are tried under a higher one too,
// or ruled out. And the choice keeps the order. Let F be the shortest plan tried, and take the
// fewest lanes whose plan is not worth leaving for F. Let a higher limit lower F, so that the old
// choice is worth leaving. The new choice is not worth leaving itself, by a rule that is stricter
// the more lanes there are. So the new choice is shorter. If the program names no limit, more lanes
// may be taken for a little time.
#include "base/error.h"
#include "plan/plan_expect.h"
#include "plan/plan_passes.h"

enum { NUM_LANE_NUMBERS = 38 };

// A plan that may be taken: on up to max_lanes lanes, a frame is expected to take ns.
struct plan_kept {
    uint32_t max_lanes;
    uint64_t ns;
    struct plan_placement placement; // no arrays: one lane, not placed yet
};

// ---- the gain of lanes ----

// A gain must be worth the waits that more lanes bring.
#define GAIN_OVER_ONE_LANE 50                    // one part in
#define GAIN_OVER_ONE_LANE_WHERE_ISSUE_LIMITS 20 // one part in; measured on a GPU (docs/measured)
#define GAIN_OVER_FEWER_LANES 256                // one part in
#define GAIN_WHERE_ISSUE_LIMITS 60 // one part in, where the model says what issuing costs
// One part in, where no two of the largest kernels fit the device. Such kernels leave it partly
// idle at both their ends. So a second lane gains twice as much as the model sees (docs/measured).
#define GAIN_WHERE_KERNELS_ARE_LARGE 60

uint64_t braid_plan_lower_bound(const struct plan_costs *costs, uint32_t num_lanes)
{
    uint32_t most = costs->model.max_concurrent;
    uint64_t share = costs->work_ns / num_lanes;
    uint64_t awake = (costs->work_ns - costs->blocking_ns) / (most < num_lanes ? most : num_lanes);
    uint64_t bound = share > costs->critical_ns ? share : costs->critical_ns;
    bound = bound > awake ? bound : awake;
    return bound > costs->area_ns ? bound : costs->area_ns;
}

// The expected time of a frame of that makespan without waits; and the least one on that many
// lanes.
static uint64_t plan_without_waits(const struct plan_tries *tries, uint64_t makespan_ns)
{
    return braid_plan_expected_ns(&tries->costs->model, makespan_ns, tries->plan->num_nodes, 0);
}

// The least expected time of a plan on that many lanes.
static uint64_t plan_bound_of(const struct plan_tries *tries, uint32_t num_lanes)
{
    return plan_without_waits(tries, braid_plan_lower_bound(tries->costs, num_lanes));
}

// One part in how many must be gained over a plan of so many lanes.
static uint64_t plan_part_over(const struct plan_costs *costs, uint32_t num_lanes)
{
    if (num_lanes > 1)
        return costs->model.issue_ns ? GAIN_WHERE_ISSUE_LIMITS : GAIN_OVER_FEWER_LANES;
    if (costs->most_share * 2 > PLAN_WHOLE_DEVICE && !costs->model.host_issues)
        return GAIN_WHERE_KERNELS_ARE_LARGE;
    return costs->model.issue_ns ? GAIN_OVER_ONE_LANE_WHERE_ISSUE_LIMITS : GAIN_OVER_ONE_LANE;
}

// Whether a frame of `expected` is worth leaving one that takes ns on fewer lanes.
static bool plan_is_worth(const struct plan_costs *costs, uint64_t expected, uint32_t lanes,
                          uint64_t ns)
{
    return expected < ns - ns / plan_part_over(costs, lanes);
}

// ---- more lanes ----

// More lanes than the shortest plan has, if they cost little: then no node stands behind another
// that the graph does not name.

// In a graph of more units and edges than this, trying all numbers takes too long.
#define MOST_TO_TRY_ALL 160000
// Lanes for nodes of unknown cost may make the frame this part longer, should the nodes be short.
#define PRICE_OF_GUESSES 2 // one part in
// The same of known costs. A kernel takes up to 15 % longer in one plan than in another. A device
// that orders the lanes itself makes up for that, unless few lanes force an order (docs/measured).
#define PRICE_OF_FREEDOM 32 // one part in
// It pays if launches take at most this part of the frame. Each lane makes them somewhat longer.
#define MOST_FOR_LAUNCHES 8 // one part in

// Numbers that are tried, as far as they are allowed.
static const uint32_t lane_numbers[NUM_LANE_NUMBERS] = { // rising, as far as allowed
    1,  2,  3,  4,  5,  6,  7,  8,  9,  10,  11,  12,  13,  14,   15,   16,   18,   20,    22,
    24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768
};

// Whether the graph is so big that trying all numbers takes too long.
static bool plan_is_big(const struct plan_tries *tries)
{
    return braid_plan_visits(tries->plan, 1) > MOST_TO_TRY_ALL;
}

static bool is_bearable(const struct plan_costs *costs, const struct plan_kept *best,
                        uint64_t expected)
{
    uint64_t price = costs->num_guessed ? PRICE_OF_GUESSES : PRICE_OF_FREEDOM;
    return expected <= best->ns + best->ns / price;
}

// Lanes that order fewer nodes let fewer buffers share memory.
static bool has_transients(const struct plan_graph *plan)
{
    uint32_t num = 0;
    while (num < plan->num_resources && !plan->resources[num].alignment)
        num++;
    return num < plan->num_resources;
}

// If costs are missing, a node may be the longest of all. Below a limit of the program's, more
// lanes never make a longer plan.
static bool needs_many(const struct plan_tries *tries, bool is_limited,
                       const struct plan_kept *best)
{
    const braid_cost_model *model = &tries->costs->model;
    return tries->costs->num_guessed ||
           (!is_limited && best->max_lanes > 1 && model->issue_ns && !model->host_issues &&
            !has_transients(tries->plan) &&
            plan_without_waits(tries, 0) <= best->ns / MOST_FOR_LAUNCHES);
}

// The graph gets as many lanes as may run at once. They must cost little, even if all nodes of
// unknown cost are as short as the model's default. Otherwise it gets the most that do. A graph too
// big to try all numbers gets one try.
static braid_status try_many(struct plan_tries *tries, uint32_t limit, struct plan_kept *best)
{
    bool found = false;
    for (size_t i = NUM_LANE_NUMBERS + 1; i-- > 0 && !found;) {
        uint32_t num = i < NUM_LANE_NUMBERS ? lane_numbers[i] : limit;
        uint64_t roots = (num - 1) * tries->costs->model.root_ns;
        if (num > limit || num <= best->max_lanes ||
            !is_bearable(tries->costs, best, braid_plan_lower_bound(tries->costs, num) + roots))
            continue;
        struct plan_placement other;
        const struct plan_limits limits = { num, true, UINT64_MAX };
        braid_status status = braid_plan_try(tries, &limits, &other);
        if (status)
            return status;
        found = is_bearable(tries->costs, best, braid_plan_length(tries, &other));
        if (found) {
            struct plan_placement fewer = best->placement;
            best->placement = other;
            other = fewer;
        }
        braid_plan_placement_finish(&other);
        found |= plan_is_big(tries);
    }
    return BRAID_OK;
}

// ---- lanes of each of several places ----

// Tries numbers of lanes for each of several places in rising order, and takes more where that is
// worth it, as with one place.

// A big graph is tried as often as visiting this many units and edges allows, but once at least.
#define MOST_VISITS 2000000

static const uint32_t candidates[] = { 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128 };
#define NUM_CANDIDATES (sizeof(candidates) / sizeof(candidates[0]))

// Takes the better one and finishes the other.
static void take_better(struct plan_tries *tries, struct plan_placement *best,
                        struct plan_placement *other)
{
    struct plan_placement worse = *other;
    uint64_t best_ns = braid_plan_length(tries, best);
    if (!other->given_up &&
        plan_is_worth(tries->costs, braid_plan_length(tries, other), best->num_lanes, best_ns)) {
        worse = *best;
        *best = *other;
    }
    braid_plan_placement_finish(&worse);
}

static braid_status try_more(struct plan_tries *tries, uint32_t limit, struct plan_placement *best)
{
    braid_status status = BRAID_OK;
    for (size_t i = 1; i <= NUM_CANDIDATES && !status && limit > 1; i++) {
        uint32_t num = i < NUM_CANDIDATES && candidates[i] < limit ? candidates[i] : limit;
        struct plan_placement other;
        const struct plan_limits limits = { num, true, braid_plan_length(tries, best) };
        if (tries->num_visits > MOST_VISITS)
            break;
        status = braid_plan_try(tries, &limits, &other);
        if (!status)
            take_better(tries, best, &other);
        if (num == limit)
            break;
    }
    return status;
}

// Places the graph on as many lanes on each place as are best, the same for all, up to a limit; or
// on that many. Errors: BRAID_NO_MEMORY.
static braid_status plan_on_sites(struct plan_tries *tries, uint32_t limit, bool is_fixed,
                                  struct plan_placement *out_placement)
{
    bool is_big = braid_plan_visits(tries->plan, 2) > MOST_VISITS;
    enum { LANES_OF_BIG_GRAPHS = 4 };
    uint32_t first = is_fixed ? limit : 1;
    if (is_big && !is_fixed)
        first = limit < LANES_OF_BIG_GRAPHS ? limit : LANES_OF_BIG_GRAPHS;
    struct plan_placement best;
    const struct plan_limits limits = { first, !is_fixed, UINT64_MAX };
    braid_status status = braid_plan_try(tries, &limits, &best);
    if (status)
        return status;
    if (!is_fixed && !is_big)
        status = try_more(tries, limit, &best);
    return braid_plan_placement_give(status, &best, out_placement);
}

// ---- the number of lanes ----

// The visits for trying fewer lanes besides: as many, or those of one try.
#define MOST_VISITS_FOR_FEWER 2000000
// With a fixed number of lanes, a graph of up to so many units and edges gets all numbers that it
// has a use for. A larger one gets a part of one try.
#define MOST_FOR_ALL_FEWER 200000
#define TRIES_FOR_ALL_FEWER 64
#define PART_FOR_FEWER 4 // one part in

// The visits to show that a small graph has no plan of use on some number of lanes.
#define MOST_VISITS_TO_RULE_OUT 100

#define MOST_LANES_CHOSEN 128
// In a graph of more units and edges, that no search improves, lists alone tell lengths.
#define MOST_TO_TRY_IN_VAIN 20000
#define MOST_IN_VAIN 2

uint32_t braid_plan_lane_limit(const struct plan_graph *plan, const struct plan_costs *costs,
                               const struct plan_options *options)
{
    uint32_t limit = options->max_lanes ? options->max_lanes : MOST_LANES_CHOSEN;
    if (!options->fixed_lanes && limit > braid_plan_most_at_once(costs))
        limit = braid_plan_most_at_once(costs);
    if (limit > plan->num_units)
        limit = plan->num_units;
    return limit ? limit : 1;
}

// Guesses the candidate with the best lower bound, and the fewest lanes on a tie.
static uint32_t guess_lanes(const struct plan_tries *tries, uint32_t limit)
{
    const struct plan_costs *costs = tries->costs;
    uint32_t best = 1;
    uint64_t best_ns = plan_without_waits(tries, costs->one_lane_ns);
    for (size_t i = 0; i <= NUM_LANE_NUMBERS; i++) {
        uint32_t num = i < NUM_LANE_NUMBERS && lane_numbers[i] < limit ? lane_numbers[i] : limit;
        uint64_t bound = braid_plan_lower_bound(costs, num) + (num - 1) * costs->model.root_ns;
        uint64_t expected = plan_without_waits(tries, bound);
        if (plan_is_worth(costs, expected, best, best_ns)) {
            best = num;
            best_ns = expected;
        }
    }
    return best;
}

struct choice {
    struct plan_tries *tries;
    struct array kept;    // struct plan_kept, by lanes, the first with the fewest
    uint64_t least_ns;    // the shortest's
    uint32_t least_lanes; // and its lanes
    uint32_t most_lanes;  // more change nothing: a plan left a lane unused
};

static struct plan_kept *first_kept(const struct choice *choice)
{
    return choice->kept.items;
}

// Frees plans that are worth leaving for the shortest one, and plans that are no shorter than one
// on fewer lanes.
static void drop_useless(struct choice *choice)
{
    struct plan_kept *kept = first_kept(choice);
    size_t num = 0;
    for (size_t i = 0; i < choice->kept.num; i++) {
        if (plan_is_worth(choice->tries->costs, choice->least_ns, kept[i].max_lanes, kept[i].ns) ||
            (num > 0 && kept[i].ns >= kept[num - 1].ns))
            braid_plan_placement_finish(&kept[i].placement);
        else
            kept[num++] = kept[i];
    }
    choice->kept.num = num;
}

// Takes the placement over, if only to free it.
static braid_status keep(struct choice *choice, uint32_t max_lanes,
                         struct plan_placement *placement, uint64_t ns)
{
    if (!braid_array_append(&choice->kept, 1, sizeof(struct plan_kept))) {
        braid_plan_placement_finish(placement);
        return braid_error_no_memory("the choice of lanes");
    }
    struct plan_kept *kept = first_kept(choice);
    size_t at = choice->kept.num - 1;
    for (; at > 0 && kept[at - 1].max_lanes > max_lanes; at--)
        kept[at] = kept[at - 1];
    kept[at] = (struct plan_kept){ max_lanes, ns, *placement };
    if (ns < choice->least_ns) {
        choice->least_ns = ns;
        choice->least_lanes = max_lanes;
    }
    drop_useless(choice);
    return BRAID_OK;
}

// Whether a plan on so many lanes would neither be taken nor show that the one with the fewest
// lanes is too long.
static bool is_hopeless(const struct choice *choice, uint32_t num_lanes)
{
    const struct plan_costs *costs = choice->tries->costs;
    const struct plan_kept *first = first_kept(choice);
    uint64_t bound = plan_bound_of(choice->tries, num_lanes);
    bool gains = costs->model.issue_ns ? plan_is_worth(costs, bound, first->max_lanes, first->ns)
                                       : bound < choice->least_ns;
    return plan_is_worth(costs, choice->least_ns, num_lanes, bound) ||
           (num_lanes > choice->least_lanes && !gains);
}

// On fewer lanes a plan may be somewhat longer than the shortest, and is taken.
static uint64_t longest_of_use(const struct choice *choice, uint32_t num_lanes)
{
    uint64_t part = plan_part_over(choice->tries->costs, num_lanes);
    return num_lanes > choice->least_lanes ? UINT64_MAX
                                           : choice->least_ns + choice->least_ns / (part - 1) + 1;
}

// Whether it is certain that a graph has no plan on so many lanes or fewer that takes less than
// limit_ns. The plans that are tried do not depend on it, so the choice keeps the order.
static bool is_ruled_out(const struct plan_tries *tries, uint32_t num_lanes, uint64_t limit_ns)
{
    const struct plan_exact_task task = { tries->plan, tries->costs,
                                          num_lanes,   MOST_VISITS_TO_RULE_OUT,
                                          limit_ns,    NULL };
    bool found;
    return braid_plan_is_exact(tries->plan, tries->costs) &&
           braid_plan_exact(&task, &found) == PLAN_EXACT_NONE;
}

// A plan that takes less than this is worth leaving the one with the fewest lanes.
static uint64_t worth_below(const struct choice *choice)
{
    const struct plan_kept *first = first_kept(choice);
    return first->ns - first->ns / plan_part_over(choice->tries->costs, first->max_lanes);
}

// Plans on more lanes than the shortest one has are of use if they take less than this.
static uint64_t limit_of_more(const struct choice *choice)
{
    return choice->tries->costs->model.issue_ns ? worth_below(choice) : choice->least_ns;
}

// Whether no plan on so many lanes is of use.
static bool is_useless(const struct choice *choice, uint32_t num_lanes)
{
    uint64_t limit_ns = num_lanes > choice->least_lanes ? limit_of_more(choice)
                                                        : longest_of_use(choice, num_lanes) + 1;
    return is_hopeless(choice, num_lanes) || is_ruled_out(choice->tries, num_lanes, limit_ns);
}

static braid_status try_lanes(struct choice *choice, uint32_t num_lanes, uint64_t give_up_ns)
{
    struct plan_placement placement;
    const struct plan_limits limits = { num_lanes, true, give_up_ns };
    braid_status status = braid_plan_try(choice->tries, &limits, &placement);
    if (status || placement.given_up)
        return status;
    if (choice->tries->num_lanes < num_lanes && num_lanes < choice->most_lanes)
        choice->most_lanes = num_lanes;
    return keep(choice, num_lanes, &placement, braid_plan_length(choice->tries, &placement));
}

// Whether to end after so many numbers of lanes in vain. In a large graph a few are enough. In a
// small one, so many gains and one more must still be possible, but no more than a few.
static bool is_enough(const struct choice *choice, uint32_t num_in_vain, bool is_large)
{
    uint64_t first_ns = first_kept(choice)->ns, gain_ns = first_ns / GAIN_OVER_FEWER_LANES;
    uint64_t least_ns = plan_bound_of(choice->tries, choice->most_lanes);
    uint32_t num = num_in_vain < MOST_IN_VAIN ? num_in_vain : MOST_IN_VAIN;
    return is_large ? num == MOST_IN_VAIN : first_ns <= least_ns + gain_ns * (num + 1);
}

// Candidates in rising order. The one that looks best is placed beforehand: few of the smaller ones
// can then still be as good. Above it no more are tried once enough plans are not worth their
// lanes; in a large graph, those below count. A higher limit has the same guess, or one above this
// limit, so it tries these candidates too.
static braid_status try_candidates(struct choice *choice, uint32_t guess)
{
    braid_status status = BRAID_OK;
    bool is_large = braid_plan_visits(choice->tries->plan, 1) > MOST_TO_TRY_IN_VAIN;
    uint32_t num_in_vain = 0;
    for (size_t i = 0; !status && i <= NUM_LANE_NUMBERS; i++) {
        uint32_t most = choice->most_lanes;
        uint32_t num = i < NUM_LANE_NUMBERS && lane_numbers[i] < most ? lane_numbers[i] : most;
        bool is_new = num > 1 && num != guess && !is_useless(choice, num);
        uint64_t limit_ns = worth_below(choice);
        if (is_new)
            status = try_lanes(choice, num, longest_of_use(choice, num));
        if (choice->least_ns < limit_ns || num <= first_kept(choice)->max_lanes)
            num_in_vain = 0;
        else
            num_in_vain += is_large ? is_new || num == guess : is_new && num > guess;
        if (num >= choice->most_lanes || (num >= guess && is_enough(choice, num_in_vain, is_large)))
            break;
    }
    return status;
}

// Candidates that may be shorter on fewer lanes than a guess, the most first.
static braid_status try_fewer(struct choice *choice)
{
    struct plan_tries *tries = choice->tries;
    uint64_t one = braid_plan_visits(tries->plan, 1);
    uint64_t most_visits =
        tries->num_visits + (one > MOST_VISITS_FOR_FEWER ? one : MOST_VISITS_FOR_FEWER);
    braid_status status = BRAID_OK;
    for (size_t i = NUM_LANE_NUMBERS; i-- > 0 && !status;) {
        if (lane_numbers[i] >= choice->most_lanes)
            continue;
        if (plan_bound_of(tries, lane_numbers[i]) >= choice->least_ns ||
            tries->num_visits >= most_visits)
            break;
        status = try_lanes(choice, lane_numbers[i], choice->least_ns - 1);
    }
    return status;
}

static braid_status try_numbers(struct choice *choice)
{
    if (is_ruled_out(choice->tries, choice->most_lanes, limit_of_more(choice)))
        return BRAID_OK;
    uint32_t guess = guess_lanes(choice->tries, choice->most_lanes);
    braid_status status = guess > 1 ? try_lanes(choice, guess, UINT64_MAX) : BRAID_OK;
    if (status || !plan_is_big(choice->tries))
        return status ? status : try_candidates(choice, guess);
    choice->most_lanes = guess;
    return try_fewer(choice);
}

// Takes the first of the kept plans, and frees the others.
static struct plan_kept take_first(struct choice *choice)
{
    struct plan_kept first = *first_kept(choice);
    for (size_t i = 1; i < choice->kept.num; i++)
        braid_plan_placement_finish(&first_kept(choice)[i].placement);
    braid_array_finish(&choice->kept);
    return first;
}

// If a limit of the program's is no candidate, takes the next lower one. No plan of a higher limit
// would have been compared with that of the limit.
static uint32_t round_limit(const struct plan_tries *tries, uint32_t limit)
{
    uint32_t most = limit;
    if (limit == tries->plan->num_units || limit == tries->costs->model.max_concurrent)
        return limit;
    for (size_t i = 0; i < NUM_LANE_NUMBERS && lane_numbers[i] <= limit; i++)
        most = lane_numbers[i];
    return most;
}

static braid_status choose(struct plan_tries *tries, uint32_t limit, bool is_limited,
                           struct plan_placement *out_placement)
{
    uint64_t one_ns = plan_without_waits(tries, tries->costs->one_lane_ns);
    struct choice choice = {
        .tries = tries, .least_ns = one_ns, .least_lanes = 1, .most_lanes = limit
    };
    braid_status status = keep(&choice, 1, &(struct plan_placement){ 0 }, one_ns);
    if (status)
        return status;
    status = try_numbers(&choice);
    struct plan_kept best = take_first(&choice);
    if (!status && needs_many(tries, is_limited, &best))
        status = try_many(tries, limit, &best);
    if (!status && !best.placement.issued)
        return braid_plan_try(tries, &(struct plan_limits){ 1, .give_up_ns = UINT64_MAX },
                              out_placement);
    if (status)
        braid_plan_placement_finish(&best.placement);
    else
        *out_placement = best.placement;
    return status;
}

// As many as allowed, or fewer where that makes a shorter plan. Below the number of a plan that is
// the shortest of all, only one as long with fewer waits may be found.
static braid_status place_fixed(struct plan_tries *tries, uint32_t limit,
                                struct plan_placement *out_placement)
{
    const struct plan_limits all = { limit, false, UINT64_MAX };
    struct plan_placement best, other;
    braid_status status = braid_plan_try(tries, &all, &best);
    if (status)
        return status;
    uint64_t one = braid_plan_visits(tries->plan, 1);
    uint64_t most_visits =
        tries->num_visits +
        (one > MOST_FOR_ALL_FEWER ? one / PART_FOR_FEWER : one * TRIES_FOR_ALL_FEWER);
    uint32_t most = tries->is_shortest ? best.num_lanes : tries->most_lanes;
    bool is_shortest = tries->is_shortest;
    for (size_t i = NUM_LANE_NUMBERS; i-- > 0 && !status;) {
        if (lane_numbers[i] >= most)
            continue;
        if (braid_plan_lower_bound(tries->costs, lane_numbers[i]) >= best.makespan_ns ||
            tries->num_visits >= most_visits ||
            (is_shortest && is_ruled_out(tries, lane_numbers[i], best.makespan_ns + 1)))
            break;
        const struct plan_limits fewer = { lane_numbers[i], true, best.makespan_ns - 1 };
        status = braid_plan_try(tries, &fewer, &other);
        if (!status)
            braid_plan_keep_shorter(tries, &best, &other);
        is_shortest |= tries->is_shortest;
    }
    return braid_plan_placement_give(status, &best, out_placement);
}

braid_status braid_plan_best(const struct plan_graph *plan, const struct plan_costs *costs,
                             const struct plan_options *options,
                             struct plan_placement *out_placement)
{
    bool fixed = options->fixed_lanes && options->max_lanes;
    bool is_apart = fixed && options->max_lanes == BRAID_ALL_LANES;
    uint32_t limit = braid_plan_lane_limit(plan, costs, options);
    struct plan_placement best = { 0 };
    struct plan_tries tries;
    braid_status status = braid_plan_tries_create(plan, costs, fixed, &tries);
    if (status)
        return status;
    // No search follows: it would join lanes to save waits.
    const struct plan_limits apart = { limit, false, UINT64_MAX, true };
    if (is_apart)
        status = braid_plan_list(plan, costs, &tries.by_bottom, &apart, &best);
    else if (plan->num_places > 1)
        status = plan_on_sites(&tries, limit, fixed, &best);
    else
        status = fixed ? place_fixed(&tries, limit, &best)
                       : choose(&tries, round_limit(&tries, limit), options->max_lanes, &best);
    braid_plan_tries_finish(&tries);
    return braid_plan_placement_give(status, &best, out_placement);
}
