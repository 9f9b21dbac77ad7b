// SPDX-License-Identifier: Apache-2.0
// Draws a schedule as Graphviz DOT.
#ifndef BRAID_REPORT_SCHEDULE_DOT_H
#define BRAID_REPORT_SCHEDULE_DOT_H

#include <stdio.h>

#include "plan/schedule.h"

braid_status braid_schedule_dot_write(const braid_schedule *schedule, FILE *file);

#endif
