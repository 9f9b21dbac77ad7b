// SPDX-License-Identifier: Apache-2.0
// The content of all timelines: times of nodes on their lanes, waits, and critical nodes.
#ifndef BRAID_REPORT_TIMELINE_H
#define BRAID_REPORT_TIMELINE_H

#include <stdbool.h>

#include <braid/timeline.h>

#include "base/store.h"
#include "plan/schedule.h"

struct timeline_wait {
    uint32_t from, to; // nodes: `to` waits for the end of `from`
    uint32_t position;
};

struct timeline {
    const braid_schedule *schedule;
    braid_timeline_options options; // without its special zeros, but for `unit`
    uint32_t num_nodes, num_lanes;
    uint64_t span_ns; // the first frame's, from time 0 to its last end
    struct timeline_wait *waits;
    size_t num_waits;
    bool *is_critical;      // per node; of times that were measured: in the first frame
    uint32_t *lane_before;  // per node: the one before it on its lane, or PLAN_NONE
    uint32_t *last_waited;  // per node: of those it waits for, the one that ends last, or PLAN_NONE
    uint64_t *frame_origin; // per frame: its first start
    double *lane_y;         // for the picture: where each lane begins, and where the last one ends
    uint64_t zero_ns;   // where time 0 is: the first frame's first start, or its launch if known
    struct store store; // holds the arrays
};

// Errors: BRAID_INVALID_ARGUMENT (an interval ends before it starts), BRAID_NO_MEMORY.
braid_status braid_timeline_create(const braid_schedule *schedule,
                                   const braid_timeline_options *options,
                                   struct timeline *out_timeline);
void braid_timeline_finish(struct timeline *timeline);

// When a node ran, counted from time 0. False if that is not known.
bool braid_timeline_interval(const struct timeline *timeline, size_t frame, uint32_t node,
                             braid_interval *out_interval);

// From the first start of a frame to its last end, counted likewise.
braid_interval braid_timeline_frame(const struct timeline *timeline, size_t frame);

// When the host launched a frame, counted likewise. False if that is not known.
bool braid_timeline_launch(const struct timeline *timeline, size_t frame,
                           braid_interval *out_interval);

// Writes a time, or an amount of the options' unit, as text of XML: "12.5 us".
void braid_timeline_write_time(const struct timeline *timeline, uint64_t time_ns, FILE *file);

// "prelude of loop", "epilogue of loop", or nothing for other nodes.
void braid_timeline_write_role(const struct timeline *timeline, uint32_t node,
                               void (*write)(FILE *file, const char *text), FILE *file);

// The node's kind in the words of drawings of graphs; "" for kernels.
const char *braid_timeline_kind(const struct timeline *timeline, uint32_t node);

// Whether a node is a prelude or epilogue.
bool braid_timeline_is_bundled(const struct timeline *timeline, uint32_t node);

// The island that a node is a call of, or PLAN_NONE.
uint32_t braid_timeline_island(const struct timeline *timeline, uint32_t node);

// Whether a node's length is planned from a cost that nobody gave.
bool braid_timeline_is_guess(const struct timeline *timeline, uint32_t node);

// The writers. The trace's has no memory if it returns false.
void braid_svg_write(const struct timeline *timeline, FILE *file);
bool braid_chrome_write(const struct timeline *timeline, FILE *file);

#endif
