// SPDX-License-Identifier: Apache-2.0
// Frames whose end could be neither recorded nor awaited, and execs that are kept for such a
// reason.
//
// Each call that tells when a frame ends can fail. One failure is made good by another call: where
// an event cannot be recorded the stream is waited for. After two the frame is lost: nothing may be
// freed that it uses, and nothing may run behind it, until a later wait for the same stream tells
// that it has ended. The stream may belong to the program and be gone, so nobody else waits for it.
#include "base/error.h"
#include "exec/exec.h"

void braid_exec_lose(braid_exec *exec, braid_stream *stream)
{
    exec->lost = true;
    exec->num_lost++;
    exec->lost_stream = stream;
}

void braid_exec_await_or_lose(braid_exec *exec, braid_stream *stream)
{
    struct backend *backend = exec->device->backend;
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    braid_status status = backend->ops->stream_synchronize(backend, device_backend_stream(stream));
    braid_error_end_noted(&attempt, status);
    if (status)
        braid_exec_lose(exec, stream);
}

static braid_status synchronize_lanes(braid_exec *exec)
{
    const struct backend_ops *ops = exec->device->backend->ops;
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < exec->num_slots && !status; i++) {
        struct frame_slot *slot = &exec->slots[i];
        if (slot->queue)
            status = ops->stream_synchronize(exec->device->backend, slot->queue->backend);
        if (!status && exec->player->synchronize)
            status = exec->player->synchronize(slot->playing);
    }
    return status;
}

// The lock is left meanwhile: the frame may wait for a thread that asks the exec for something.
static braid_status wait_for_lost(braid_exec *exec, braid_stream *stream, bool has_queues)
{
    struct backend *backend = exec->device->backend;
    braid_status status = BRAID_OK;
    pthread_mutex_unlock(&exec->lock);
    if (!has_queues)
        status = backend->ops->stream_synchronize(backend, device_backend_stream(stream));
    if (!status)
        status = synchronize_lanes(exec);
    pthread_mutex_lock(&exec->lock);
    return status;
}

braid_status braid_exec_find_lost(braid_exec *exec, braid_stream *stream)
{
    bool has_queues = exec->num_slots > 1; // which are the exec's, and can always be waited for
    while (exec->lost) {
        if (!has_queues && stream != exec->lost_stream)
            return braid_error(
                BRAID_DEVICE_ERROR,
                "launch on %s: an earlier frame of the exec could be neither recorded "
                "nor awaited; only a launch on the same stream can wait for it",
                exec->device->label);
        uint64_t number = exec->num_lost;
        braid_status status = wait_for_lost(exec, stream, has_queues);
        if (status)
            return status;
        exec->lost = exec->num_lost != number; // by another launch, which came first
        if (!exec->lost) {
            braid_exec_tell_rest(exec, stream);
            break;
        }
    }
    return BRAID_OK;
}

braid_status braid_exec_check_lost(braid_exec *exec)
{
    pthread_mutex_lock(&exec->lock);
    bool lost = exec->lost;
    pthread_mutex_unlock(&exec->lock);
    if (!lost)
        return BRAID_OK;
    return braid_error(BRAID_DEVICE_ERROR,
                       "a frame of the exec on %s could be neither recorded nor awaited",
                       exec->device->label);
}

// On a device that is drained the frames' own streams have ended: those of the exec are left.
static bool ask(braid_exec *exec, bool wait, bool drained)
{
    struct backend *backend = exec->device->backend;
    if (exec->lost && (!drained || synchronize_lanes(exec)))
        return false;
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < exec->num_slots && !status; i++) {
        struct backend_event *done = exec->slots[i].done->backend;
        status = wait || drained ? backend->ops->event_synchronize(backend, done)
                                 : backend->ops->event_query(backend, done);
    }
    return status == BRAID_OK;
}

bool braid_exec_is_idle(braid_exec *exec, bool wait, bool drained)
{
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    bool idle = ask(exec, wait, drained) || (wait && ask(exec, wait, drained));
    braid_error_end_attempt(&attempt, BRAID_OK);
    return idle;
}
