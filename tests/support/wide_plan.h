// SPDX-License-Identifier: Apache-2.0
// Options for a plan in which all that may overlap does: lanes order no nodes that the graph leaves
// free, so a handshake between such nodes never hangs.
#ifndef WIDE_PLAN_H
#define WIDE_PLAN_H

#include <braid/schedule.h>

// Waits and launches are free.
static const braid_cost_model free_costs;

static inline braid_schedule_options wide_plan(void)
{
    return (braid_schedule_options){ .costs = &free_costs,
                                     .max_lanes = BRAID_ALL_LANES,
                                     .fixed_lanes = true };
}

#endif
