// SPDX-License-Identifier: Apache-2.0
// Plans a graph again after its costs changed. The graph in planning form does not depend on costs;
// nor do lanes and waits stop being right, so they are kept where the new times are good enough.
#include <string.h>

#include "base/array.h"
#include "base/big_memory.h"
#include "base/error.h"
#include "plan/plan_limit.h"
#include "plan/plan_passes.h"
#include "plan/plan_times.h"
#include "plan/schedule.h"

// Lanes are kept if that makes the plan no worse than this, against the bound, than it was.
#define KEPT_LOSS 50 // one part in

// Kernels that together have more threads than the device runs delay each other in ways that no
// step shows; out_crowded tells whether such may meet on the kept lanes.
static braid_status retime(struct braid_schedule *schedule, const braid_graph *graph,
                           const braid_schedule *from, bool *out_crowded)
{
    struct plan_costs costs;
    braid_schedule_share_lanes(schedule, from);
    braid_status status =
        braid_plan_costs_create(schedule->graph, graph, &schedule->options, NULL, &costs);
    if (status)
        return status;
    *out_crowded = (uint64_t)costs.most_share * from->info.num_lanes > PLAN_WHOLE_DEVICE;
    schedule->cost_ns = costs.node_ns;
    schedule->unknown = costs.unknown;
    schedule->start_ns = malloc(((size_t)schedule->info.num_nodes + 1) * sizeof(uint64_t));
    status = schedule->start_ns ? braid_plan_find_times(schedule, &costs.model)
                                : braid_error_no_memory("the times of a plan");
    if (!status)
        status = braid_plan_critical_path(schedule->graph, &costs, &schedule->critical,
                                          &schedule->num_critical);
    braid_plan_fill_info(schedule, &costs);
    costs.node_ns = NULL;
    costs.unknown = NULL;
    braid_plan_costs_finish(&costs);
    return status;
}

// Whether lanes and waits chosen for the old options are what the new ones ask for. A model of few
// concurrent nodes delays nodes in ways that no step shows.
static bool may_keep(const braid_schedule *from, const braid_schedule_options *options)
{
    const braid_schedule_options *old = &from->options;
    uint32_t most = options->costs.max_concurrent;
    return old->max_lanes == options->max_lanes && old->fixed_lanes == options->fixed_lanes &&
           old->policy == options->policy && old->effort == options->effort &&
           (most == 0 || from->info.num_lanes <= most);
}

// In double: a share of 2^63 ns is compared with a share of another, and rounding decides nothing
// that matters. Division and multiplication round alike on every machine.
static bool is_good_enough(const braid_schedule *schedule, const braid_schedule *old)
{
    uint64_t old_ns =
        old->division.island_of ? old->division.plain_makespan_ns : old->info.makespan_ns;
    double ratio = (double)schedule->info.makespan_ns / (double)schedule->info.bound_ns;
    double old_ratio = (double)old_ns / (double)old->info.bound_ns;
    return ratio <= old_ratio + old_ratio / KEPT_LOSS;
}

static braid_status start_schedule(const braid_schedule *from, struct placed *placed,
                                   const braid_schedule_options *options,
                                   braid_schedule **out_schedule)
{
    braid_status status = braid_schedule_begin(braid_plan_graph_share(from->graph), from->graph_id,
                                               from->graph_version, options, out_schedule);
    if (!status)
        (*out_schedule)->placed = braid_placed_share(placed);
    return status;
}

static braid_status try_keeping(const braid_schedule *from, const braid_graph *graph,
                                struct placed *placed, const braid_schedule_options *options,
                                braid_schedule **out_schedule)
{
    braid_schedule *schedule = NULL;
    if (!may_keep(from, options))
        return BRAID_OK;
    braid_status status = start_schedule(from, placed, options, &schedule);
    if (status)
        return status;
    bool crowded = true;
    status = retime(schedule, graph, from, &crowded);
    bool keeps = !status && !crowded && is_good_enough(schedule, from);
    if (keeps)
        status = braid_plan_divide_by_graph(schedule, graph, &options->costs);
    if (keeps && !status) {
        schedule->info.saved_ns = 0;
        braid_plan_find_limit(schedule);
        *out_schedule = schedule;
    } else
        braid_schedule_destroy(schedule);
    return status;
}

// The number of lanes was chosen for this graph before; only where lanes limit nothing it is free.
static braid_status place_again(const braid_schedule *from, const braid_graph *graph,
                                struct placed *placed, const braid_schedule_options *options,
                                braid_schedule **out_schedule)
{
    braid_schedule *schedule = NULL;
    braid_status status = start_schedule(from, placed, options, &schedule);
    if (status)
        return status;
    bool as_many = may_keep(from, options) && from->info.num_lanes > 1;
    status = braid_plan_passes(schedule, graph, as_many ? from->info.num_lanes : 0, NULL);
    if (status)
        braid_schedule_destroy(schedule);
    else
        *out_schedule = schedule;
    return status;
}

braid_status braid_schedule_replan(const braid_schedule *schedule, const braid_graph *graph,
                                   const braid_schedule_options *options,
                                   braid_schedule **out_schedule)
{
    if (!schedule || !graph || !out_schedule)
        return braid_error(BRAID_INVALID_ARGUMENT, "braid_schedule_replan: %s is NULL",
                           !schedule ? "schedule"
                           : !graph  ? "graph"
                                     : "out_schedule");
    if (schedule->graph_id != graph->id || schedule->graph_version != graph->version)
        return braid_error(BRAID_INVALID_ARGUMENT, "braid_schedule_replan: the schedule is of %s",
                           schedule->graph_id != graph->id ? "another graph"
                                                           : "this graph before it was changed");
    if (!options)
        options = &schedule->options;
    braid_status status = braid_plan_check_options(options);
    if (!status && graph->regions.num) // what a loop takes follows from its body
        return braid_schedule_create_plain(graph, options, out_schedule);
    braid_schedule *replanned = NULL;
    struct placed *placed = NULL;
    if (!status && schedule->placed) // nodes stay where they are
        status = braid_placed_renew_costs(schedule->placed, graph, &placed);
    const braid_graph *planned = placed ? placed->graph : graph;
    if (!status)
        status = try_keeping(schedule, planned, placed, options, &replanned);
    if (!status && !replanned)
        status = place_again(schedule, planned, placed, options, &replanned);
    braid_placed_release(placed);
    if (!status)
        *out_schedule = replanned;
    return status;
}
