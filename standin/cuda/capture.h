// SPDX-License-Identifier: Apache-2.0
// Stream capture: work submitted to a capturing stream becomes nodes of a graph instead.
#ifndef BRAID_STANDIN_CAPTURE_H
#define BRAID_STANDIN_CAPTURE_H

#include <pthread.h>
#include <stdbool.h>

#include "cuda_abi.h"
#include "graph.h"

// Guarded by the world's lock. Streams and events that take part hold a reference each.
struct capture {
    int references;
    CUgraph graph;
    bool graph_is_callers; // it was there before the capture and stays after a failed one
    size_t first_node;     // the first of the graph's nodes that this capture may have added
    CUstreamCaptureMode mode;
    bool invalid, ended;
    cuuint64_t id;
    CUstream origin;
    pthread_t owner;      // the thread that began it
    struct capture *next; // in the list of captures going on
};

// All of these expect the world's lock.

CUresult capture_submit(CUstream stream, struct work *work); // takes the work over
CUresult capture_record(CUstream stream, CUevent event);
// The same by the launch of the kernel that the stream has come to: see event_record_early.
CUresult capture_record_early(CUstream stream, CUevent event, CUgraphEdgeData edge);
CUresult capture_wait(CUstream stream, CUevent event); // one of the two is capturing
void capture_forget_event(CUevent event);
void capture_leave(CUstream stream); // the stream is being destroyed
void capture_invalidate(struct capture *capture);

// A call that waits for a capturing stream spoils the capture and fails.
CUresult capture_refuse_sync(CUstream stream);
// So does, unless the thread or the capture is in relaxed mode, a call that may wait in secret:
// allocation, events on the host, copies that wait.
CUresult capture_refuse_unsafe(void);
// Whether a blocking stream of the context is capturing: the null stream cannot tell then.
bool capture_is_blocking(CUcontext context);
// Work on the null stream spoils the captures of the blocking streams of its context; true: there
// was one.
bool capture_invalidate_blocking(CUcontext context);

#endif
