// SPDX-License-Identifier: Apache-2.0
// Streams: each a thread that runs its queue in order.
#ifndef BRAID_STANDIN_STREAM_H
#define BRAID_STANDIN_STREAM_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "capture.h"
#include "cuda_abi.h"
#include "work.h"

enum { LEAST_PRIORITY = 0, GREATEST_PRIORITY = -5 };

struct item {
    struct item *next;
    uint64_t serial; // grows over all streams
    struct work work;
    struct ticket *ticket;
};

// Guarded by the world's lock. The record outlives cuStreamDestroy until its queue is empty.
struct CUstream_st {
    CUcontext context;
    unsigned flags;
    int priority;
    unsigned long long id;
    bool closing;
    pthread_cond_t arrived;
    struct item *first, **last; // the first one may be running
    struct ticket *latest;      // the ticket of the item queued last
    struct capture *capture;    // that the stream takes part in, or NULL
    struct node_list frontier;  // while capturing: what the next node comes after
    struct CUstream_st *next;   // in the list of all streams
};

// Without the lock: resolve, queue, release what could not be queued. Takes the work over.
// A work without context gets the stream's.
CUresult stream_queue(CUstream handle, struct work *work);
CUresult stream_queue_and_wait(CUstream handle, struct work *work); // never while capturing

// All below expect the world's lock.

// The stream behind a handle: NULL and CU_STREAM_LEGACY mean the current context's null stream.
CUresult stream_resolve(CUstream handle, CUstream *out_stream);

// Queues or captures. Takes the work over, also on failure. ticket: completed when the work is
// done; NULL for none wanted.
CUresult stream_submit(CUstream stream, struct work *work, struct ticket *ticket);
CUresult stream_submit_wait(CUstream stream, struct ticket *ticket); // NULL or done: nothing

bool stream_is_null(CUstream stream);
CUstream stream_first(void);             // in the list of all streams
void stream_wait_all(CUcontext context); // for everything queued in the context until now
void stream_close_null(CUcontext context);

#endif
