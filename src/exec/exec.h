// SPDX-License-Identifier: Apache-2.0
// The inside of an exec: a schedule, its tasks with their argument bytes, and one lowering.
#ifndef BRAID_EXEC_EXEC_H
#define BRAID_EXEC_EXEC_H

#include <pthread.h>

#include <braid/exec.h>

#include "device/device.h"
#include "exec/tasks.h"

struct lowering;

struct braid_exec {
    braid_device *device;
    uint32_t graph_id; // whose node handles it takes
    braid_schedule *schedule;
    struct tasks tasks;
    const struct lowering *lowering;
    union {
        struct streams_lowering *streams;
        struct backend_program *program;
    };
    pthread_mutex_t lock; // guards launches and the arguments
    braid_event *done;    // leased; recorded behind each launch
    braid_exec_info info; // constant once the exec is made
};

// One way to bring a plan to a device. All calls are made with the exec's lock held, or before and
// after anyone else knows the exec.
struct lowering {
    braid_exec_mode mode;
    // Prepares launches. BRAID_UNSUPPORTED, with a message why, where this way is not open.
    braid_status (*create)(braid_exec *exec);
    // Queues one frame, joined to `stream` also when it fails.
    braid_status (*launch)(braid_exec *exec, braid_stream *stream);
    // Takes the new arguments of a node for later launches.
    braid_status (*set_args)(braid_exec *exec, uint32_t node, void *const *args);
    // Frees what create made. No launch is in flight.
    void (*destroy)(braid_exec *exec);
};

extern const struct lowering braid_streams_lowering;
extern const struct lowering braid_native_lowering;

#endif
