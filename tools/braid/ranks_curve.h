// SPDX-License-Identifier: Apache-2.0
// What was simulated of several numbers of ranks, and its drawing.
#ifndef BRAID_TOOL_RANKS_CURVE_H
#define BRAID_TOOL_RANKS_CURVE_H

#include <stddef.h>
#include <stdio.h>

#include <braid/status.h>

#include "ranks_plan.h"

enum { RANKS_MOST_POINTS = 64 };

struct ranks_point {
    uint32_t num_ranks;
    size_t num_tasks;
    struct ranks_frame frame;
    double efficiency; // the part of all workers' time in which they computed
};

struct ranks_curve {
    const char *title;
    struct ranks_point points[RANKS_MOST_POINTS];
    uint32_t num;
};

// Efficiency over the number of ranks, as SVG: an output_writer of a ranks_curve.
braid_status ranks_curve_write(FILE *file, const void *curve);

#endif
