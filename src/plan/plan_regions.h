// SPDX-License-Identifier: Apache-2.0
// Planning a graph with regions: each region by itself, as a small graph.
#ifndef BRAID_PLAN_PLAN_REGIONS_H
#define BRAID_PLAN_PLAN_REGIONS_H

#include "plan/schedule.h"

// The schedule's program has a body for each region. Placements of nodes inside tell the lane of
// the region, and the times of its first run. Errors: of braid_schedule_create.
braid_status braid_plan_regions(const braid_graph *graph, const braid_schedule_options *options,
                                braid_schedule **out_schedule);

// Of a graph without regions.
braid_status braid_schedule_create_whole(const braid_graph *graph,
                                         const braid_schedule_options *options,
                                         braid_schedule **out_schedule);

#endif
