// SPDX-License-Identifier: Apache-2.0
// Runs the passes one after the other.
#include "plan/plan_passes.h"

#include "base/array.h"
#include "plan/plan_bundle_starts.h"
#include "plan/plan_islands.h"
#include "plan/plan_lanes.h"
#include "plan/plan_limit.h"
#include "plan/plan_times.h"

// The results that the passes hand on; the schedule takes the arrays that it keeps.
struct passes {
    const struct plan_graph *plan;
    struct plan_costs costs;
    struct plan_placement placement;
};

static void finish_passes(struct passes *passes)
{
    braid_plan_costs_finish(&passes->costs);
    braid_plan_placement_finish(&passes->placement);
}

static uint64_t divide_up(uint64_t value, uint64_t by)
{
    return value / by + (value % by != 0);
}

// Sets the graph's figures in info: everything but the plan's own.
static void fill_info(struct braid_schedule *schedule, const struct plan_costs *costs)
{
    braid_schedule_info *info = &schedule->info;
    uint64_t limit = braid_plan_lane_limit(schedule->graph, costs, &schedule->options);
    uint64_t most = costs->model.max_concurrent < limit ? costs->model.max_concurrent : limit;
    if (limit > braid_plan_most_at_once(costs))
        limit = braid_plan_most_at_once(costs);
    limit *= schedule->graph->num_places;
    most *= schedule->graph->num_places;
    uint64_t awake_ns = divide_up(costs->work_ns - costs->blocking_ns, most);
    info->num_nodes = schedule->graph->num_nodes;
    info->num_places = schedule->graph->num_places;
    if (schedule->placed) {
        info->num_copies = schedule->placed->num_copies;
        info->copy_bytes = schedule->placed->copy_bytes;
        info->one_place_ns = schedule->placed->one_place_ns;
    }
    info->num_guessed = costs->num_guessed;
    info->critical_path_ns = costs->critical_ns;
    info->work_ns = costs->work_ns;
    info->one_lane_ns = costs->one_lane_ns;
    info->bound_ns = divide_up(costs->work_ns, limit);
    if (info->bound_ns < awake_ns)
        info->bound_ns = awake_ns;
    if (info->bound_ns < costs->critical_ns)
        info->bound_ns = costs->critical_ns;
}

static braid_status run_passes(struct braid_schedule *schedule, const braid_graph *graph,
                               const struct plan_inside *inside, struct passes *passes)
{
    const struct plan_graph *plan = schedule->graph;
    const braid_schedule_options *options = &schedule->options;
    passes->plan = plan;
    braid_status status = braid_plan_costs_create(plan, graph, options, inside, &passes->costs);
    if (!status)
        status = braid_plan_critical_path(plan, &passes->costs, &schedule->critical,
                                          &schedule->num_critical);
    if (!status)
        status = braid_plan_best(plan, &passes->costs, options, &passes->placement);
    if (!status)
        fill_info(schedule, &passes->costs);
    schedule->info.makespan_ns = passes->placement.makespan_ns;
    if (!status)
        status = braid_plan_serialisations(schedule, &passes->placement);
    if (!status)
        status = braid_plan_steps_create(schedule, graph, &passes->costs, &passes->placement);
    if (!status && plan_bundles_may_start_sooner(plan, &passes->costs, schedule->info.num_lanes))
        status = braid_plan_find_times(schedule, &passes->costs.model, passes->costs.wait_busy_ns);
    if (!status && braid_plan_islands)
        status = braid_plan_islands->divide(schedule, graph, &passes->costs.model);
    if (!status)
        braid_plan_find_limit(schedule);
    return status;
}

braid_status braid_plan_passes(struct braid_schedule *schedule, const braid_graph *graph,
                               const struct plan_inside *inside)
{
    struct passes passes = { 0 };
    braid_status status = run_passes(schedule, graph, inside, &passes);
    finish_passes(&passes);
    return status;
}
