// SPDX-License-Identifier: Apache-2.0
// Planning a big graph waits for memory most of the time, since nodes come in no order. So the
// memory of later units is fetched ahead.
#ifndef BRAID_PLAN_FETCH_H
#define BRAID_PLAN_FETCH_H

#include "plan/plan_choose.h"

// gcc leaves out calls that only fetch, unless they are inlined.
#define FETCHING static inline __attribute__((always_inline))

FETCHING void fetch_unit(const struct lister *lister, uint32_t rank)
{
    uint32_t unit = lister->ranks->unit_at[rank], node = plan_first_member(lister->plan, unit);
    __builtin_prefetch(&lister->inputs[unit]);
    __builtin_prefetch(&lister->plan->pred_first[node]);
    __builtin_prefetch(&lister->plan->succ_first[node]);
    __builtin_prefetch(&lister->costs->node_ns[node]);
    __builtin_prefetch(&lister->waits.spots[node], 1);
    __builtin_prefetch(&lister->out->lane_of[node], 1);
    __builtin_prefetch(&lister->out->start_ns[node], 1);
}

// That of the unit behind the next one: one ahead is too late.
FETCHING void fetch_next(const struct lister *lister, const struct plan_bits *ready, uint32_t rank)
{
    uint32_t next = plan_bits_next(ready, rank + 1);
    uint32_t after = next == UINT32_MAX ? next : plan_bits_next(ready, next + 1);
    if (after != UINT32_MAX)
        fetch_unit(lister, after);
}

FETCHING void fetch_successors(const struct lister *lister, uint32_t node)
{
    __builtin_prefetch(&lister->plan->succ_nodes[lister->plan->succ_first[node]]);
}

// Its successors were fetched when it was placed.
FETCHING void fetch_next_end(const struct lister *lister)
{
    const struct plan_graph *plan = lister->plan;
    const struct plan_heap_item *next = plan_heap_first(&lister->ends);
    for (uint32_t e = next ? plan->succ_first[next->value] : 0;
         next && e < plan->succ_first[next->value + 1]; e++) {
        uint32_t unit = plan_unit_of(plan, plan->succ_nodes[e]);
        __builtin_prefetch(&lister->inputs[unit], 1);
        __builtin_prefetch(&lister->ranks->rank_of[unit]);
    }
}

#endif
