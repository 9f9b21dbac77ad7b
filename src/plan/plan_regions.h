// SPDX-License-Identifier: Apache-2.0
// Planning a graph in parts: each region by itself, as a small graph. No part has nodes left out.
#ifndef BRAID_PLAN_PLAN_REGIONS_H
#define BRAID_PLAN_PLAN_REGIONS_H

#include "plan/schedule.h"

// A graph to plan, and the purpose.
struct plan_order {
    const braid_graph *graph;
    struct placed *placed;            // NULL: it is for one place
    const struct plan_inside *inside; // NULL: it is no island
    const braid_schedule_options *options;
};

// The schedule's program has a body for each region. Placements of nodes inside tell the lane of
// the region, and the times of its first run. Errors: of braid_schedule_create.
braid_status braid_plan_regions(const struct plan_order *order, braid_schedule **out_schedule);

// Plans a graph without regions all of whose nodes stay.
braid_status braid_schedule_create_whole(const struct plan_order *order,
                                         braid_schedule **out_schedule);

#endif
