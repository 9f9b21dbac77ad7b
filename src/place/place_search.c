// SPDX-License-Identifier: Apache-2.0
// Local search: a unit, mostly one that the end of the frame waits for, moves to another place,
// alone or with what is tied to it by edges there. What makes the frame no longer is kept.
#include "place/place_search.h"

#include <string.h>

#include "base/error.h"

struct search {
    const struct place_task *task;
    const uint32_t *order;
    struct place_times *times;
    uint8_t *best, *tried; // per unit
    uint64_t best_ns;
    uint32_t *chain; // units that the end of the best frame waits for, last to first
    uint32_t num_chain;
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

// Of what a unit waits for, what ends last; GRAPH_NONE: it waits for nothing.
static uint32_t find_cause(const struct search *search, uint32_t unit)
{
    const struct plan_graph *plan = search->task->plan;
    uint32_t cause = PLAN_NONE;
    for (uint32_t k = 0; k < plan_unit_size(plan, unit); k++) {
        uint32_t node = plan_unit_member(plan, unit, k);
        for (uint32_t e = plan->pred_first[node]; e < plan->pred_first[node + 1]; e++) {
            uint32_t pred = plan_unit_of(plan, plan->pred_nodes[e]);
            if (cause == PLAN_NONE || search->times->end_ns[pred] > search->times->end_ns[cause])
                cause = pred;
        }
    }
    return cause;
}

static void find_chain(struct search *search)
{
    uint32_t last = 0;
    for (uint32_t unit = 1; unit < search->task->plan->num_units; unit++) {
        if (search->times->end_ns[unit] > search->times->end_ns[last])
            last = unit;
    }
    search->num_chain = 0;
    for (uint32_t unit = last; unit != PLAN_NONE; unit = find_cause(search, unit))
        search->chain[search->num_chain++] = unit;
}

static void move(struct search *search, uint32_t unit, uint32_t to)
{
    if (search->task->allowed[unit] >> to & 1)
        search->tried[unit] = (uint8_t)to;
}

static void move_preds(struct search *search, uint32_t unit, uint32_t to, uint32_t depth)
{
    const struct plan_graph *plan = search->task->plan;
    uint32_t node = plan_first_member(plan, unit);
    move(search, unit, to);
    for (uint32_t e = plan->pred_first[node]; e < plan->pred_first[node + 1] && depth; e++)
        move_preds(search, plan_unit_of(plan, plan->pred_nodes[e]), to, depth - 1);
}

static void move_run(struct search *search, uint32_t unit, uint32_t to)
{
    uint32_t num = 1 + random_below(search, 8);
    const struct plan_graph *plan = search->task->plan;
    for (; num-- > 0 && unit != PLAN_NONE;) {
        move(search, unit, to);
        uint32_t node = plan_last_member(plan, unit), first = plan->succ_first[node];
        uint32_t num_succs = plan->succ_first[node + 1] - first;
        unit = num_succs
                   ? plan_unit_of(plan, plan->succ_nodes[first + random_below(search, num_succs)])
                   : PLAN_NONE;
    }
}

static void move_some(struct search *search)
{
    uint32_t num_units = search->task->plan->num_units;
    bool from_chain = random_below(search, 4) > 0;
    uint32_t unit = from_chain ? search->chain[random_below(search, search->num_chain)]
                               : random_below(search, num_units);
    uint32_t to = random_below(search, search->task->num_places);
    memcpy(search->tried, search->best, num_units);
    switch (random_below(search, 3)) {
    case 0:
        move(search, unit, to);
        break;
    case 1:
        move_run(search, unit, to);
        break;
    default:
        move_preds(search, unit, to, 1);
        break;
    }
}

static bool step(struct search *search)
{
    uint32_t num_units = search->task->plan->num_units;
    move_some(search);
    if (memcmp(search->tried, search->best, num_units) == 0)
        return true;
    if (!braid_place_follow(search->order, search->tried, search->times))
        return false;
    uint64_t ns = braid_place_times_frame(search->times);
    if (ns > search->best_ns)
        return true;
    memcpy(search->best, search->tried, num_units);
    search->best_ns = ns;
    find_chain(search);
    return true;
}

braid_status braid_place_search(const struct place_task *task, const uint32_t *order,
                                uint32_t num_tries, struct place_times *times, uint8_t *place_of)
{
    uint32_t num = task->plan->num_units;
    if (!num || !num_tries)
        return BRAID_OK;
    struct search search = { .task = task,
                             .order = order,
                             .times = times,
                             .best = place_of,
                             .tried = braid_allocate_zeroed(num, 1),
                             .chain = braid_allocate_zeroed(num, sizeof(uint32_t)) };
    bool done = search.tried && search.chain && braid_place_follow(order, place_of, times);
    if (done) {
        search.best_ns = braid_place_times_frame(times);
        find_chain(&search);
    }
    for (uint32_t i = 0; i < num_tries && done; i++)
        done = step(&search);
    free(search.tried);
    free(search.chain);
    return done ? BRAID_OK : braid_error_no_memory("the places of a plan");
}
