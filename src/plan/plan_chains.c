// SPDX-License-Identifier: Apache-2.0
// Makes lanes of matched chains. An edge joins nodes that follow each other on a lane, so lanes
// order no free nodes. The waits are the other edges of the reduction.
#include "plan/plan_chains.h"

#include "base/array.h"
#include "base/error.h"
#include "plan/plan_heap.h"
#include "plan/plan_rank.h"

struct chains {
    const struct plan_graph *plan;
    const struct plan_costs *costs;
    bool *implied;    // per edge
    uint32_t *before; // per node the node before it on its lane, or PLAN_NONE
    uint32_t *left;   // per node: what it follows and what has no times yet, and 1 to start with
    struct plan_placement *placement;
};

// When all nodes that a node follows let it start; they have been given their times.
static uint64_t ready_ns(const struct chains *chains, uint32_t node)
{
    const struct plan_graph *plan = chains->plan;
    const struct plan_costs *costs = chains->costs;
    const uint64_t *start_ns = chains->placement->start_ns;
    uint32_t before = chains->before[node];
    uint64_t ready = 0, free_ns = 0;
    bool waits = false;
    if (before != PLAN_NONE)
        free_ns = start_ns[before] + costs->node_ns[before] + costs->model.node_ns;
    for (uint32_t e = plan->pred_first[node]; e < plan->pred_first[node + 1]; e++) {
        uint32_t pred = plan->pred_nodes[e];
        if (chains->implied[e] || pred == before)
            continue; // charged along the longer path, or already
        uint64_t from = start_ns[pred] + costs->node_ns[pred] +
                        plan_wait_ns(costs, plan_place_of(plan, pred), plan_place_of(plan, node));
        ready = from > ready ? from : ready;
        waits = true;
    }
    if (waits && before != PLAN_NONE)
        free_ns += costs->wait_busy_ns;
    return ready > free_ns ? ready : free_ns;
}

// The next node may only start where one ends, if as many run as may run at once.
static bool start_node(struct chains *chains, struct plan_heap *ends, uint32_t node, uint64_t start)
{
    struct plan_placement *placement = chains->placement;
    const struct plan_costs *costs = chains->costs;
    bool sleeps = costs->unit_blocks && costs->unit_blocks[plan_unit_of(chains->plan, node)];
    if (!sleeps && ends->items.num >= costs->model.max_concurrent) {
        uint64_t end = plan_heap_pop(ends).key;
        start = end > start ? end : start;
    }
    uint64_t end = start + costs->node_ns[node];
    placement->start_ns[node] = start;
    if (end > placement->makespan_ns)
        placement->makespan_ns = end;
    return sleeps || costs->model.max_concurrent == UINT32_MAX || plan_heap_push(ends, end, node);
}

static bool release_node(struct chains *chains, struct plan_heap *ready, uint32_t node)
{
    return --chains->left[node] > 0 || plan_heap_push(ready, ready_ns(chains, node), node);
}

// Every node starts as soon as its predecessors and the limit of nodes at once allow, first come
// first served. A successor is ready no earlier than it, so nodes come in order of time.
static bool find_starts(struct chains *chains, struct plan_heap *ready, struct plan_heap *ends)
{
    const struct plan_graph *plan = chains->plan;
    chains->left = braid_allocate_zeroed(plan->num_nodes, sizeof(*chains->left));
    bool done = chains->left;
    for (uint32_t node = 0; done && node < plan->num_nodes; node++) {
        bool follows = plan_member_before(plan, node) != PLAN_NONE;
        chains->left[node] = 1 + follows + plan->pred_first[node + 1] - plan->pred_first[node];
    }
    for (uint32_t node = 0; done && node < plan->num_nodes; node++)
        done = release_node(chains, ready, node);
    while (done && plan_heap_first(ready)) {
        struct plan_heap_item first = plan_heap_pop(ready);
        uint32_t node = first.value, after = plan_member_after(plan, node);
        done = start_node(chains, ends, node, first.key) &&
               (after == PLAN_NONE || release_node(chains, ready, after));
        for (uint32_t e = plan->succ_first[node]; done && e < plan->succ_first[node + 1]; e++)
            done = release_node(chains, ready, plan->succ_nodes[e]);
    }
    return done;
}

static braid_status find_times(struct chains *chains)
{
    struct plan_heap ready = { 0 }, ends = { 0 };
    bool done = find_starts(chains, &ready, &ends);
    braid_array_finish(&ready.items);
    braid_array_finish(&ends.items);
    free(chains->left);
    return done ? BRAID_OK : braid_error_no_memory("the chains of a plan");
}

// Issues by start time. Costs are never zero, so a node starts later than all it follows.
static braid_status issue_nodes(struct chains *chains)
{
    struct plan_placement *placement = chains->placement;
    uint32_t num = chains->plan->num_nodes;
    uint64_t *keys = malloc(((size_t)num + 1) * sizeof(*keys));
    if (!keys)
        return braid_error_no_memory("the chains of a plan");
    for (uint32_t i = 0; i < num; i++)
        keys[i] = placement->start_ns[i];
    struct plan_ranks ranks;
    braid_status status = braid_plan_ranks_create(keys, num, &ranks);
    free(keys);
    if (status)
        return status;
    placement->issued = ranks.unit_at;
    for (uint32_t i = 0; i < num; i++) {
        uint32_t node = placement->issued[i];
        uint32_t before = chains->before[node];
        placement->lane_of[node] =
            before == PLAN_NONE ? placement->num_lanes++ : placement->lane_of[before];
    }
    ranks.unit_at = NULL;
    braid_plan_ranks_finish(&ranks);
    return BRAID_OK;
}

static braid_status list_waits(struct chains *chains)
{
    const struct plan_graph *plan = chains->plan;
    const uint32_t *lane_of = chains->placement->lane_of;
    struct plan_placement *placement = chains->placement;
    placement->wait_first = malloc(((size_t)plan->num_nodes + 1) * sizeof(uint32_t));
    if (!placement->wait_first)
        return braid_error_no_memory("the waits of a plan");
    for (uint32_t i = 0; i < plan->num_nodes; i++) {
        uint32_t node = placement->issued[i];
        placement->wait_first[i] = (uint32_t)placement->waits.num;
        for (uint32_t e = plan->pred_first[node]; e < plan->pred_first[node + 1]; e++) {
            uint32_t pred = plan->pred_nodes[e];
            if (chains->implied[e] || lane_of[pred] == lane_of[node])
                continue;
            uint32_t *slot = braid_array_append(&placement->waits, 1, sizeof(*slot));
            if (!slot)
                return braid_error_no_memory("the waits of a plan");
            *slot = pred;
        }
    }
    placement->wait_first[plan->num_nodes] = (uint32_t)placement->waits.num;
    return BRAID_OK;
}

static braid_status fill_chains(struct chains *chains)
{
    const struct plan_graph *plan = chains->plan;
    struct plan_placement *placement = chains->placement;
    size_t num = (size_t)plan->num_nodes + 1;
    placement->lane_of = malloc(num * sizeof(uint32_t));
    placement->start_ns = malloc(num * sizeof(uint64_t));
    if (!placement->lane_of || !placement->start_ns)
        return braid_error_no_memory("the chains of a plan");
    braid_status status = braid_plan_reduce(plan, &chains->implied);
    if (!status)
        status = braid_plan_match(plan, chains->implied, &chains->before);
    if (status)
        return status;
    status = find_times(chains);
    if (!status)
        status = issue_nodes(chains);
    if (!status)
        status = list_waits(chains);
    if (!status && placement->num_lanes > 1)
        placement->makespan_ns += (placement->num_lanes - 1) * chains->costs->model.root_ns;
    return status;
}

braid_status braid_plan_chains(const struct plan_graph *plan, const struct plan_costs *costs,
                               struct plan_placement *out_placement)
{
    struct plan_placement placement = { 0 };
    struct chains chains = {
        .plan = plan,
        .costs = costs,
        .placement = &placement,
    };
    braid_status status = fill_chains(&chains);
    free(chains.implied);
    free(chains.before);
    if (status) {
        braid_plan_placement_finish(&placement);
        return status;
    }
    *out_placement = placement;
    return BRAID_OK;
}
