// SPDX-License-Identifier: Apache-2.0
// Makes lanes of matched chains. Nodes that follow each other on a lane are joined by an edge, so
// lanes order nothing that the graph leaves free, and the waits are what is left of its reduction.
#include "plan/plan_chains.h"

#include "base/array.h"
#include "base/error.h"
#include "plan/plan_match.h"
#include "plan/plan_rank.h"
#include "plan/plan_reduce.h"

struct chains {
    const struct plan_graph *plan;
    const struct plan_costs *costs;
    bool *implied;    // per edge
    uint32_t *before; // per node the node before it on its lane, or PLAN_NONE
    struct plan_placement *placement;
};

// Every node starts as soon as what it follows allows.
static void find_starts(struct chains *chains)
{
    const struct plan_graph *plan = chains->plan;
    const struct plan_costs *costs = chains->costs;
    uint64_t *start_ns = chains->placement->start_ns;
    for (uint32_t i = 0; i < plan->num_nodes; i++) {
        uint32_t node = plan_ordered_node(plan, i);
        uint32_t before = chains->before[node];
        uint64_t start = before == PLAN_NONE
                             ? 0
                             : start_ns[before] + costs->node_ns[before] + costs->model.node_ns;
        for (uint32_t e = plan->pred_first[node]; e < plan->pred_first[node + 1]; e++) {
            uint32_t pred = plan->pred_nodes[e];
            if (chains->implied[e] || pred == before)
                continue; // charged along the longer path, or already
            uint64_t from = start_ns[pred] + costs->node_ns[pred] + costs->model.wait_ns;
            if (from > start)
                start = from;
        }
        start_ns[node] = start;
        if (start + costs->node_ns[node] > chains->placement->makespan_ns)
            chains->placement->makespan_ns = start + costs->node_ns[node];
    }
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
    find_starts(chains);
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
