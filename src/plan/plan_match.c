// SPDX-License-Identifier: Apache-2.0
// Hopcroft-Karp: each round finds the distance of every unit from one that follows nobody, along
// alternating paths, then turns round a maximal set of shortest ones.
#include "plan/plan_match.h"

#include "base/array.h"
#include "base/error.h"

struct match {
    const struct plan_graph *plan;
    const bool *implied;
    uint32_t *before;   // per unit the one it follows, or PLAN_NONE
    uint32_t *after;    // per unit the one that follows it, or PLAN_NONE
    uint32_t *distance; // per unit, in this round; PLAN_NONE: not reached
    uint32_t *next;     // per unit its next edge to try in this round
    uint32_t *queue;    // units; then the path searched
};

static bool is_fixed(const struct match *match, uint32_t unit)
{
    return match->plan->hint_before && match->plan->hint_before[unit] != PLAN_NONE;
}

static void pair(struct match *match, uint32_t before, uint32_t unit)
{
    match->before[unit] = before;
    match->after[before] = unit;
}

static void match_greedily(struct match *match)
{
    const struct plan_graph *plan = match->plan;
    for (uint32_t unit = 0; unit < plan->num_units; unit++)
        match->before[unit] = match->after[unit] = PLAN_NONE;
    for (uint32_t unit = 0; unit < plan->num_units; unit++) {
        if (is_fixed(match, unit))
            pair(match, plan->hint_before[unit], unit);
    }
    for (uint32_t unit = 0; unit < plan->num_units; unit++) {
        for (uint32_t e = plan->pred_first[unit];
             e < plan->pred_first[unit + 1] && match->before[unit] == PLAN_NONE; e++) {
            uint32_t pred = plan->pred_units[e];
            if (!match->implied[e] && match->after[pred] == PLAN_NONE)
                pair(match, pred, unit);
        }
    }
}

// Distances along edge, pair, edge, pair, ... Returns whether some path ends at a unit that nobody
// follows yet.
static bool find_distances(struct match *match)
{
    const struct plan_graph *plan = match->plan;
    uint32_t num = 0;
    bool found = false;
    for (uint32_t unit = 0; unit < plan->num_units; unit++) {
        match->next[unit] = plan->pred_first[unit];
        match->distance[unit] = PLAN_NONE;
        if (match->before[unit] != PLAN_NONE)
            continue;
        match->distance[unit] = 0;
        match->queue[num++] = unit;
    }
    for (uint32_t i = 0; i < num; i++) {
        uint32_t unit = match->queue[i];
        for (uint32_t e = plan->pred_first[unit]; e < plan->pred_first[unit + 1]; e++) {
            uint32_t rival = match->after[plan->pred_units[e]];
            if (match->implied[e])
                continue;
            if (rival == PLAN_NONE) {
                found = true;
            } else if (match->distance[rival] == PLAN_NONE && !is_fixed(match, rival)) {
                match->distance[rival] = match->distance[unit] + 1;
                match->queue[num++] = rival;
            }
        }
    }
    return found;
}

// Depth first from `unit` along growing distances; turns the path round where it ends free. Each
// edge is tried once a round, so a round is linear. next[unit] - 1 is the edge a unit goes by.
static bool turn_path(struct match *match, uint32_t unit)
{
    const struct plan_graph *plan = match->plan;
    uint32_t depth = 0;
    match->queue[0] = unit;
    for (;;) {
        unit = match->queue[depth];
        if (match->next[unit] == plan->pred_first[unit + 1]) {
            if (depth == 0)
                return false;
            depth--;
            continue;
        }
        uint32_t e = match->next[unit]++;
        if (match->implied[e])
            continue;
        uint32_t rival = match->after[plan->pred_units[e]];
        if (rival == PLAN_NONE)
            break;
        if (match->distance[rival] == match->distance[unit] + 1)
            match->queue[++depth] = rival;
    }
    for (uint32_t i = depth + 1; i-- > 0;) {
        unit = match->queue[i];
        pair(match, plan->pred_units[match->next[unit] - 1], unit);
    }
    return true;
}

static void match_all(struct match *match)
{
    match_greedily(match);
    bool grew = true;
    while (grew && find_distances(match)) {
        grew = false;
        for (uint32_t unit = 0; unit < match->plan->num_units; unit++) {
            if (match->before[unit] == PLAN_NONE)
                grew |= turn_path(match, unit);
        }
    }
}

braid_status braid_plan_match(const struct plan_graph *plan, const bool *implied,
                              uint32_t **out_before)
{
    size_t bytes = ((size_t)plan->num_units + 1) * sizeof(uint32_t);
    struct match match = {
        .plan = plan,
        .implied = implied,
        .before = malloc(bytes),
        .after = malloc(bytes),
        .distance = malloc(bytes),
        .next = malloc(bytes),
        .queue = malloc(bytes),
    };
    bool done = match.before && match.after && match.distance && match.next && match.queue;
    if (done)
        match_all(&match);
    free(match.after);
    free(match.distance);
    free(match.next);
    free(match.queue);
    if (!done) {
        free(match.before);
        return braid_error_no_memory("the chains of a plan");
    }
    *out_before = match.before;
    return BRAID_OK;
}
