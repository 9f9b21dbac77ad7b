// SPDX-License-Identifier: Apache-2.0
// Regions in the drawing of a schedule: boxes inside the box of a lane.
#ifndef BRAID_PLAN_SCHEDULE_DOT_REGIONS_H
#define BRAID_PLAN_SCHEDULE_DOT_REGIONS_H

#include <stdio.h>

#include "plan/schedule.h"

// The lanes of a body and of its else, with their nodes and those of regions inside, and the edges
// among them.
void braid_dot_write_body(FILE *file, const braid_schedule *schedule, const struct program *body);

#endif
