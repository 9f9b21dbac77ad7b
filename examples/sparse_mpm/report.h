// SPDX-License-Identifier: Apache-2.0
// What sparse_mpm prints.
#ifndef MPM_REPORT_H
#define MPM_REPORT_H

#include <stdbool.h>

#include "compare.h"
#include "run.h"

void mpm_report_scene(const struct mpm_scene *scene);

// The plan of a frame, and why the two loops that share a level do not overlap.
void mpm_report_plan(const struct mpm_frame *frame, const braid_exec *exec);

// A line that is overwritten by the next one; only where standard error is a terminal.
void mpm_report_progress(const char *title, uint32_t frame, uint32_t num_frames);

// Returns whether there is none.
bool mpm_report_difference(const char *title, const struct mpm_difference *difference);

// One line of the table of times.
void mpm_report_table_head(void);
void mpm_report_sequential(uint64_t median_ns);
void mpm_report_result(const char *title, const struct mpm_result *result, uint64_t sequential_ns);

#endif
