// SPDX-License-Identifier: Apache-2.0
// Hopcroft-Karp. Each round finds the distance of every node from one that follows none, along
// alternating paths. Then it turns round a maximal set of shortest ones.
#include <stdlib.h>

#include "plan_policies_match.h"

#include "base/array.h"
#include "base/error.h"

struct match {
    const struct plan_graph *plan;
    const bool *implied;
    uint32_t *before;   // per node the one it follows, or PLAN_NONE
    uint32_t *after;    // per node the one that follows it, or PLAN_NONE
    uint32_t *distance; // per node, in this round; PLAN_NONE: not reached
    uint32_t *next;     // per node its next edge to try in this round
    uint32_t *queue;    // nodes; then the path searched
};

// The node that a node follows in its unit, or by a hint, with any edges; or PLAN_NONE.
static uint32_t fixed_before(const struct match *match, uint32_t node)
{
    const struct plan_graph *plan = match->plan;
    uint32_t before = plan_member_before(plan, node);
    if (before != PLAN_NONE || !plan->hint_before)
        return before;
    uint32_t unit = plan->hint_before[plan_unit_of(plan, node)];
    return unit == PLAN_NONE ? PLAN_NONE : plan_last_member(plan, unit);
}

// Whether a node may come right behind the one that an edge leads from: no edge of a lane leads
// from one place to another.
static bool can_follow(const struct match *match, uint32_t node, uint32_t edge)
{
    const struct plan_graph *plan = match->plan;
    return !match->implied[edge] &&
           plan_place_of(plan, plan->pred_nodes[edge]) == plan_place_of(plan, node);
}

static void pair(struct match *match, uint32_t before, uint32_t node)
{
    match->before[node] = before;
    match->after[before] = node;
}

static void match_greedily(struct match *match)
{
    const struct plan_graph *plan = match->plan;
    for (uint32_t node = 0; node < plan->num_nodes; node++)
        match->before[node] = match->after[node] = PLAN_NONE;
    for (uint32_t node = 0; node < plan->num_nodes; node++) {
        uint32_t before = fixed_before(match, node);
        if (before != PLAN_NONE)
            pair(match, before, node);
    }
    for (uint32_t node = 0; node < plan->num_nodes; node++) {
        for (uint32_t e = plan->pred_first[node];
             e < plan->pred_first[node + 1] && match->before[node] == PLAN_NONE; e++) {
            uint32_t pred = plan->pred_nodes[e];
            if (can_follow(match, node, e) && match->after[pred] == PLAN_NONE)
                pair(match, pred, node);
        }
    }
}

// Distances along edge, pair, edge, pair, ... Returns whether some path ends at a node that nobody
// follows yet.
static bool find_distances(struct match *match)
{
    const struct plan_graph *plan = match->plan;
    uint32_t num = 0;
    bool found = false;
    for (uint32_t node = 0; node < plan->num_nodes; node++) {
        match->next[node] = plan->pred_first[node];
        match->distance[node] = PLAN_NONE;
        if (match->before[node] != PLAN_NONE)
            continue;
        match->distance[node] = 0;
        match->queue[num++] = node;
    }
    for (uint32_t i = 0; i < num; i++) {
        uint32_t node = match->queue[i];
        for (uint32_t e = plan->pred_first[node]; e < plan->pred_first[node + 1]; e++) {
            uint32_t rival = match->after[plan->pred_nodes[e]];
            if (!can_follow(match, node, e))
                continue;
            if (rival == PLAN_NONE) {
                found = true;
            } else if (match->distance[rival] == PLAN_NONE &&
                       fixed_before(match, rival) == PLAN_NONE) {
                match->distance[rival] = match->distance[node] + 1;
                match->queue[num++] = rival;
            }
        }
    }
    return found;
}

// Depth first from `node` along growing distances; turns the path round where it ends free. Each
// edge is tried once a round, so a round is linear. next[node] - 1 is the edge a node goes by.
static bool turn_path(struct match *match, uint32_t node)
{
    const struct plan_graph *plan = match->plan;
    uint32_t depth = 0;
    match->queue[0] = node;
    for (;;) {
        node = match->queue[depth];
        if (match->next[node] == plan->pred_first[node + 1]) {
            if (depth == 0)
                return false;
            depth--;
            continue;
        }
        uint32_t e = match->next[node]++;
        if (!can_follow(match, node, e))
            continue;
        uint32_t rival = match->after[plan->pred_nodes[e]];
        if (rival == PLAN_NONE)
            break;
        if (match->distance[rival] == match->distance[node] + 1)
            match->queue[++depth] = rival;
    }
    for (uint32_t i = depth + 1; i-- > 0;) {
        node = match->queue[i];
        pair(match, plan->pred_nodes[match->next[node] - 1], node);
    }
    return true;
}

static void match_all(struct match *match)
{
    match_greedily(match);
    bool grew = true;
    while (grew && find_distances(match)) {
        grew = false;
        for (uint32_t node = 0; node < match->plan->num_nodes; node++) {
            if (match->before[node] == PLAN_NONE)
                grew |= turn_path(match, node);
        }
    }
}

braid_status bench_plan_match(const struct plan_graph *plan, const bool *implied,
                              uint32_t **out_before)
{
    size_t bytes = ((size_t)plan->num_nodes + 1) * sizeof(uint32_t);
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
