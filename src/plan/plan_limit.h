// SPDX-License-Identifier: Apache-2.0
// What limits a planned frame.
#ifndef BRAID_PLAN_LIMIT_H
#define BRAID_PLAN_LIMIT_H

#include "plan/schedule.h"

// Fills what the info says of starting nodes and of the limit, from the schedule's times and steps
// and the cost model of its options. To be called again where those change.
void braid_plan_find_limit(struct braid_schedule *schedule);

#endif
