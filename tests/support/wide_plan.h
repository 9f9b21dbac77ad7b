// SPDX-License-Identifier: Apache-2.0
// Options for a plan in which all that may overlap does: lanes order no nodes that the graph leaves
// free, so a handshake between such nodes never hangs.
#ifndef WIDE_PLAN_H
#define WIDE_PLAN_H

#include <braid/schedule.h>

static inline braid_schedule_options wide_plan(void)
{
    return (braid_schedule_options){ .max_lanes = BRAID_ALL_LANES, .fixed_lanes = true };
}

#endif
