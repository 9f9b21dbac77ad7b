// SPDX-License-Identifier: Apache-2.0
// Creating schedules.
#include <stdlib.h>

#include "base/error.h"
#include "plan/plan_build.h"
#include "plan/plan_passes.h"
#include "plan/schedule.h"

braid_status braid_schedule_create(const braid_graph *graph, const braid_schedule_options *options,
                                   braid_schedule **out_schedule)
{
    static const braid_schedule_options defaults;
    if (!graph || !out_schedule)
        return braid_error(BRAID_INVALID_ARGUMENT, "braid_schedule_create: %s is NULL",
                           graph ? "out_schedule" : "graph");
    if (!options)
        options = &defaults;
    braid_status status = braid_plan_check_options(options);
    if (status)
        return status;
    struct plan_graph *plan = NULL;
    braid_schedule *schedule = NULL;
    status = braid_plan_graph_create(graph, &plan);
    if (!status)
        status = braid_schedule_begin(plan, graph->id, graph->version, options, &schedule);
    if (!status)
        status = braid_plan_passes(schedule, graph, 0);
    if (status)
        braid_schedule_destroy(schedule);
    else
        *out_schedule = schedule;
    return status;
}
