// SPDX-License-Identifier: Apache-2.0
// The inside of an exec: a schedule, its tasks with their argument bytes, and one lowering.
#ifndef BRAID_EXEC_EXEC_H
#define BRAID_EXEC_EXEC_H

#include <pthread.h>

#include <braid/exec.h>

#include "device/device.h"
#include "device/kept.h"
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
    braid_event *done;    // leased; its latest record is behind every frame
    braid_exec_info info; // constant once the exec is made
    struct kept kept;     // once destroyed, where its frames could not be told to have ended
    // Guarded by lock: some frame's end could be neither recorded nor awaited, so that `done` does
    // not stand for it, and the stream it was launched on. See exec_lost.c.
    bool lost;
    braid_stream *lost_stream; // never looked at, only compared: it may be gone
};

// One way to bring a plan to a device. All calls are made with the exec's lock held, or before and
// after anyone else knows the exec.
struct lowering {
    braid_exec_mode mode;
    // Prepares launches. BRAID_UNSUPPORTED, with a message why, where this way is not open.
    braid_status (*create)(braid_exec *exec);
    // Queues one frame behind all frames before it, joined to `stream` also when it fails, and
    // calls braid_exec_record_done, except where nothing was queued: then `stream` may not be
    // behind the frames before, and `done` must go on standing for them.
    braid_status (*launch)(braid_exec *exec, braid_stream *stream);
    // Takes the new arguments of a node for later launches.
    braid_status (*set_args)(braid_exec *exec, uint32_t node, void *const *args);
    // Frees what create made. No launch is in flight.
    void (*destroy)(braid_exec *exec);
    // Optional: waits for the exec's own streams.
    braid_status (*synchronize)(braid_exec *exec);
};

// Makes `done` stand for the frame just queued on `stream`, and with it for all frames before. If
// this fails, the frame has ended: the call has waited for it. Where that fails as well, the frame
// is lost.
braid_status braid_exec_record_done(braid_exec *exec, braid_stream *stream);

// Waits for `waited`, a stream of the frame just queued on `stream`, since no event can be recorded
// on it: `status` and the message tell why, and stay. Where that fails as well, the frame is lost.
void braid_exec_await_or_lose(braid_exec *exec, struct backend_stream *waited,
                              braid_stream *stream);

// Before a launch on `stream`, with the lock held: waits for a lost frame, if it was on this stream
// too. Errors: BRAID_DEVICE_ERROR, and the frame is still lost.
braid_status braid_exec_find_lost(braid_exec *exec, braid_stream *stream);

// BRAID_DEVICE_ERROR where a frame is lost. Takes the lock.
braid_status braid_exec_check_lost(braid_exec *exec);

// Whether all frames have ended, as far as the device tells. With `wait` it waits for them, twice
// where that fails. The exec is used by nobody else. `drained`: see kept.h.
bool braid_exec_is_idle(braid_exec *exec, bool wait, bool drained);

extern const struct lowering braid_streams_lowering;
extern const struct lowering braid_native_lowering;

#endif
