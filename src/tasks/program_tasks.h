// SPDX-License-Identifier: Apache-2.0
// The program of an exec: that of its schedule, with tasks, and with islands as stretches of lanes.
#ifndef BRAID_TASKS_PROGRAM_TASKS_H
#define BRAID_TASKS_PROGRAM_TASKS_H

#include "plan/program.h"
#include "plan/schedule.h"
#include "tasks/tasks.h"

// The schedule and the tasks, which are its nodes, outlive the program. Errors: BRAID_NO_MEMORY.
braid_status braid_program_create(const braid_schedule *schedule, const struct tasks *tasks,
                                  uint8_t is_island, struct program *out_program);
void braid_program_finish(struct program *program);

#endif
