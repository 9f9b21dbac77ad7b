// SPDX-License-Identifier: Apache-2.0
// The inside of the streams lowering: the step list on leased streams.
//
// Lane 0 is the caller's own stream, so a plan of one lane needs no event at all. Every other lane
// starts behind a fork event recorded on that stream, and is joined to it by an event of its own:
// all of a frame thus lies between the caller's earlier and later work, and the leased streams are
// idle whenever the caller's stream has passed the join.
//
// A lane whose first step is a wait needs no fork: what it waits for was itself forked (the first
// step of a frame is no wait, and each wait stands behind its record). A lane whose last step is a
// record needs no join: some other lane waits for that record, and of the lanes that so wait for
// each other's ends the last one in issue order does not end in a record.
#ifndef BRAID_EXEC_STREAMS_H
#define BRAID_EXEC_STREAMS_H

#include "exec/exec.h"

// A step with everything looked up: `index` is a task (run) or an event (record, wait).
struct stream_step {
    uint32_t kind; // braid_step_kind
    uint32_t lane;
    uint32_t index;
    uint32_t node; // run, recorded or waited for, for messages
};

struct stream_lane {
    braid_stream *stream; // lane 0: the caller's, during a launch; the others: leased
    braid_event *join;    // leased; NULL for lane 0
    bool needs_fork;
    bool needs_join;
};

struct streams_lowering {
    struct stream_lane *lanes;
    uint32_t num_lanes;
    braid_event *fork;    // leased; NULL with one lane
    braid_event **events; // leased; `num_frames` sets of num_events
    uint32_t num_events;
    uint32_t num_frames;       // sets of events used in turn; see backend_ops.renew_events
    uint32_t frame;            // counts launches
    struct stream_step *steps; // in issue order
    size_t num_steps;
};

// Queues one frame, joined to `stream` also when it fails; struct lowering's launch.
braid_status braid_streams_launch(braid_exec *exec, braid_stream *stream);

#endif
