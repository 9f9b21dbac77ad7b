// SPDX-License-Identifier: Apache-2.0
// Timelines: when each node of a plan runs, as planned or as measured, as pictures and as traces.
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

// Writes a timeline to scale as a self-contained SVG (docs/drawings.md). The text depends on its
// arguments alone.
// Errors: BRAID_IO_ERROR.
BRAID_API BRAID_MUST_CHECK braid_status braid_schedule_write_svg(
    const braid_schedule *schedule, const braid_timeline_options *options, FILE *file);

// Writes a trace as Chrome's JSON, for Perfetto, chrome://tracing and Speedscope
// (docs/drawings.md). `unit` is not used.
// Errors: as braid_schedule_write_svg.
BRAID_API BRAID_MUST_CHECK braid_status braid_schedule_write_chrome_trace(
    const braid_schedule *schedule, const braid_timeline_options *options, FILE *file);

#ifdef __cplusplus
}
#endif

#endif
