// SPDX-License-Identifier: Apache-2.0
// The facts of a graph that placing needs: costs of units by place, their accesses to memory, and
// the data along edges.
#include "base/error.h"
#include "graph/regions.h"
#include "plan/places/place_memory.h"
#include "plan/places/place_times.h"
#include "plan/plan_lanes.h"

static bool is_tracked(const braid_graph *graph, uint32_t resource)
{
    return braid_place_home(graph, resource) != GRAPH_EVERYWHERE;
}

static void fill_segments(struct place_task *task, const struct graph_segments *segments)
{
    const braid_graph *graph = task->graph;
    for (uint32_t i = 0; i < graph->resources.num; i++) {
        uint32_t home = braid_place_home(graph, i);
        for (uint32_t s = segments->first[i]; s < segments->end[i]; s++) {
            task->segment_bytes[s] = segments->offsets[s + 1] - segments->offsets[s];
            task->home[s] = home < GRAPH_MOST_PLACES ? (uint8_t)(home + 1) : 0;
        }
    }
}

static void fill_uses(struct place_task *task, const struct graph_segments *segments)
{
    const struct plan_graph *plan = task->plan;
    const struct graph_access *accesses = task->graph->accesses.items;
    uint32_t num = 0;
    for (uint32_t unit = 0; unit < plan->num_units; unit++) {
        task->first_use[unit] = num;
        for (uint32_t i = 0; i < plan_unit_size(plan, unit); i++) {
            uint32_t member = plan_unit_member(plan, unit, i);
            const struct graph_node *node = &graph_nodes(task->graph)[member];
            for (uint32_t k = 0; k < node->num_accesses; k++) {
                const struct graph_access *access = &accesses[node->first_access + k];
                if (!is_tracked(task->graph, access->resource))
                    continue;
                task->uses[num++] = (struct place_use){
                    segments->first[access->resource], segments->end[access->resource],
                    graph_needs_data(task->graph, member, access), access->mode != BRAID_READ
                };
            }
        }
    }
    task->first_use[plan->num_units] = num;
}

// The time of a node inside a region is counted with the region's node.
static bool is_inside(const struct place_task *task, uint32_t node)
{
    return braid_graph_region_of(task->graph, node) != GRAPH_NONE;
}

static void fill_costs(struct place_task *task, const struct plan_costs *costs)
{
    const struct plan_graph *plan = task->plan;
    for (uint32_t unit = 0; unit < plan->num_units; unit++) {
        task->share[unit] = costs->unit_share ? costs->unit_share[unit] : 0;
        for (uint32_t i = 0; i < plan_unit_size(plan, unit); i++) {
            uint32_t node = plan_unit_member(plan, unit, i);
            bool is_empty = graph_nodes(task->graph)[node].kind == WORK_EMPTY;
            for (uint32_t p = 0; p < task->num_places && !is_inside(task, node); p++)
                task->cost_ns[(size_t)unit * task->num_places + p] +=
                    costs->model.node_ns +
                    (is_empty ? costs->node_ns[node]
                              : braid_place_cost_ns(&task->model, p, costs->node_ns[node]));
        }
    }
}

static void fill_edges(struct place_task *task)
{
    const struct plan_graph *plan = task->plan;
    for (uint32_t e = 0; e < plan->num_edges && plan->pred_reasons; e++) {
        uint32_t reason = plan->pred_reasons[e];
        if (reason >= PLAN_BY_HINT || plan->links[reason].hazard != GRAPH_READ_AFTER_WRITE ||
            !is_tracked(task->graph, plan->links[reason].resource))
            continue;
        task->edge_bytes[e] = graph_resource_at(task->graph, plan->links[reason].resource)->bytes;
    }
}

static bool allocate(struct place_task *task, uint32_t num_segments)
{
    size_t units = task->plan->num_units;
    task->num_segments = num_segments;
    task->segment_bytes =
        braid_store_take(&task->store, (size_t)num_segments + 1, sizeof(uint64_t));
    task->home = braid_store_take(&task->store, (size_t)num_segments + 1, 1);
    task->uses = braid_store_take(&task->store, task->graph->accesses.num, sizeof(*task->uses));
    task->first_use = braid_store_take(&task->store, units + 1, sizeof(uint32_t));
    task->cost_ns = braid_store_take(&task->store, units * task->num_places, sizeof(uint64_t));
    task->allowed = braid_store_take(&task->store, units, sizeof(uint64_t));
    task->share = braid_store_take(&task->store, units, sizeof(uint32_t));
    task->edge_bytes = braid_store_take(&task->store, task->plan->num_edges, sizeof(uint64_t));
    return !task->store.failed;
}

static braid_status fill(struct place_task *task, const struct graph_segments *segments)
{
    if (!allocate(task, segments->num_segments))
        return braid_error_no_memory("the places of a plan");
    fill_segments(task, segments);
    fill_uses(task, segments);
    fill_edges(task);
    return braid_place_find_allowed(task->graph, task->plan, task->num_places, task->allowed);
}

static braid_status find_costs(struct place_task *task, const braid_graph *units,
                               const braid_schedule_options *options)
{
    struct plan_costs costs;
    braid_status status = braid_plan_costs_create(task->plan, units, options, NULL, &costs);
    if (status)
        return status;
    fill_costs(task, &costs);
    uint32_t lanes = braid_plan_lane_limit(task->plan, &costs, options);
    task->most = costs.model.max_concurrent < lanes ? costs.model.max_concurrent : lanes;
    braid_plan_costs_finish(&costs);
    return BRAID_OK;
}

braid_status braid_place_task_create(const braid_graph *graph, const braid_graph *units,
                                     const struct plan_graph *plan,
                                     const braid_schedule_options *options,
                                     struct place_task *out_task)
{
    struct place_task task = { .plan = plan,
                               .graph = graph,
                               .num_places = options->places->num_places };
    struct graph_segments segments = { 0 };
    braid_status status = braid_place_model_copy(options->places, &task.model);
    if (!status)
        status = braid_graph_find_segments(graph, &segments);
    if (!status)
        status = fill(&task, &segments);
    if (!status)
        status = find_costs(&task, units, options);
    braid_graph_segments_finish(&segments);
    if (status)
        braid_place_task_finish(&task);
    else
        *out_task = task;
    return status;
}

void braid_place_task_finish(struct place_task *task)
{
    braid_place_model_finish(&task->model);
    braid_store_finish(&task->store);
    *task = (struct place_task){ 0 };
}
