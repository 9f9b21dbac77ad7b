// SPDX-License-Identifier: Apache-2.0
// Making schedules: of a graph, or of one whose nodes have places.
#include <stdlib.h>

#include "base/error.h"
#include "graph/regions.h"
#include "plan/plan_build.h"
#include "plan/plan_passes.h"
#include "plan/plan_regions.h"
#include "plan/schedule.h"

static braid_status create(const braid_graph *graph, struct placed *placed,
                           const braid_schedule_options *options, const struct plan_inside *inside,
                           braid_schedule **out_schedule)
{
    struct plan_graph *plan = NULL;
    braid_schedule *schedule = NULL;
    braid_status status = braid_plan_graph_create(graph, &plan);
    if (!status)
        status = braid_schedule_begin(plan, graph->id, graph->version, options, &schedule);
    if (!status) {
        schedule->placed = braid_placed_share(placed);
        status = braid_plan_passes(schedule, graph, inside);
    }
    if (status)
        braid_schedule_destroy(schedule);
    else
        *out_schedule = schedule;
    return status;
}

braid_status braid_schedule_create_plain(const braid_graph *graph,
                                         const braid_schedule_options *options,
                                         braid_schedule **out_schedule)
{
    if (graph->regions.num)
        return braid_plan_regions(graph, options, out_schedule);
    return braid_schedule_create_whole(graph, options, out_schedule);
}

braid_status braid_schedule_create_whole(const braid_graph *graph,
                                         const braid_schedule_options *options,
                                         braid_schedule **out_schedule)
{
    return create(graph, NULL, options, NULL, out_schedule);
}

braid_status braid_schedule_create_inside(const braid_graph *graph,
                                          const braid_schedule_options *options,
                                          const struct plan_inside *inside,
                                          braid_schedule **out_schedule)
{
    braid_status status = braid_graph_refuse_regions(graph, "an island");
    if (!status)
        status = braid_plan_check_options(options);
    return status ? status : create(graph, NULL, options, inside, out_schedule);
}

braid_status braid_schedule_create_placed(struct placed *placed,
                                          const braid_schedule_options *options,
                                          braid_schedule **out_schedule)
{
    return create(placed->graph, placed, options, NULL, out_schedule);
}
