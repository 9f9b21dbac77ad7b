// SPDX-License-Identifier: Apache-2.0
// The placements of other systems, from what their code does.
#include <stdlib.h>

#include "base/host_memory.h"
#include "plan/plan_pass.h"
#include "plan_policies.h"
#include "plan_policies_match.h"
#include "plan_shapes.h"

static void *allocate(size_t num, size_t bytes)
{
    void *memory = calloc(num + 1, bytes);
    if (!memory)
        abort();
    return memory;
}

static void issue_in_order(const struct plan_graph *plan, uint32_t *issued)
{
    for (uint32_t i = 0; i < plan->num_units; i++)
        issued[i] = plan_ordered_node(plan, i);
}

// Level by level, each unit on the next lane.
static void place_levels(const struct plan_graph *plan, uint32_t num_lanes,
                         struct policy_placement *placement)
{
    uint64_t *levels = allocate(plan->num_units, sizeof(*levels));
    for (uint32_t i = 0; i < plan->num_units; i++) {
        uint32_t unit = plan_ordered_node(plan, i);
        for (uint32_t e = plan->pred_first[unit]; e < plan->pred_first[unit + 1]; e++) {
            uint64_t level = levels[plan->pred_nodes[e]] + 1;
            levels[unit] = level > levels[unit] ? level : levels[unit];
        }
    }
    uint64_t *keys = allocate(plan->num_units, sizeof(*keys));
    for (uint32_t i = 0; i < plan->num_units; i++)
        keys[i] = levels[i];
    struct plan_ranks ranks;
    plan_check(braid_plan_ranks_create(keys, plan->num_units, &ranks));
    uint32_t in_level = 0;
    for (uint32_t i = 0; i < plan->num_units; i++) {
        uint32_t unit = placement->issued[i] = ranks.unit_at[i];
        bool first = i == 0 || levels[unit] != levels[ranks.unit_at[i - 1]];
        in_level = first ? 0 : in_level + 1;
        placement->lane_of[unit] = in_level % num_lanes;
    }
    braid_plan_ranks_finish(&ranks);
    free(levels);
    free(keys);
}

// Depth first from each root on the next lane: the first successor not seen yet stays on the lane,
// each further one goes to the next.
static void place_depth_first(const struct plan_graph *plan, uint32_t num_lanes,
                              struct policy_placement *placement)
{
    uint32_t *next = allocate(plan->num_units, sizeof(*next)); // edge to follow, by unit
    uint32_t *stack = allocate(plan->num_units, sizeof(*stack));
    bool *seen = allocate(plan->num_units, sizeof(*seen));
    uint32_t lane = 0;
    issue_in_order(plan, placement->issued);
    for (uint32_t root = 0; root < plan->num_units; root++) {
        if (plan->pred_first[root] != plan->pred_first[root + 1])
            continue;
        uint32_t depth = 1;
        stack[0] = root;
        seen[root] = true;
        placement->lane_of[root] = lane++ % num_lanes;
        while (depth > 0) {
            uint32_t unit = stack[depth - 1];
            uint32_t e = plan->succ_first[unit] + next[unit];
            if (e == plan->succ_first[unit + 1]) {
                depth--;
                continue;
            }
            next[unit]++;
            uint32_t succ = plan->succ_nodes[e];
            if (seen[succ])
                continue;
            seen[succ] = true;
            bool stays = next[unit] == 1;
            placement->lane_of[succ] = stays ? placement->lane_of[unit] : lane++ % num_lanes;
            stack[depth++] = succ;
        }
    }
    free(next);
    free(stack);
    free(seen);
}

// A unit follows its first predecessor if no other does yet; chains are dealt to lanes in turn.
static void place_first_users(const struct plan_graph *plan, uint32_t num_lanes,
                              struct policy_placement *placement)
{
    bool *used = allocate(plan->num_units, sizeof(*used));
    uint32_t lane = 0;
    issue_in_order(plan, placement->issued);
    for (uint32_t i = 0; i < plan->num_units; i++) {
        uint32_t unit = placement->issued[i];
        uint32_t e = plan->pred_first[unit];
        while (e < plan->pred_first[unit + 1] && used[plan->pred_nodes[e]])
            e++;
        bool follows = e < plan->pred_first[unit + 1];
        if (follows)
            used[plan->pred_nodes[e]] = true;
        placement->lane_of[unit] =
            follows ? placement->lane_of[plan->pred_nodes[e]] : lane++ % num_lanes;
    }
    free(used);
}

// The chains of a maximum matching on the transitive reduction, dealt to lanes in turn.
static void place_matching(const struct plan_graph *plan, uint32_t num_lanes,
                           struct policy_placement *placement)
{
    bool *implied;
    uint32_t *before;
    uint32_t lane = 0;
    plan_check(bench_plan_reduce(plan, &implied));
    plan_check(bench_plan_match(plan, implied, &before));
    issue_in_order(plan, placement->issued);
    for (uint32_t i = 0; i < plan->num_units; i++) {
        uint32_t unit = placement->issued[i];
        placement->lane_of[unit] =
            before[unit] == PLAN_NONE ? lane++ % num_lanes : placement->lane_of[before[unit]];
    }
    braid_free(implied);
    free(before);
}

const struct policy policies[] = {
    { "level round-robin", place_levels },
    { "depth-first round-robin", place_depth_first },
    { "first-user chains mod K", place_first_users },
    { "matching chains mod K", place_matching },
};
const size_t num_policies = sizeof(policies) / sizeof(policies[0]);
