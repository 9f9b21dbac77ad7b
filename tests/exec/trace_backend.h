// SPDX-License-Identifier: Apache-2.0
// A backend that runs nothing: it writes down every call, can fail any of them, and can say from
// what it wrote down which task is ordered before which.
#ifndef BRAID_TESTS_EXEC_TRACE_BACKEND_H
#define BRAID_TESTS_EXEC_TRACE_BACKEND_H

#include <pthread.h>

#include "device/backend.h"

enum trace_call {
    TRACE_ALLOCATE,
    TRACE_STREAM_CREATE,
    TRACE_STREAM_DESTROY,
    TRACE_STREAM_SYNCHRONIZE,
    TRACE_STREAM_QUERY,
    TRACE_STREAM_WAIT,
    TRACE_EVENT_CREATE,
    TRACE_EVENT_DESTROY,
    TRACE_EVENT_RECORD,
    TRACE_EVENT_SYNCHRONIZE,
    TRACE_KERNEL_LOAD,
    TRACE_KERNEL_UNLOAD,
    TRACE_SUBMIT,
    TRACE_PROGRAM_CREATE,
    TRACE_PROGRAM_LAUNCH,
    TRACE_PROGRAM_DESTROY,
};

// Streams and events count from 1; stream 0 is the default stream.
struct trace_entry {
    enum trace_call call;
    int stream;
    int event;
    const char *task; // for TRACE_SUBMIT
};

struct trace {
    struct backend backend;
    pthread_mutex_t lock; // several threads may submit at once
    struct trace_entry entries[4096];
    int num_entries;
    int num_streams, num_events; // ever created
    int live_streams, live_events, live_kernels;
    int fail_at;   // the call with this number (from 1, destroys not counted) fails; 0: none
    bool fails_on; // and so do all after it
    int num_calls;
    bool failed; // whether it came to that
    // What the host does while it waits for a stream, which it is told has failed where this says
    // so. NULL: nothing.
    braid_status (*while_waiting)(void *user);
    void *user;
    void (*while_recording)(void *user); // on the thread that records an event
    void (*while_calling)(void *user);   // before the call with the number `call_at`
    int call_at;
    // Answers whether what was recorded has ended. NULL: it has.
    braid_status (*while_asking)(const struct backend_event *event, void *user);
    bool refuses_programs; // program_create returns BRAID_UNSUPPORTED
    bool closed;
};

// Makes a device over a trace. `renew_events` is the backend's flag of that name. The device closes
// the trace but does not free it.
braid_status trace_open(struct trace *trace, bool renew_events, braid_device **out_device);

// The same with programs, which BRAID_MODE_AUTO prefers; for one program at a time.
braid_status trace_open_graph(struct trace *trace, braid_device **out_device);

// Whether, going by streams, records, waits and the order of launches alone, entry `second` starts
// after `first` ended; for a wait of the host: whether it ends after that.
bool trace_is_ordered(const struct trace *trace, int first, int second);

// The index of the only submission of a task at or after entry `from`, or -1.
int trace_find_task(const struct trace *trace, const char *task, int from);

// How many calls of a kind there are at or after entry `from`.
int trace_count(const struct trace *trace, enum trace_call call, int from);

#endif
