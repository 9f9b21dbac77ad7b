// SPDX-License-Identifier: Apache-2.0
// Sets of ancestors as bits, for a block of ancestors at a time so that memory stays linear.
#include "plan_policies_match.h"

#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/host_memory.h"

// One cache line a node: its ancestors among the 512 nodes of the block.
#define BLOCK_WORDS 8
#define BLOCK_NODES (BLOCK_WORDS * 64)

struct reduction {
    const struct plan_graph *plan;
    uint32_t *place_of;                 // per node its place in the order
    uint64_t (*ancestors)[BLOCK_WORDS]; // per node
    bool *implied;                      // per edge
};

static void mark_repeated(const struct reduction *reduction, uint32_t *seen_by)
{
    const struct plan_graph *plan = reduction->plan;
    for (uint32_t node = 0; node < plan->num_nodes; node++) {
        for (uint32_t e = plan->pred_first[node]; e < plan->pred_first[node + 1]; e++) {
            uint32_t *seen = &seen_by[plan->pred_nodes[e]];
            reduction->implied[e] = *seen == node + 1;
            *seen = node + 1;
        }
    }
}

static void add_ancestor(const struct reduction *reduction, uint64_t *ancestors, uint32_t node,
                         uint32_t block)
{
    uint32_t bit = reduction->place_of[node] - block;
    if (bit < BLOCK_NODES) // else not in this block, or before it
        ancestors[bit / 64] |= UINT64_C(1) << (bit % 64);
}

static void add_ancestors(const struct reduction *reduction, uint64_t *ancestors, uint32_t node)
{
    const uint64_t *more = reduction->ancestors[node];
    for (int w = 0; w < BLOCK_WORDS; w++)
        ancestors[w] |= more[w];
}

// An edge from p to v is implied if p is an ancestor of another predecessor of v. The node before v
// in its unit is a predecessor too, which nothing else implies.
static void reduce_node(const struct reduction *reduction, uint32_t node, uint32_t block)
{
    const struct plan_graph *plan = reduction->plan;
    uint32_t first = plan->pred_first[node], end = plan->pred_first[node + 1];
    uint64_t above[BLOCK_WORDS] = { 0 };
    uint32_t before = plan_member_before(plan, node);
    if (before != PLAN_NONE)
        add_ancestors(reduction, above, before);
    for (uint32_t e = first; e < end; e++)
        add_ancestors(reduction, above, plan->pred_nodes[e]);
    uint64_t *own = reduction->ancestors[node];
    memcpy(own, above, sizeof(above));
    if (before != PLAN_NONE)
        add_ancestor(reduction, own, before, block);
    for (uint32_t e = first; e < end; e++) {
        uint32_t bit = reduction->place_of[plan->pred_nodes[e]] - block;
        if (bit >= BLOCK_NODES)
            continue; // not in this block, or before it
        if (above[bit / 64] >> (bit % 64) & 1)
            reduction->implied[e] = true;
        add_ancestor(reduction, own, plan->pred_nodes[e], block);
    }
}

static void reduce_block(const struct reduction *reduction, uint32_t block)
{
    const struct plan_graph *plan = reduction->plan;
    memset(reduction->ancestors, 0, plan->num_nodes * sizeof(*reduction->ancestors));
    for (uint32_t i = block; i < plan->num_nodes; i++)
        reduce_node(reduction, plan_ordered_node(plan, i), block);
}

braid_status bench_plan_reduce(const struct plan_graph *plan, bool **out_implied)
{
    struct reduction reduction = { .plan = plan };
    reduction.place_of = braid_allocate_zeroed(plan->num_nodes, sizeof(uint32_t));
    reduction.ancestors = braid_allocate_zeroed(plan->num_nodes, sizeof(*reduction.ancestors));
    reduction.implied = braid_allocate_zeroed(plan->num_edges, sizeof(bool));
    bool done = reduction.place_of && reduction.ancestors && reduction.implied;
    if (done) {
        mark_repeated(&reduction, reduction.place_of); // borrowed; filled in next
        for (uint32_t i = 0; i < plan->num_nodes; i++)
            reduction.place_of[plan_ordered_node(plan, i)] = i;
        for (uint64_t block = 0; block < plan->num_nodes; block += BLOCK_NODES)
            reduce_block(&reduction, (uint32_t)block);
        *out_implied = reduction.implied;
    } else {
        braid_free(reduction.implied);
    }
    braid_free(reduction.place_of);
    braid_free(reduction.ancestors);
    return done ? BRAID_OK : braid_error_no_memory("the reduction of a plan");
}
