// SPDX-License-Identifier: Apache-2.0
// The inside of the streams player: a plan's program on leased streams, queued step by step.
//
// One lane is the caller's own stream: lane 0, or with several places the first lane on place 0,
// where the caller's stream is. So a plan of one lane needs no event at all. Every other lane
// starts behind a fork event on that stream, and an event of its own joins it to the stream. If the
// program says that either follows from its waits, that event is left out. So all of a frame lies
// between the caller's earlier and later work. The leased streams are idle whenever the caller's
// stream has passed the join.
#ifndef BRAID_BACKENDS_STREAMS_STREAMS_H
#define BRAID_BACKENDS_STREAMS_STREAMS_H

#include "base/store.h"
#include "tasks/player.h"

struct stream_lane {
    braid_device *device; // its place's
    braid_stream *stream; // the callers lane: the caller's, during a launch; the others: leased
    braid_event *join;    // leased; NULL where there is nothing to join
    bool needs_fork;
    bool needs_join;
};

// A mark is an event of the frame, and each frame kept has marks of its own. The first is its begin
// on the caller's stream, and the last its end. Between them a launch records the begin of each
// forked lane, then the end of each task and wait. An operation's time is from the mark before it
// on its lane to its own mark.
struct streams_times {
    uint32_t room; // frames
    size_t num_marks;
    braid_event **marks; // room * num_marks
    size_t num_recorded; // for the frame begun last
    bool *is_whole;      // room: all marks of that frame were recorded
    uint64_t num_frames; // begun
    braid_device *device;
    braid_stream *clock_stream; // leased, with nothing on it but
    braid_event *clock_event;   // an event with timing, for reading the clock
    struct store store;         // holds the arrays
};

struct streams_playing {
    struct playing base;
    braid_device *device;             // place 0's
    int32_t priority;                 // the lanes' streams have it
    const struct backend_task *tasks; // the frame's
    struct stream_lane *lanes;
    uint32_t num_lanes;
    uint32_t callers;     // the lane that is the caller's stream; num_lanes: none
    braid_event *fork;    // leased; NULL where no lane needs it
    braid_event **events; // leased; `num_sets` sets of num_events
    uint32_t num_events;
    uint32_t num_sets;          // used in turn; see player.renews_events
    uint32_t num_launches;      //
    braid_event **frame_events; // leased; one a frame position
    uint32_t num_frame_events;
    const struct streams_playing *before; // whose frame positions are awaited; NULL: none are
    const struct program *program;
    uint32_t *event_of;            // by position
    struct streams_played *played; // loops and branches; NULL: there are none
    struct streams_driven *driven; // loops that the host drives; NULL: there are none
    // Work that the last launch has left outside of the streams; its backend is NULL: none.
    struct backend_task going_on;
    struct backend *going_on_there;
    struct streams_times *times; // NULL: nobody asked for times
    struct store store;          // holds the arrays
};

// Queues one frame of a playing that needs no driver, or an iteration of a body.
braid_status braid_streams_launch(struct playing *playing, braid_stream *stream,
                                  struct play_result *out_result);
// Waits for each stream of its own, and for work that no stream tells of.
braid_status braid_streams_synchronize(struct playing *playing);

// All places are the device that a loop is on. NULL: there is one.
const struct places *braid_streams_fill_places(const struct places *from, braid_device *device,
                                               struct places *places);

// streams_driven.c: loops and branches that the host drives. Each body is a playing on streams.
braid_status braid_streams_driven_check(const struct stage *stage);
braid_status braid_streams_driven_create(struct streams_playing *streams,
                                         const struct stage *stage);
void braid_streams_driven_destroy(struct streams_playing *streams);
// On the thread of the stream's driver: queues iterations on the lane, and waits for each.
braid_status braid_streams_driven_play(struct streams_playing *streams, const braid_step *op,
                                       const struct stream_lane *lane);
// The player's table has these, see player.h.
braid_status braid_streams_driven_launch(struct playing *playing, braid_stream *stream,
                                         struct play_result *out_result);
braid_status braid_streams_driven_tell(struct playing *playing);
braid_status braid_streams_driven_synchronize(struct playing *playing);

// Adds the times of nodes inside to the last frames of a profile, those of a playing with times.
braid_status braid_streams_played_read_tallies(const struct streams_playing *streams,
                                               struct profile *profile);

// streams_times.c
// Keeps the times of the last `num_frames` frames of a playing that has its lanes, and its bodies.
braid_status braid_streams_times_create(struct streams_playing *streams, uint32_t num_frames);
void braid_streams_times_destroy(struct streams_times *times); // NULL does nothing

// A frame begins on `stream`, and its forked lanes begin. Then a mark follows for each operation
// that is timed, once it is queued, and one when all lanes are joined.
braid_status braid_streams_times_begin(struct streams_playing *streams, braid_stream *stream);
braid_status braid_streams_times_forked(struct streams_playing *streams);
braid_status braid_streams_times_mark(struct streams_playing *streams, const braid_stream *stream);

// No frame is in flight.
braid_status braid_streams_times_read(struct playing *playing, struct profile *profile);
// By an event on a stream of its own, between two readings of the host's clock.
braid_status braid_streams_read_clock(struct playing *playing, struct profile *profile);

#endif
