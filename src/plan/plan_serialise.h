// SPDX-License-Identifier: Apache-2.0
// Pairs of units that the graph leaves free and the plan does not.
#ifndef BRAID_PLAN_SERIALISE_H
#define BRAID_PLAN_SERIALISE_H

#include "plan/plan_placement.h"
#include "plan/schedule.h"

// Fills the serialisations of a schedule and their count in info.
// Errors: BRAID_NO_MEMORY.
braid_status braid_plan_serialisations(struct braid_schedule *schedule,
                                       const struct plan_placement *placement);

#endif
