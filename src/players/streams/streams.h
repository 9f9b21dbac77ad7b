// SPDX-License-Identifier: Apache-2.0
// The inside of the streams player: a program on leased streams, queued step by step.
//
// Lane 0 is the caller's own stream, so a program of one lane needs no event at all. Every other
// lane starts behind a fork event recorded on that stream, and is joined to it by an event of its
// own, except where the program says that this follows from its waits: all of a frame thus lies
// between the caller's earlier and later work, and the leased streams are idle whenever the
// caller's stream has passed the join.
#ifndef BRAID_PLAYERS_STREAMS_STREAMS_H
#define BRAID_PLAYERS_STREAMS_STREAMS_H

#include "program/player.h"

// An operation with everything looked up: `index` is a task (run) or an event (publish, wait).
struct stream_step {
    uint32_t kind; // enum program_op_kind
    uint32_t lane;
    uint32_t index;
    uint32_t task; // run, or at whose end the position is, for messages
};

struct stream_lane {
    braid_stream *stream; // lane 0: the caller's, during a launch; the others: leased
    braid_event *join;    // leased; NULL where there is nothing to join
    bool needs_fork;
    bool needs_join;
};

struct streams_playing {
    struct playing base;
    braid_device *device;
    const struct backend_task *tasks; // the frame's
    struct stream_lane *lanes;
    uint32_t num_lanes;
    braid_event *fork;    // leased; NULL where no lane needs it
    braid_event **events; // leased; `num_sets` sets of num_events
    uint32_t num_events;
    uint32_t num_sets;         // used in turn; see player.renews_events
    uint32_t num_launches;     //
    struct stream_step *steps; // in issue order
    size_t num_steps;
};

braid_status braid_streams_launch(struct playing *playing, braid_stream *stream,
                                  struct play_result *out_result);

#endif
