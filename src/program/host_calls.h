// SPDX-License-Identifier: Apache-2.0
// The host calls of a frame's tasks: each is read when it runs, so a changed one is another record,
// and the old one stays until all frames that were launched with it have run it.
#ifndef BRAID_PROGRAM_HOST_CALLS_H
#define BRAID_PROGRAM_HOST_CALLS_H

#include <stdatomic.h>

#include "backends/backend.h"

// What a backend is given to call, by reference.
struct host_call {
    struct host_call *next;
    struct work_host work;
    // Of frames of its slot: launched before it came, and, once it is replaced, launched with it.
    uint64_t launched_before, num_launched;
    _Atomic uint64_t num_begun;
    _Atomic uint64_t num_run; // written last by the call: then it may be used anew
};

// Those that have been replaced, the oldest first.
struct host_calls {
    struct host_call *first, *last;
};

// Has the task call `work`; `num_launches` of the slot were before. Errors: BRAID_NO_MEMORY.
braid_status braid_host_call_put(struct host_calls *calls, struct work_host work,
                                 uint64_t num_launches, struct backend_task *task);

// Has a disabled task call nothing.
void braid_host_call_put_none(struct backend_task *task);

// The task's call is used by no launch after the first `num_launches`.
void braid_host_call_replace(struct host_calls *calls, uint64_t num_launches,
                             const struct backend_task *task);

// The task's call was used by no launch at all.
void braid_host_call_discard(const struct backend_task *task);

struct work_host braid_host_call_work(const struct backend_task *task);

// No frame is in flight, or the device has failed: calls that still run on a thread of the driver
// are awaited.
void braid_host_calls_finish(struct host_calls *calls);

#endif
