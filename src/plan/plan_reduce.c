// SPDX-License-Identifier: Apache-2.0
// Sets of ancestors as bits, for a block of ancestors at a time so that memory stays linear.
#include "plan/plan_reduce.h"

#include <string.h>

#include "base/array.h"
#include "base/error.h"

// One cache line a unit: its ancestors among the 512 units of the block.
#define BLOCK_WORDS 8
#define BLOCK_UNITS (BLOCK_WORDS * 64)

struct reduction {
    const struct plan_graph *plan;
    uint32_t *place_of;                 // per unit its place in the order
    uint64_t (*ancestors)[BLOCK_WORDS]; // per unit
    bool *implied;                      // per edge
};

static void mark_repeated(const struct reduction *reduction, uint32_t *seen_by)
{
    const struct plan_graph *plan = reduction->plan;
    for (uint32_t unit = 0; unit < plan->num_units; unit++) {
        for (uint32_t e = plan->pred_first[unit]; e < plan->pred_first[unit + 1]; e++) {
            uint32_t *seen = &seen_by[plan->pred_units[e]];
            reduction->implied[e] = *seen == unit + 1;
            *seen = unit + 1;
        }
    }
}

// An edge from p to v is implied if p is an ancestor of another predecessor of v.
static void reduce_unit(const struct reduction *reduction, uint32_t unit, uint32_t block)
{
    const struct plan_graph *plan = reduction->plan;
    uint32_t first = plan->pred_first[unit], end = plan->pred_first[unit + 1];
    uint64_t above[BLOCK_WORDS] = { 0 };
    for (uint32_t e = first; e < end; e++) {
        const uint64_t *other = reduction->ancestors[plan->pred_units[e]];
        for (int w = 0; w < BLOCK_WORDS; w++)
            above[w] |= other[w];
    }
    uint64_t *own = reduction->ancestors[unit];
    memcpy(own, above, sizeof(above));
    for (uint32_t e = first; e < end; e++) {
        uint32_t bit = reduction->place_of[plan->pred_units[e]] - block;
        if (bit >= BLOCK_UNITS)
            continue; // not in this block, or before it
        if (above[bit / 64] >> (bit % 64) & 1)
            reduction->implied[e] = true;
        own[bit / 64] |= UINT64_C(1) << (bit % 64);
    }
}

static void reduce_block(const struct reduction *reduction, uint32_t block)
{
    const struct plan_graph *plan = reduction->plan;
    memset(reduction->ancestors, 0, plan->num_units * sizeof(*reduction->ancestors));
    for (uint32_t i = block; i < plan->num_units; i++)
        reduce_unit(reduction, plan_ordered_unit(plan, i), block);
}

braid_status braid_plan_reduce(const struct plan_graph *plan, bool **out_implied)
{
    struct reduction reduction = { .plan = plan };
    reduction.place_of = braid_allocate_zeroed(plan->num_units, sizeof(uint32_t));
    reduction.ancestors = braid_allocate_zeroed(plan->num_units, sizeof(*reduction.ancestors));
    reduction.implied = braid_allocate_zeroed(plan->num_edges, sizeof(bool));
    bool done = reduction.place_of && reduction.ancestors && reduction.implied;
    if (done) {
        mark_repeated(&reduction, reduction.place_of); // borrowed; filled in next
        for (uint32_t i = 0; i < plan->num_units; i++)
            reduction.place_of[plan_ordered_unit(plan, i)] = i;
        for (uint64_t block = 0; block < plan->num_units; block += BLOCK_UNITS)
            reduce_block(&reduction, (uint32_t)block);
        *out_implied = reduction.implied;
    } else {
        free(reduction.implied);
    }
    free(reduction.place_of);
    free(reduction.ancestors);
    return done ? BRAID_OK : braid_error_no_memory("the reduction of a plan");
}
