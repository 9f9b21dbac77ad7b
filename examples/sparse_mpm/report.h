// SPDX-License-Identifier: Apache-2.0
// What sparse_mpm prints.
#ifndef MPM_REPORT_H
#define MPM_REPORT_H

#include <stdbool.h>

#include "run.h"
#include "sequential.h"

void mpm_report_scene(const struct mpm_scene *scene);

// The plan of a frame, and why the two loops that share a level do not overlap.
void mpm_report_plan(const struct mpm_run *run);

// A line that is overwritten by the next one; only where standard error is a terminal.
void mpm_report_progress(const char *backend, uint32_t frame, uint32_t num_frames);

// Compares the end of a run with the reference's. Returns whether they are equal.
bool mpm_report_difference(const struct mpm_run *run, const struct mpm_sequential *reference);

// The table of times, and what the first run gained over the second, which has one lane.
// Sorts the times.
void mpm_report_times(struct mpm_sequential *reference, struct mpm_run *runs, uint32_t num_runs);

#endif
