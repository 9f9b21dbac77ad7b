// SPDX-License-Identifier: Apache-2.0
// Loops on streams: the lane has a blocking call for each.
// Its thread queues the body again and again on a stream of the loop's own.
//
// A frame may be launched while the one before is in a loop. So the values of a body's tasks are
// copied when a launch changes them, and each call has the copy of its launch.
#ifndef BRAID_PLAYERS_STREAMS_STREAMS_LOOPS_H
#define BRAID_PLAYERS_STREAMS_STREAMS_LOOPS_H

#include <pthread.h>

#include "base/error.h"
#include "players/streams/streams.h"

// So many iterations of a loop without a condition are queued at once: no more memory is needed
// however many there are.
enum { STREAMS_MOST_QUEUED = 32 };

// All tasks of a frame as some launches have them.
struct streams_values {
    struct streams_values *next; // among those that nobody uses
    uint32_t num_users;          // calls that are to run or run, and the next launch
    struct backend_task *tasks;
    void **args;
    unsigned char *arguments;
};

// Of a playing with loops, shared by its bodies. The lock guards all but the first three.
struct streams_loops {
    const struct frame *frame;
    const struct tasks *tasks;
    bool *is_inside; // by task: a body's
    pthread_mutex_t lock;
    pthread_cond_t has_ended;
    struct streams_values *now; // of the next launch
    struct streams_values *spare;
    uint32_t num_running;   // calls
    uint64_t failed_launch; // the latest whose loops end early; 0: there was none
    braid_status failure;   // of an iteration that could not be queued, until somebody is told
    char message[ERROR_MESSAGE_BYTES];
};

// A call of a loop that is queued.
struct loop_call {
    struct streams_values *values;
    uint64_t launch;
};

// Of a body. Of a second arm of a branch it has the playing alone: the first arm enters it.
struct stream_loop {
    struct streams_loops *loops;
    struct streams_playing *body;
    struct stream_loop *other; // of a first arm the second; NULL: there is none
    braid_stream *stream;      // leased; the body's lane that is its caller's
    struct backend_task call;  // on the lane that enters the loop
    bool is_outermost;         //
    struct array queued;       // struct loop_call, of calls that have not begun; lock
    _Atomic uint64_t *counter; // iterations of the frame
};

// streams_values.c
// A copy of the frame's present values, with the caller as only user. Errors: BRAID_NO_MEMORY.
braid_status braid_streams_values_take(struct streams_loops *loops,
                                       struct streams_values **out_values);
void braid_streams_values_leave(struct streams_loops *loops, struct streams_values *values);
void braid_streams_values_free(struct streams_values *values); // and those behind it

// streams_iterate.c
// Runs a loop: `user` is the struct stream_loop.
void braid_streams_iterate(void *user);

#endif
