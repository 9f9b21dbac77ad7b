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

// When a node ran, by any one clock. Both 0: that is not known, and the node is left out.
typedef struct braid_interval {
    uint64_t start_ns, end_ns;
} braid_interval;

// Zero everywhere is valid: the plan, in times.
typedef struct braid_timeline_options {
    const char *title; // NULL: none
    // Measured times: those of node i in frame f are intervals[f * number of nodes + i]. NULL: the
    // times that are planned.
    const braid_interval *intervals;
    size_t num_frames; // 0: 1. A picture shows the first
    // What times are shown in: `unit_ns` nanoseconds are one of `unit`, and "" shows bare numbers.
    // NULL: ns, us, ms and s.
    const char *unit;
    uint64_t unit_ns; // 0: 1
    // When the host launched each frame, by the clock of the intervals, which may be off against
    // the host's by `error_ns`: braid_timings.frames tells both. NULL: that is not shown.
    // Then time 0 is the begin of the first launch.
    const braid_interval *launches;
    uint64_t error_ns;
} braid_timeline_options;

// Writes a timeline to scale as SVG, for browsers and anything else that shows pictures: lanes are
// rows, time goes to the right, waits are thin lines, the critical path is red (of times that were
// measured: of the first frame, the nodes that each began behind the one before), bundles are
// framed, and idle time is told with what ended it; launches are a thin row above the lanes. Where
// many nodes fall on a pixel they are one block; in a browser one can zoom, pan, search nodes by
// name and click on them, and it follows light and dark. It needs nothing but itself. The text
// depends on its arguments alone. NULL options are all zero. Errors: BRAID_NO_MEMORY,
// BRAID_IO_ERROR, BRAID_INVALID_ARGUMENT (NULL, an interval that ends before it starts).
BRAID_API BRAID_MUST_CHECK braid_status braid_schedule_write_svg(
    const braid_schedule *schedule, const braid_timeline_options *options, FILE *file);

// Writes a trace as Chrome's JSON, which Perfetto (ui.perfetto.dev), chrome://tracing and
// Speedscope read: tracks are lanes, flows are waits, and frames are marked. The host's launches
// have a track of their own, from which a flow goes to each frame. `unit` is not used. Errors as
// above.
BRAID_API BRAID_MUST_CHECK braid_status braid_schedule_write_chrome_trace(
    const braid_schedule *schedule, const braid_timeline_options *options, FILE *file);

#ifdef __cplusplus
}
#endif

#endif
