// SPDX-License-Identifier: Apache-2.0
// The host calls of a frame's tasks. Each record is read when it runs, so a changed call gets
// another record. The old record stays until all frames that were launched with it have ended.
#ifndef BRAID_TASKS_HOST_CALLS_H
#define BRAID_TASKS_HOST_CALLS_H

#include <stdatomic.h>

#include "device/backend.h"

// The record of a call, which a backend gets by reference.
struct host_call {
    struct host_call *next;
    struct work_host work;
    _Atomic uint64_t num_begun;
    _Atomic uint64_t num_run; // written last by the call
};

// The calls that no frame uses.
struct host_calls {
    struct host_call *first;
};

// Has the task call `work`. Errors: BRAID_NO_MEMORY.
braid_status braid_host_call_put(struct host_calls *calls, struct work_host work,
                                 struct backend_task *task);

// Has a disabled task call nothing.
void braid_host_call_put_none(struct backend_task *task);

// No frame uses the task's call, if it has one: another task may be given its record.
void braid_host_call_leave(struct host_calls *calls, const struct backend_task *task);

struct work_host braid_host_call_work(const struct backend_task *task);

// No frame is in flight, or the device has failed: calls that still run on a thread of the driver
// are awaited.
void braid_host_calls_finish(struct host_calls *calls);

#endif
