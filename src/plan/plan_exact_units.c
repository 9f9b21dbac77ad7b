// SPDX-License-Identifier: Apache-2.0
// Branch and bound knows this of units beforehand: sets of neighbours, twins, and tails.
//
// The tail of a unit is a bound by the units after it (C. H. Papadimitriou and M. Yannakakis,
// 1990). A unit after it on another lane starts a wait later, at the earliest. For a bound T all
// those whose tail and a wait exceed T run behind it on its own lane, one after another. There, the
// order by falling rests of tails is best (J. R. Jackson, 1955). The least T that holds is the
// bound.
#include "plan/plan_exact.h"

#include <string.h>

bool braid_plan_is_exact(const struct plan_graph *plan, const struct plan_costs *costs)
{
    if (plan->num_units > PLAN_MOST_EXACT_UNITS || plan->num_places > 1 || plan->units.members ||
        plan->hint_of || costs->wait_busy_ns)
        return false;
    for (uint32_t node = 0; node < plan->num_nodes; node++)
        if (!costs->node_ns[node])
            return false;
    return true;
}

// Units as the graph has them, while tails are found.
struct tails {
    uint64_t wait_ns, node_ns;
    const uint64_t *length_ns;
    uint64_t tail_ns[PLAN_MOST_EXACT_UNITS];
    uint32_t after[PLAN_MOST_EXACT_UNITS]; // all that come after a unit
};

// The rest of the tail of a unit, behind its end.
static uint64_t behind(const struct tails *tails, uint32_t unit)
{
    return tails->tail_ns[unit] - tails->length_ns[unit];
}

static uint32_t list_by_tail(const struct tails *tails, uint32_t set, uint32_t *list)
{
    uint32_t num = 0;
    for (; set; set &= set - 1) {
        uint32_t unit = (uint32_t)__builtin_ctz(set), i = num++;
        for (; i > 0 && tails->tail_ns[list[i - 1]] < tails->tail_ns[unit]; i--)
            list[i] = list[i - 1];
        list[i] = unit;
    }
    return num;
}

// Adds a unit to a list by falling rests of tails, and returns how long the list takes on one lane.
static uint64_t add_to_lane(const struct tails *tails, uint32_t unit, uint32_t num, uint32_t *list)
{
    uint32_t i = num;
    for (; i > 0 && behind(tails, list[i - 1]) < behind(tails, unit); i--)
        list[i] = list[i - 1];
    list[i] = unit;
    uint64_t end_ns = 0, most_ns = 0;
    for (i = 0; i <= num; i++) {
        end_ns += tails->node_ns + tails->length_ns[list[i]];
        uint64_t ns = end_ns + behind(tails, list[i]);
        most_ns = ns > most_ns ? ns : most_ns;
    }
    return most_ns;
}

// The least time from the end of a unit before `set` to the end of a plan.
static uint64_t bound_behind(const struct tails *tails, uint32_t set)
{
    uint32_t list[PLAN_MOST_EXACT_UNITS], lane[PLAN_MOST_EXACT_UNITS];
    uint32_t num = list_by_tail(tails, set, list);
    uint64_t least_ns = UINT64_MAX, lane_ns = 0;
    for (uint32_t i = 0; i <= num && lane_ns < least_ns; i++) {
        uint64_t other_ns = i < num ? tails->wait_ns + tails->tail_ns[list[i]] : 0;
        uint64_t ns = lane_ns > other_ns ? lane_ns : other_ns;
        least_ns = ns < least_ns ? ns : least_ns;
        if (i < num)
            lane_ns = add_to_lane(tails, list[i], i, lane);
    }
    return least_ns;
}

static void find_tail(const struct plan_graph *plan, uint32_t unit, struct tails *tails)
{
    uint64_t gap_ns = tails->node_ns < tails->wait_ns ? tails->node_ns : tails->wait_ns;
    uint64_t most_ns = 0;
    tails->after[unit] = 0;
    for (uint32_t e = plan->succ_first[unit]; e < plan->succ_first[unit + 1]; e++) {
        uint32_t succ = plan->succ_nodes[e];
        uint64_t ns = gap_ns + tails->tail_ns[succ];
        most_ns = ns > most_ns ? ns : most_ns;
        tails->after[unit] |= tails->after[succ] | 1u << succ;
    }
    if (tails->wait_ns && tails->after[unit]) {
        uint64_t ns = bound_behind(tails, tails->after[unit]);
        most_ns = ns > most_ns ? ns : most_ns;
    }
    tails->tail_ns[unit] = most_ns + tails->length_ns[unit];
}

static uint32_t set_of(const uint32_t *first, const uint32_t *nodes, uint32_t unit,
                       const uint32_t *index_in)
{
    uint32_t set = 0;
    for (uint32_t e = first[unit]; e < first[unit + 1]; e++)
        set |= 1u << index_in[nodes[e]];
    return set;
}

static uint32_t find_twins(const struct plan_exact_units *units, uint32_t i)
{
    uint32_t twins = 0;
    for (uint32_t j = 0; j < i; j++) {
        if (units->length_ns[j] == units->length_ns[i] && units->preds[j] == units->preds[i] &&
            units->succs[j] == units->succs[i])
            twins |= 1u << j;
    }
    return twins;
}

void braid_plan_exact_units(const struct plan_graph *plan, const struct plan_costs *costs,
                            struct plan_exact_units *out_units)
{
    uint32_t index_in[PLAN_MOST_EXACT_UNITS];
    struct tails tails = { costs->model.wait_ns, costs->model.node_ns,
                           .length_ns = costs->node_ns };
    for (uint32_t i = plan->num_units; i-- > 0;)
        find_tail(plan, plan_ordered_node(plan, i), &tails);
    uint32_t all = (uint32_t)((UINT64_C(1) << plan->num_units) - 1);
    out_units->num = list_by_tail(&tails, all, out_units->unit_of);
    for (uint32_t i = 0; i < out_units->num; i++)
        index_in[out_units->unit_of[i]] = i;
    for (uint32_t i = 0; i < out_units->num; i++) {
        uint32_t unit = out_units->unit_of[i];
        out_units->length_ns[i] = costs->node_ns[unit];
        out_units->tail_ns[i] = tails.tail_ns[unit];
        out_units->preds[i] = set_of(plan->pred_first, plan->pred_nodes, unit, index_in);
        out_units->succs[i] = set_of(plan->succ_first, plan->succ_nodes, unit, index_in);
        out_units->twins[i] = find_twins(out_units, i);
    }
}
