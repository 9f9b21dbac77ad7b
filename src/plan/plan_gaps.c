// SPDX-License-Identifier: Apache-2.0
// List scheduling into gaps: ISH (B. Kruatrachue and T. Lewis, 1988), and HEFT and CPOP
// (H. Topcuoglu, S. Hariri and M.-Y. Wu, 2002). The lanes start in the order of their numbers.
#include "plan/plan_gaps.h"

#include <stdlib.h>
#include <string.h>

#include "plan/plan_chains.h"

// The units of a lane, the earliest first, as a list: `first` by lane, `next` by unit.
struct gaps {
    struct plan_pass *pass;
    uint32_t *first, *next;
};

// A unit's place on a lane: behind another unit there, or PLAN_NONE.
struct gap {
    uint64_t start_ns;
    uint32_t lane, behind;
};

// The heaviest path from the start of the graph to each unit's start counts against its key.
static void subtract_tops(struct plan_pass *pass)
{
    const struct plan_graph *plan = pass->plan;
    uint64_t *tops = pass->scratch[0];
    for (uint32_t i = 0; i < plan->num_nodes; i++) {
        const uint32_t node = plan_ordered_node(plan, i);
        tops[node] = 0;
        for (uint32_t e = plan->pred_first[node]; e < plan->pred_first[node + 1]; e++) {
            const uint32_t pred = plan->pred_nodes[e];
            const uint64_t seen = tops[pred] + pass->length_ns[pred] + pass->costs->model.wait_ns;
            tops[node] = seen > tops[node] ? seen : tops[node];
        }
        pass->keys[node] -= tops[node];
    }
}

// The work of a unit's successors. Edges that others imply do not count: they change no plan.
static braid_status key_by_successors(struct plan_pass *pass)
{
    const struct plan_graph *plan = pass->plan;
    bool *implied;
    braid_status status = braid_plan_reduce(plan, &implied);
    if (status)
        return status;
    for (uint32_t unit = 0; unit < plan->num_units; unit++)
        pass->keys[unit] = INT64_MAX;
    for (uint32_t unit = 0; unit < plan->num_units; unit++)
        for (uint32_t e = plan->pred_first[unit]; e < plan->pred_first[unit + 1]; e++)
            pass->keys[plan->pred_nodes[e]] -= implied[e] ? 0 : pass->length_ns[unit];
    free(implied);
    return BRAID_OK;
}

// Equal ones go by the path ahead without waits.
static braid_status rank(struct plan_pass *pass, enum gaps_order order)
{
    braid_status status = BRAID_OK;
    braid_plan_pass_order_by_path(pass);
    if (order == GAPS_PATH)
        return BRAID_OK;
    if (order == GAPS_SUCCESSORS)
        status = key_by_successors(pass);
    else
        braid_plan_pass_key_by_path(pass, pass->costs->model.wait_ns);
    if (order == GAPS_THROUGH)
        subtract_tops(pass);
    if (!status)
        braid_plan_pass_rank(pass);
    return status;
}

// On a lane with gaps a unit does not start before the end of those that it comes after.
static uint64_t seen_on(const struct plan_pass *pass, const struct arrival *arrival, uint32_t lane)
{
    if (lane != arrival->lane)
        return arrival->first_ns;
    const uint64_t end_ns = arrival->first_ns - pass->costs->model.wait_ns;
    return end_ns > arrival->second_ns ? end_ns : arrival->second_ns;
}

// The first gap of a lane in which a unit fits.
static struct gap find_gap(const struct gaps *gaps, const struct arrival *arrival, uint32_t unit,
                           uint32_t lane)
{
    const struct plan_pass *pass = gaps->pass;
    const uint64_t between_ns = pass->costs->model.node_ns;
    struct gap gap = { seen_on(pass, arrival, lane), lane, .behind = PLAN_NONE };
    for (uint32_t next = gaps->first[lane]; next != PLAN_NONE; next = gaps->next[next]) {
        if (gap.start_ns + pass->length_ns[unit] + between_ns <= pass->start_ns[next])
            break;
        const uint64_t free_ns = pass->start_ns[next] + pass->length_ns[next] + between_ns;
        gap.start_ns = free_ns > gap.start_ns ? free_ns : gap.start_ns;
        gap.behind = next;
    }
    return gap;
}

static void put(struct gaps *gaps, uint32_t unit)
{
    struct plan_pass *pass = gaps->pass;
    const struct arrival arrival = braid_plan_pass_arrival(pass, unit);
    struct gap best = find_gap(gaps, &arrival, unit, 0);
    for (uint32_t lane = 1; lane < pass->max_lanes; lane++) {
        const struct gap gap = find_gap(gaps, &arrival, unit, lane);
        best = gap.start_ns < best.start_ns ? gap : best;
    }
    uint32_t *link = best.behind == PLAN_NONE ? &gaps->first[best.lane] : &gaps->next[best.behind];
    gaps->next[unit] = *link;
    *link = unit;
    pass->start_ns[unit] = best.start_ns;
    pass->lane_of[unit] = best.lane;
}

static void place_all(struct gaps *gaps)
{
    struct plan_pass *pass = gaps->pass;
    const struct plan_graph *plan = pass->plan;
    for (uint32_t unit = 0; unit < plan->num_units; unit++) {
        pass->left[unit] = plan->pred_first[unit + 1] - plan->pred_first[unit];
        if (!pass->left[unit])
            plan_bits_add(&pass->ready, pass->ranks.rank_of[unit]);
    }
    for (uint32_t num = 0; num < plan->num_units; num++) {
        const uint32_t rank = plan_bits_lowest(&pass->ready), unit = pass->ranks.unit_at[rank];
        plan_bits_remove(&pass->ready, rank);
        put(gaps, unit);
        pass->sequence[num] = unit;
        for (uint32_t e = plan->succ_first[unit]; e < plan->succ_first[unit + 1]; e++)
            if (--pass->left[plan->succ_nodes[e]] == 0)
                plan_bits_add(&pass->ready, pass->ranks.rank_of[plan->succ_nodes[e]]);
    }
}

bool braid_plan_has_gaps(const struct plan_pass *pass)
{
    enum { MOST_UNITS = 1024 }; // a unit looks at all units placed before
    return pass->is_plain && !pass->plan->hint_of && pass->plan->num_units <= MOST_UNITS;
}

// Without bundles a unit is a node. The lists are in room that a pass does not need between runs.
braid_status braid_plan_gaps_run(struct plan_pass *pass, enum gaps_order order)
{
    braid_status status = rank(pass, order);
    if (status)
        return status;
    struct gaps gaps = { pass, pass->renamed, pass->pins };
    memset(gaps.first, 0xff, pass->max_lanes * sizeof(*gaps.first));
    place_all(&gaps);
    memcpy(pass->keys, pass->start_ns, pass->plan->num_units * sizeof(*pass->keys));
    memcpy(pass->pins, pass->lane_of, pass->plan->num_units * sizeof(*pass->pins));
    pass->mode = PASS_BY_KEY;
    return BRAID_OK;
}
