// SPDX-License-Identifier: Apache-2.0
// Keeping and freeing placements.
#include "plan/plan_placement.h"

#include "base/big_memory.h"
#include "base/error.h"
#include "base/host_memory.h"

bool braid_plan_placement_init(const struct plan_graph *plan, struct plan_placement *placement)
{
    placement->lane_of = plan_allocate(plan->num_nodes, sizeof(*placement->lane_of));
    placement->start_ns = plan_allocate(plan->num_nodes, sizeof(*placement->start_ns));
    placement->issued = plan_allocate(plan->num_nodes, sizeof(*placement->issued));
    placement->wait_first = plan_allocate(plan->num_nodes, sizeof(*placement->wait_first));
    return placement->lane_of && placement->start_ns && placement->issued && placement->wait_first;
}

void braid_plan_placement_finish(struct plan_placement *placement)
{
    braid_free(placement->lane_of);
    braid_free(placement->start_ns);
    braid_free(placement->issued);
    braid_free(placement->wait_first);
    braid_array_finish(&placement->waits);
    braid_array_finish(&placement->delays);
    *placement = (struct plan_placement){ 0 };
}

braid_status braid_plan_placement_give(braid_status status, struct plan_placement *made,
                                       struct plan_placement *out_placement)
{
    if (status)
        braid_plan_placement_finish(made);
    else
        *out_placement = *made;
    return status;
}

void braid_plan_placement_keep(struct plan_placement *best, struct plan_placement *other)
{
    struct plan_placement worse = *other;
    bool shorter = best->given_up || other->makespan_ns < best->makespan_ns ||
                   (other->makespan_ns == best->makespan_ns && other->waits.num < best->waits.num);
    if (shorter && !other->given_up) {
        worse = *best;
        *best = *other;
    }
    braid_plan_placement_finish(&worse);
}

// ---- when nodes of bundles really start on their lanes ----

struct lane_time {
    uint64_t free_ns;
    bool is_used;
};

static uint64_t start_of(const struct plan_graph *plan, const struct plan_costs *costs,
                         const struct plan_placement *placement, uint32_t index,
                         const struct lane_time *lane)
{
    const uint32_t *waits = placement->waits.items;
    uint32_t node = placement->issued[index], first = placement->wait_first[index];
    uint32_t end = placement->wait_first[index + 1];
    uint64_t start_ns = lane->free_ns;
    if (lane->is_used)
        start_ns += costs->model.node_ns + (end > first ? costs->wait_busy_ns : 0);
    for (uint32_t w = first; w < end; w++) {
        uint64_t seen_ns =
            placement->start_ns[waits[w]] + costs->node_ns[waits[w]] +
            plan_wait_ns(costs, plan_place_of(plan, waits[w]), plan_place_of(plan, node));
        start_ns = seen_ns > start_ns ? seen_ns : start_ns;
    }
    return start_ns;
}

braid_status braid_plan_start_bundles(const struct plan_graph *plan, const struct plan_costs *costs,
                                      struct plan_placement *placement)
{
    struct lane_time *lanes = braid_allocate_zeroed(placement->num_lanes, sizeof(*lanes));
    if (!lanes)
        return braid_error_no_memory("the times of a plan");
    uint64_t makespan_ns = 0;
    for (uint32_t i = 0; i < plan->num_nodes; i++) {
        uint32_t node = placement->issued[i];
        struct lane_time *lane = &lanes[placement->lane_of[node]];
        placement->start_ns[node] = start_of(plan, costs, placement, i, lane);
        lane->free_ns = placement->start_ns[node] + costs->node_ns[node];
        lane->is_used = true;
        makespan_ns = lane->free_ns > makespan_ns ? lane->free_ns : makespan_ns;
    }
    braid_free(lanes);
    if (placement->num_lanes > 1)
        makespan_ns += (placement->num_lanes - 1) * costs->model.root_ns;
    placement->makespan_ns = makespan_ns;
    return BRAID_OK;
}
