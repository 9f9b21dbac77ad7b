// SPDX-License-Identifier: Apache-2.0
// Events: a name for the latest record, in a stream or in a capture.
#ifndef BRAID_STANDIN_EVENT_H
#define BRAID_STANDIN_EVENT_H

#include "capture.h"
#include "cuda_abi.h"
#include "world.h"

// Guarded by the world's lock.
struct CUevent_st {
    CUcontext context;
    unsigned flags;
    struct ticket *ticket;     // the latest record's; NULL: never recorded
    struct capture *capture;   // the latest record was captured; NULL: it was not
    struct node_list frontier; // what the captured record stands for
};

// Starts a new record: the event forgets the old one, whose waiters keep it. The caller owns the
// ticket's second reference. NULL: no memory.
struct ticket *event_begin_record(CUevent event);

// The event is no handle any more. Expects the world's lock.
void event_end(CUevent event);

// What a kernel's launch records itself, once the launch is submitted: where it is captured, who
// waits gets this edge from the kernel. On a stream the event waits for the kernel's end all the
// same.
CUresult event_record_early(CUevent event, CUstream stream, CUgraphEdgeData edge);
// Whether a launch may record it.
CUresult event_check_early(CUevent event, CUstream stream, int flags);

#endif
