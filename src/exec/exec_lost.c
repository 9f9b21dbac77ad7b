// SPDX-License-Identifier: Apache-2.0
// Frames whose end could be neither recorded nor awaited, and execs that are kept for such a
// reason.
//
// Each call that tells when a frame ends can fail. One failure is made good by another call: where
// an event cannot be recorded the stream is waited for, at the end of the launch and without the
// lock, since the frame may wait for a thread that asks the exec for something. After two the frame
// is lost: nothing may be freed that it uses, and nothing may run behind it, until a later wait for
// the same stream tells that it has ended. The stream may belong to the program and be gone, so
// nobody else waits for it.
#include "base/error.h"
#include "exec/exec.h"
#include "exec/exec_part.h"

void braid_exec_lose(braid_exec *exec, braid_stream *stream)
{
    exec->lost_stream = stream;
    atomic_store(&exec->ends, EXEC_ENDS_AWAITED);
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

// Queues are the exec's, and can always be waited for.
static bool has_queues(const braid_exec *exec)
{
    return exec->num_slots > 1;
}

// Of frames before, on whatever streams they are.
static braid_status settle_parts(braid_exec *exec)
{
    struct backend *backend = exec->device->backend;
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; exec->parts && i < exec->num_slots && !status; i++)
        status = backend->ops->event_synchronize(backend, exec->slots[i].done->backend);
    if (!status)
        braid_exec_parts_settle(exec);
    return status;
}

// For the frame that was launched last, on `stream`.
static braid_status wait_for_last(braid_exec *exec, braid_stream *stream)
{
    struct backend *backend = exec->device->backend;
    braid_status status = BRAID_OK;
    braid_exec_begin_wait(exec);
    if (!has_queues(exec))
        status = backend->ops->stream_synchronize(backend, device_backend_stream(stream));
    if (!status)
        status = synchronize_lanes(exec);
    if (!status)
        status = settle_parts(exec);
    braid_exec_end_wait(exec);
    atomic_store(&exec->ends, status ? EXEC_ENDS_LOST : EXEC_ENDS_KNOWN);
    return status;
}

void braid_exec_await_unknown(braid_exec *exec)
{
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    braid_error_end_noted(&attempt, wait_for_last(exec, exec->lost_stream));
}

braid_status braid_exec_find_lost(braid_exec *exec, braid_stream *stream)
{
    if (atomic_load(&exec->ends) == EXEC_ENDS_KNOWN)
        return BRAID_OK;
    if (!has_queues(exec) && stream != exec->lost_stream)
        return braid_error(BRAID_DEVICE_ERROR,
                           "launch on %s: an earlier frame of the exec could be neither recorded "
                           "nor awaited; only a launch on the same stream can wait for it",
                           exec->device->label);
    return wait_for_last(exec, stream);
}

braid_status braid_exec_check_lost(const braid_exec *exec)
{
    if (atomic_load(&exec->ends) != EXEC_ENDS_LOST)
        return BRAID_OK;
    return braid_error(BRAID_DEVICE_ERROR,
                       "a frame of the exec on %s could be neither recorded nor awaited",
                       exec->device->label);
}

// On a device that is drained the frames' own streams have ended: those of the exec are left.
static bool ask(braid_exec *exec, bool wait, bool drained)
{
    struct backend *backend = exec->device->backend;
    if (atomic_load(&exec->ends) != EXEC_ENDS_KNOWN && (!drained || synchronize_lanes(exec)))
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
