// SPDX-License-Identifier: Apache-2.0
// The main limit of a planned frame.
#ifndef BRAID_PLAN_LIMIT_H
#define BRAID_PLAN_LIMIT_H

#include "plan/plan_text.h"
#include "plan/schedule.h"

// Fills the costs of starting nodes and the limit in info. They follow from the schedule's times
// and steps and the cost model of its options. To be called again if those change.
void braid_plan_find_limit(struct braid_schedule *schedule);
// Writes the limit of the frame as planned.
void braid_explain_limit(struct plan_text *text, const struct braid_schedule *schedule);

#endif
