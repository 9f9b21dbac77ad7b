// SPDX-License-Identifier: Apache-2.0
// Tries numbers of lanes for each of several places in rising order, and takes more where that is
// worth it, as with one place.
#include "plan/plan_site_lanes.h"

#include "plan/plan_lane_gain.h"
#include "plan/plan_search.h"

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
    if (!other->given_up && braid_plan_is_worth(tries->costs, braid_plan_length(tries, other),
                                                best->num_lanes, best_ns)) {
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

braid_status braid_plan_on_sites(struct plan_tries *tries, uint32_t limit, bool is_fixed,
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
    if (status)
        braid_plan_placement_finish(&best);
    else
        *out_placement = best;
    return status;
}
