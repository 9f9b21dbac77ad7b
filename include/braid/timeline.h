// SPDX-License-Identifier: Apache-2.0
// Drawings of plans: graphs, and timelines of planned or measured times.
#ifndef BRAID_TIMELINE_H
#define BRAID_TIMELINE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <braid/schedule.h>
#include <braid/status.h>

#ifdef __cplusplus
extern "C" {
#endif

// When a node ran, by one clock. Both 0: unknown, and the node is left out.
typedef struct braid_interval {
    uint64_t start_ns, end_ns;
} braid_interval;

// Options of a timeline. Zero everywhere: the plan, in times.
typedef struct braid_timeline_options {
    const char *title; // NULL: none
    // Measured times: those of node i in frame f are intervals[f * number of nodes + i]. NULL:
    // planned.
    const braid_interval *intervals;
    size_t num_frames; // 0: 1. A picture shows the first
    // The unit shown: `unit_ns` nanoseconds are one `unit`. "": bare numbers. NULL: ns, us, ms and
    // s.
    const char *unit;
    uint64_t unit_ns; // 0: 1
    // When the host launched each frame, by the clock of the intervals. NULL: none. Time 0 is then
    // the begin of the first launch. `error_ns` is the uncertainty between the clocks.
    const braid_interval *launches;
    uint64_t error_ns;
} braid_timeline_options;

// The forms of a drawing (docs/drawings.md).
typedef enum braid_drawing {
    BRAID_DRAWING_DOT = 0,   // Graphviz, of the plan alone: it takes no options
    BRAID_DRAWING_SVG = 1,   // a timeline to scale, in one self-contained file
    BRAID_DRAWING_TRACE = 2, // Chrome's JSON, for Perfetto and Speedscope. `unit` is not used
} braid_drawing;

// Writes a drawing. The text depends on the arguments alone.
// Errors: BRAID_IO_ERROR, BRAID_INVALID_ARGUMENT (an interval ends before it starts).
BRAID_INLINE BRAID_MUST_CHECK braid_status
braid_schedule_write(const braid_schedule *schedule, braid_drawing drawing,
                     const braid_timeline_options *options, FILE *file);

// With sizes: docs/stability.md.
BRAID_API BRAID_MUST_CHECK braid_status
braid_schedule_write_sized(const braid_schedule *schedule, braid_drawing drawing,
                           const braid_timeline_options *options, FILE *file, size_t size);
BRAID_INLINE braid_status braid_schedule_write(const braid_schedule *schedule,
                                               braid_drawing drawing,
                                               const braid_timeline_options *options, FILE *file)
{
    return braid_schedule_write_sized(schedule, drawing, options, file,
                                      sizeof(braid_timeline_options));
}

#ifdef __cplusplus
}
#endif

#endif
