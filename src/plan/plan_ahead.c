// SPDX-License-Identifier: Apache-2.0
// HEFT with lookahead (L. Bittencourt, R. Sakellariou and E. Madeira, 2010): a unit goes to the
// lane after which the paths ahead of its successors end first. It may go into a gap in front of
// units that were placed before it. The lanes start in the order of their numbers.
#include "plan/plan_ahead.h"

#include <string.h>

enum { NUM_SOONEST = 3 };

// The units of a lane, the earliest first, as a list: `first` by lane, `next` by unit.
struct lookahead {
    struct plan_pass *pass;
    uint32_t *first, *next;
    uint64_t *free_ns; // by lane: when its last unit has ended
    uint32_t soonest[NUM_SOONEST];
    int num_soonest;
};

// Where a unit stands on a lane: behind another unit there, or PLAN_NONE.
struct gap {
    uint64_t start_ns;
    uint32_t lane, behind;
};

// On a lane with gaps a unit does not start before the end of those that it comes after.
static uint64_t seen_on(const struct plan_pass *pass, const struct arrival *arrival, uint32_t lane)
{
    if (lane != arrival->lane)
        return arrival->first_ns;
    const uint64_t end_ns = arrival->first_ns - pass->costs->model.wait_ns;
    return end_ns > arrival->second_ns ? end_ns : arrival->second_ns;
}

// The first gap of a lane in which a unit fits.
static struct gap find_gap(const struct lookahead *ahead, const struct arrival *arrival,
                           uint32_t unit, uint32_t lane)
{
    const struct plan_pass *pass = ahead->pass;
    const uint64_t between_ns = pass->costs->model.node_ns;
    struct gap gap = { seen_on(pass, arrival, lane), lane, .behind = PLAN_NONE };
    for (uint32_t next = ahead->first[lane]; next != PLAN_NONE; next = ahead->next[next]) {
        if (gap.start_ns + pass->length_ns[unit] + between_ns <= pass->start_ns[next])
            break;
        const uint64_t free_ns = pass->start_ns[next] + pass->length_ns[next] + between_ns;
        gap.start_ns = free_ns > gap.start_ns ? free_ns : gap.start_ns;
        gap.behind = next;
    }
    return gap;
}

static uint64_t path_ahead(const struct plan_pass *pass, uint32_t unit)
{
    return INT64_MAX - pass->keys[unit];
}

// When a lane is free, behind all its units; or behind one more, in a gap there.
static uint64_t free_on(const struct lookahead *ahead, const struct gap *gap, uint32_t unit,
                        uint32_t lane)
{
    const struct plan_pass *pass = ahead->pass;
    const uint64_t end_ns =
        gap->lane == lane ? gap->start_ns + pass->length_ns[unit] + pass->costs->model.node_ns : 0;
    return end_ns > ahead->free_ns[lane] ? end_ns : ahead->free_ns[lane];
}

// When a successor of the unit in a gap can start, behind the units of some lane.
static uint64_t start_behind(const struct lookahead *ahead, const struct gap *gap, uint32_t unit,
                             uint32_t succ)
{
    const struct plan_pass *pass = ahead->pass;
    struct arrival arrival = pass->arrivals[succ];
    uint64_t least_ns = UINT64_MAX;
    plan_arrive(&arrival, gap->start_ns + pass->length_ns[unit] + pass->costs->model.wait_ns,
                gap->lane);
    const uint32_t lanes[] = { arrival.lane, gap->lane, ahead->soonest[0], ahead->soonest[1],
                               ahead->soonest[2] };
    for (int i = 0; i < 2 + ahead->num_soonest; i++) {
        const uint64_t seen_ns = seen_on(pass, &arrival, lanes[i]);
        const uint64_t free_ns = free_on(ahead, gap, unit, lanes[i]);
        const uint64_t start_ns = free_ns > seen_ns ? free_ns : seen_ns;
        least_ns = start_ns < least_ns ? start_ns : least_ns;
    }
    return least_ns;
}

// When the last path ahead of the unit and of its successors ends, if the unit is put into a gap.
static uint64_t end_of_paths(const struct lookahead *ahead, const struct gap *gap, uint32_t unit)
{
    const struct plan_pass *pass = ahead->pass;
    const struct plan_graph *plan = pass->plan;
    uint64_t last_ns = gap->start_ns + path_ahead(pass, unit);
    for (uint32_t e = plan->succ_first[unit]; e < plan->succ_first[unit + 1]; e++) {
        const uint32_t succ = plan->succ_nodes[e];
        const uint64_t end_ns = start_behind(ahead, gap, unit, succ) + path_ahead(pass, succ);
        last_ns = end_ns > last_ns ? end_ns : last_ns;
    }
    return last_ns;
}

// The lanes that are free first. Beside a successor's own two lanes no other can be better.
static void find_soonest(struct lookahead *ahead)
{
    ahead->num_soonest = 0;
    for (uint32_t lane = 0; lane < ahead->pass->max_lanes; lane++) {
        int at = ahead->num_soonest;
        while (at > 0 && ahead->free_ns[ahead->soonest[at - 1]] > ahead->free_ns[lane])
            at--;
        if (at == NUM_SOONEST)
            continue;
        ahead->num_soonest += ahead->num_soonest < NUM_SOONEST;
        for (int i = ahead->num_soonest - 1; i > at; i--)
            ahead->soonest[i] = ahead->soonest[i - 1];
        ahead->soonest[at] = lane;
    }
}

// The successors wait for the unit from now on.
static void tell_successors(struct lookahead *ahead, const struct gap *gap, uint32_t unit)
{
    struct plan_pass *pass = ahead->pass;
    const struct plan_graph *plan = pass->plan;
    const uint64_t end_ns = gap->start_ns + pass->length_ns[unit];
    for (uint32_t e = plan->succ_first[unit]; e < plan->succ_first[unit + 1]; e++)
        plan_arrive(&pass->arrivals[plan->succ_nodes[e]], end_ns + pass->costs->model.wait_ns,
                    gap->lane);
    ahead->free_ns[gap->lane] = free_on(ahead, gap, unit, gap->lane);
}

// Where the paths ahead end first, and on a tie where the unit starts first.
static struct gap choose_gap(struct lookahead *ahead, uint32_t unit)
{
    const struct plan_pass *pass = ahead->pass;
    const struct arrival arrival = braid_plan_pass_arrival(pass, unit);
    struct gap best = find_gap(ahead, &arrival, unit, 0);
    find_soonest(ahead);
    uint64_t best_ns = end_of_paths(ahead, &best, unit);
    for (uint32_t lane = 1; lane < pass->max_lanes; lane++) {
        const struct gap gap = find_gap(ahead, &arrival, unit, lane);
        const uint64_t end_ns = end_of_paths(ahead, &gap, unit);
        if (end_ns < best_ns || (end_ns == best_ns && gap.start_ns < best.start_ns)) {
            best = gap;
            best_ns = end_ns;
        }
    }
    return best;
}

static void put(struct lookahead *ahead, uint32_t unit)
{
    struct plan_pass *pass = ahead->pass;
    const struct gap best = choose_gap(ahead, unit);
    tell_successors(ahead, &best, unit);
    uint32_t *link =
        best.behind == PLAN_NONE ? &ahead->first[best.lane] : &ahead->next[best.behind];
    ahead->next[unit] = *link;
    *link = unit;
    pass->start_ns[unit] = best.start_ns;
    pass->lane_of[unit] = best.lane;
}

static void place_all(struct lookahead *ahead)
{
    struct plan_pass *pass = ahead->pass;
    const struct plan_graph *plan = pass->plan;
    for (uint32_t unit = 0; unit < plan->num_units; unit++) {
        pass->left[unit] = plan->pred_first[unit + 1] - plan->pred_first[unit];
        if (!pass->left[unit])
            plan_bits_add(&pass->ready, pass->ranks.rank_of[unit]);
    }
    for (uint32_t num = 0; num < plan->num_units; num++) {
        const uint32_t rank = plan_bits_lowest(&pass->ready), unit = pass->ranks.unit_at[rank];
        plan_bits_remove(&pass->ready, rank);
        put(ahead, unit);
        pass->sequence[num] = unit;
        for (uint32_t e = plan->succ_first[unit]; e < plan->succ_first[unit + 1]; e++)
            if (--pass->left[plan->succ_nodes[e]] == 0)
                plan_bits_add(&pass->ready, pass->ranks.rank_of[plan->succ_nodes[e]]);
    }
}

bool braid_plan_may_look_ahead(const struct plan_pass *pass)
{
    enum { MOST_UNITS = 1024 }; // a unit looks at all units placed before
    return pass->is_plain && !pass->plan->hint_of && pass->plan->num_units <= MOST_UNITS &&
           pass->costs->model.wait_ns;
}

// The keys are the paths ahead, with waits or without. Equal ones go by the path without waits.
static void rank(struct plan_pass *pass, bool with_waits)
{
    braid_plan_pass_order_by_path(pass);
    if (!with_waits)
        return;
    braid_plan_pass_key_by_path(pass, pass->costs->model.wait_ns);
    braid_plan_pass_rank(pass);
}

// Without bundles a unit is a node, and there are at most as many lanes. The lists are in room that
// a pass does not need between runs.
void braid_plan_look_ahead(struct plan_pass *pass, bool with_waits)
{
    const uint32_t num = pass->plan->num_units;
    struct lookahead ahead = { pass, pass->renamed, pass->pins, .free_ns = pass->scratch[0] };
    rank(pass, with_waits);
    memset(ahead.first, 0xff, pass->max_lanes * sizeof(*ahead.first));
    memset(ahead.free_ns, 0, pass->max_lanes * sizeof(*ahead.free_ns));
    for (uint32_t unit = 0; unit < num; unit++)
        pass->arrivals[unit] = (struct arrival){ .lane = PLAN_NONE };
    place_all(&ahead);
    memcpy(pass->keys, pass->start_ns, num * sizeof(*pass->keys));
    memcpy(pass->pins, pass->lane_of, num * sizeof(*pass->pins));
    pass->mode = PASS_BY_KEY;
}
