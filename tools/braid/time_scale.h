// SPDX-License-Identifier: Apache-2.0
// How long a file's unit of cost is, in nanoseconds.
#ifndef BRAID_TOOL_TIME_SCALE_H
#define BRAID_TOOL_TIME_SCALE_H

#include "dot_file.h"

// By the file's cost_unit: that time for ns, us, ms and s; 1 ns without a unit; 1 us for units that
// are not times.
double time_scale_default(const struct dot_file *file);

// Replaces each cost by its length in nanoseconds, at least 1. Fails where
// a frame would take longer than a day.
enum exit_status time_scale_apply(struct dot_file *file, double scale);

#endif
