// SPDX-License-Identifier: Apache-2.0
// Plays a placement through: lanes in order, waits free; and counts waits in three ways.
#include <stdlib.h>

#include "plan/plan_waits.h"
#include "plan_policies.h"

struct simulation {
    const struct plan_graph *plan;
    const struct policy_placement *placement;
    uint32_t *issue_of;
    bool *crossing_event, *cached_event, *fewest_event; // per unit
    uint32_t *cache; // num_lanes * num_lanes: 1 + issue of the latest unit of that lane waited for
    struct policy_result result;
};

static void *allocate(size_t num, size_t bytes)
{
    void *memory = calloc(num + 1, bytes);
    if (!memory)
        abort();
    return memory;
}

static void mark(bool *events, uint32_t unit, uint64_t *num)
{
    *num += !events[unit];
    events[unit] = true;
}

// Every edge between lanes; and those for which no later unit of that lane was waited for yet.
static void count_edges(struct simulation *simulation, uint32_t unit)
{
    const struct plan_graph *plan = simulation->plan;
    const uint32_t *lane_of = simulation->placement->lane_of;
    struct policy_result *result = &simulation->result;
    for (uint32_t e = plan->pred_first[unit]; e < plan->pred_first[unit + 1]; e++) {
        uint32_t pred = plan->pred_nodes[e];
        if (lane_of[pred] == lane_of[unit])
            continue;
        result->crossing++;
        mark(simulation->crossing_event, pred, &result->crossing_events);
        uint32_t *latest =
            &simulation->cache[lane_of[unit] * simulation->placement->num_lanes + lane_of[pred]];
        if (*latest > simulation->issue_of[pred])
            continue;
        *latest = simulation->issue_of[pred] + 1;
        result->cached++;
        mark(simulation->cached_event, pred, &result->cached_events);
    }
}

static void find_makespan(struct simulation *simulation, const struct plan_costs *costs)
{
    const struct plan_graph *plan = simulation->plan;
    const struct policy_placement *placement = simulation->placement;
    uint64_t *end = allocate(plan->num_units, sizeof(*end));
    uint64_t *lane_end = allocate(placement->num_lanes, sizeof(*lane_end));
    for (uint32_t i = 0; i < plan->num_units; i++) {
        uint32_t unit = placement->issued[i];
        uint64_t start = lane_end[placement->lane_of[unit]];
        for (uint32_t e = plan->pred_first[unit]; e < plan->pred_first[unit + 1]; e++)
            start = end[plan->pred_nodes[e]] > start ? end[plan->pred_nodes[e]] : start;
        end[unit] = lane_end[placement->lane_of[unit]] = start + costs->node_ns[unit];
        if (end[unit] > simulation->result.makespan_ns)
            simulation->result.makespan_ns = end[unit];
    }
    free(end);
    free(lane_end);
}

static void count_fewest(struct simulation *simulation)
{
    const struct plan_graph *plan = simulation->plan;
    const struct policy_placement *placement = simulation->placement;
    uint32_t *issued = allocate(plan->num_units, sizeof(*issued));
    struct array waits = { 0 };
    struct plan_waits know;
    if (!braid_plan_waits_init(&know, plan, placement->num_lanes, issued))
        abort();
    for (uint32_t i = 0; i < plan->num_units; i++) {
        uint32_t unit = placement->issued[i];
        braid_plan_waits_ask(&know, unit, UINT32_MAX);
        if (!braid_plan_waits_issue(&know, unit, placement->lane_of[unit], &waits))
            abort();
    }
    const uint32_t *units = waits.items;
    for (size_t i = 0; i < waits.num; i++)
        mark(simulation->fewest_event, units[i], &simulation->result.fewest_events);
    simulation->result.fewest = waits.num;
    braid_plan_waits_finish(&know);
    braid_array_finish(&waits);
    free(issued);
}

struct policy_result policy_simulate(const struct plan_graph *plan, const struct plan_costs *costs,
                                     const struct policy_placement *placement)
{
    struct simulation simulation = { .plan = plan, .placement = placement };
    simulation.issue_of = allocate(plan->num_units, sizeof(uint32_t));
    simulation.crossing_event = allocate(plan->num_units, sizeof(bool));
    simulation.cached_event = allocate(plan->num_units, sizeof(bool));
    simulation.fewest_event = allocate(plan->num_units, sizeof(bool));
    simulation.cache =
        allocate((size_t)placement->num_lanes * placement->num_lanes, sizeof(uint32_t));
    for (uint32_t i = 0; i < plan->num_units; i++)
        simulation.issue_of[placement->issued[i]] = i;
    for (uint32_t i = 0; i < plan->num_units; i++)
        count_edges(&simulation, placement->issued[i]);
    find_makespan(&simulation, costs);
    count_fewest(&simulation);
    free(simulation.issue_of);
    free(simulation.crossing_event);
    free(simulation.cached_event);
    free(simulation.fewest_event);
    free(simulation.cache);
    return simulation.result;
}
