// SPDX-License-Identifier: Apache-2.0
// When the nodes of a step list start.
#ifndef BRAID_PLAN_TIMES_H
#define BRAID_PLAN_TIMES_H

#include "plan/schedule.h"

// Sets start_ns, which has room for all nodes, and the makespan of a schedule that has steps and
// costs. Limits of nodes at once are not looked at. Errors: BRAID_NO_MEMORY.
braid_status braid_plan_find_times(struct braid_schedule *schedule, const braid_cost_model *model,
                                   uint64_t wait_busy_ns);

#endif
