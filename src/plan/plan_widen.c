// SPDX-License-Identifier: Apache-2.0
// Goes through a placement in issue order once more and moves waits to later nodes.
#include "plan/plan_widen.h"

#include "base/error.h"
#include "plan/plan_know.h"

struct widening {
    const struct plan_costs *costs;
    const struct plan_placement *placement;
    struct plan_know know;
    // Lanes as lists of nodes, how many of each are issued, and the latest known to have ended by
    // the start of some node. The versions of nodes from that one on are kept: any of them may be
    // waited for, whoever their successors are.
    uint32_t *lane_first, *lane_nodes, *num_on_lane, *settled;
    struct array waits; // uint32_t: of the node at hand
};

// When `by` may start that waits for a node.
static uint64_t seen_ns(const struct widening *widening, uint32_t node, uint32_t by)
{
    const struct plan_graph *plan = widening->know.plan;
    return widening->placement->start_ns[node] + widening->costs->node_ns[node] +
           plan_wait_ns(widening->costs, plan_place_of(plan, node), plan_place_of(plan, by));
}

// The node to wait for in place of `pred`.
static uint32_t widen_wait(struct widening *widening, uint32_t node, uint32_t pred)
{
    struct plan_know *know = &widening->know;
    uint32_t lane = know->spots[pred].lane;
    const uint32_t *nodes = widening->lane_nodes + widening->lane_first[lane];
    uint32_t at = widening->settled[lane];
    uint64_t start = widening->placement->start_ns[node];
    while (at + 1 < widening->num_on_lane[lane] &&
           seen_ns(widening, nodes[at + 1], node) <= start) {
        plan_know_drop(know, nodes[at]);
        at++;
    }
    widening->settled[lane] = at;
    bool later = know->issue_of[nodes[at]] > know->issue_of[pred];
    return later && seen_ns(widening, nodes[at], node) <= start ? nodes[at] : pred;
}

// Latest first, by insertion: a node has few waits that are not known.
static bool add_wait(struct widening *widening, uint32_t wait)
{
    const uint32_t *issue_of = widening->know.issue_of;
    if (!braid_array_append(&widening->waits, 1, sizeof(uint32_t)))
        return false;
    uint32_t *waits = widening->waits.items;
    size_t i = widening->waits.num - 1;
    for (; i > 0 && issue_of[waits[i - 1]] < issue_of[wait]; i--)
        waits[i] = waits[i - 1];
    waits[i] = wait;
    return true;
}

static bool widen_node(struct widening *widening, uint32_t node, uint32_t lane,
                       struct array *out_waits)
{
    struct plan_know *know = &widening->know;
    widening->waits.num = 0;
    braid_plan_know_ask(know, node, UINT32_MAX);
    for (uint32_t i = 0; i < know->num_asks; i++) {
        uint32_t ask = know->asks[i];
        if (plan_know_needs_wait(know, lane, ask) &&
            !add_wait(widening, widen_wait(widening, node, ask)))
            return false;
    }
    if (!braid_plan_know_issue(know, node, lane, widening->waits.items,
                               (uint32_t)widening->waits.num, out_waits))
        return false;
    plan_clocks_keep(&know->clocks, know->spots[node].version, 1);
    widening->num_on_lane[lane]++;
    return true;
}

static bool list_lanes(struct widening *widening, uint32_t num_nodes)
{
    const struct plan_placement *placement = widening->placement;
    uint32_t num_lanes = placement->num_lanes;
    widening->lane_first = braid_allocate_zeroed((size_t)num_lanes + 2, sizeof(uint32_t));
    widening->lane_nodes = braid_allocate_zeroed(num_nodes, sizeof(uint32_t));
    widening->num_on_lane = braid_allocate_zeroed(num_lanes, sizeof(uint32_t));
    widening->settled = braid_allocate_zeroed(num_lanes, sizeof(uint32_t));
    if (!widening->lane_first || !widening->lane_nodes || !widening->num_on_lane ||
        !widening->settled)
        return false;
    for (uint32_t node = 0; node < num_nodes; node++)
        widening->lane_first[(size_t)placement->lane_of[node] + 2]++;
    for (uint32_t lane = 0; lane < num_lanes; lane++)
        widening->lane_first[lane + 2] += widening->lane_first[lane + 1];
    for (uint32_t i = 0; i < num_nodes; i++) {
        uint32_t node = placement->issued[i];
        widening->lane_nodes[widening->lane_first[placement->lane_of[node] + 1]++] = node;
    }
    return true;
}

static bool widen_all(struct widening *widening, uint32_t num_nodes, struct array *waits,
                      uint32_t *wait_first)
{
    const struct plan_placement *placement = widening->placement;
    for (uint32_t i = 0; i < num_nodes; i++) {
        uint32_t node = placement->issued[i];
        wait_first[i] = (uint32_t)waits->num;
        if (!widen_node(widening, node, placement->lane_of[node], waits))
            return false;
    }
    wait_first[num_nodes] = (uint32_t)waits->num;
    return true;
}

braid_status braid_plan_widen(const struct plan_graph *plan, const struct plan_costs *costs,
                              struct plan_placement *placement)
{
    struct widening widening = { .costs = costs, .placement = placement };
    struct array waits = { 0 };
    size_t bytes = ((size_t)plan->num_nodes + 1) * sizeof(uint32_t);
    uint32_t *issued = malloc(bytes), *wait_first = malloc(bytes);
    bool done = issued && wait_first && list_lanes(&widening, plan->num_nodes) &&
                braid_plan_know_init(&widening.know, plan, placement->num_lanes, issued) &&
                widen_all(&widening, plan->num_nodes, &waits, wait_first);
    braid_plan_know_finish(&widening.know);
    free(widening.lane_first);
    free(widening.lane_nodes);
    free(widening.num_on_lane);
    free(widening.settled);
    braid_array_finish(&widening.waits);
    free(issued);
    if (!done) {
        free(wait_first);
        braid_array_finish(&waits);
        return braid_plan_clocks_error(&widening.know.clocks, "the waits of a plan");
    }
    free(placement->wait_first);
    braid_array_finish(&placement->waits);
    placement->wait_first = wait_first;
    placement->waits = waits;
    return BRAID_OK;
}
