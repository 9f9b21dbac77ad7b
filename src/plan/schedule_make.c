// SPDX-License-Identifier: Apache-2.0
// Making schedules: of a graph, or of one whose nodes have places.
#include <stdlib.h>

#include "base/error.h"
#include "graph/regions.h"
#include "plan/plan_build.h"
#include "plan/plan_passes.h"
#include "plan/plan_regions.h"
#include "plan/schedule.h"

braid_status braid_schedule_create_whole(const struct plan_order *order,
                                         braid_schedule **out_schedule)
{
    const braid_graph *graph = order->graph;
    struct plan_graph *plan = NULL;
    braid_schedule *schedule = NULL;
    braid_status status = braid_plan_graph_create(graph, &plan);
    if (!status)
        status = braid_schedule_begin(plan, graph->id, graph->version, order->options, &schedule);
    if (!status) {
        schedule->placed = braid_placed_share(order->placed);
        status = braid_plan_passes(schedule, graph, order->inside);
    }
    if (status)
        braid_schedule_destroy(schedule);
    else
        *out_schedule = schedule;
    return status;
}

static braid_status create(const struct plan_order *order, braid_schedule **out_schedule)
{
    bool has_parts = order->graph->regions.num || order->graph->num_left_out;
    return has_parts ? braid_plan_regions(order, out_schedule)
                     : braid_schedule_create_whole(order, out_schedule);
}

braid_status braid_schedule_create_plain(const braid_graph *graph,
                                         const braid_schedule_options *options,
                                         braid_schedule **out_schedule)
{
    const struct plan_order order = { .graph = graph, .options = options };
    return create(&order, out_schedule);
}

braid_status braid_schedule_create_inside(const braid_graph *graph,
                                          const braid_schedule_options *options,
                                          const struct plan_inside *inside,
                                          braid_schedule **out_schedule)
{
    const struct plan_order order = { .graph = graph, .options = options, .inside = inside };
    braid_status status = braid_graph_refuse_regions(graph, "an island");
    return status ? status : create(&order, out_schedule);
}

braid_status braid_schedule_create_placed(struct placed *placed,
                                          const braid_schedule_options *options,
                                          braid_schedule **out_schedule)
{
    const struct plan_order order = { placed->graph, placed, NULL, options };
    return create(&order, out_schedule);
}
