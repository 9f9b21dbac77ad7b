// SPDX-License-Identifier: Apache-2.0
// More lanes than the shortest plan has, if they cost little: then no node stands behind another
// that the graph does not name.
#include "plan/plan_more_lanes.h"

#include "plan/plan_lane_gain.h"
#include "plan/plan_search.h"

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
const uint32_t braid_plan_lane_numbers[NUM_LANE_NUMBERS] = {
    1,  2,  3,  4,  5,  6,  7,  8,  9,  10,  11,  12,  13,  14,   15,   16,   18,   20,    22,
    24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768
};

bool braid_plan_is_big(const struct plan_tries *tries)
{
    return braid_plan_visits(tries->plan, 1) > MOST_TO_TRY_ALL;
}

static uint64_t find_price(const struct plan_costs *costs)
{
    return costs->num_guessed ? PRICE_OF_GUESSES : PRICE_OF_FREEDOM;
}

static bool is_bearable(const struct plan_costs *costs, const struct plan_kept *best,
                        uint64_t expected)
{
    return expected <= best->ns + best->ns / find_price(costs);
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
            braid_plan_without_waits(tries, 0) <= best->ns / MOST_FOR_LAUNCHES);
}

// The graph gets as many lanes as may run at once. They must cost little, even if all nodes of
// unknown cost are as short as the model's default. Otherwise it gets the most that do. A graph too
// big to try all numbers gets one try.
static braid_status try_many(struct plan_tries *tries, uint32_t limit, struct plan_kept *best)
{
    bool found = false;
    for (size_t i = NUM_LANE_NUMBERS + 1; i-- > 0 && !found;) {
        uint32_t num = i < NUM_LANE_NUMBERS ? braid_plan_lane_numbers[i] : limit;
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
        found |= braid_plan_is_big(tries);
    }
    return BRAID_OK;
}

braid_status braid_plan_try_more_lanes(struct plan_tries *tries, uint32_t limit, bool is_limited,
                                       struct plan_kept *best)
{
    return needs_many(tries, is_limited, best) ? try_many(tries, limit, best) : BRAID_OK;
}
