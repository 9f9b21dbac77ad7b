// SPDX-License-Identifier: Apache-2.0
// Launches one after another, and their waits without the lock.
//
// These waits are made without the lock, since frames may wait for host calls that ask the exec for
// something. Frames may also wait for threads that do so or that change the exec's values. With the
// lock held only drivers wait for frames, where memory is freed or code is loaded. Launches, and
// other calls that must not meet one halfway, wait for each other all the same.
#include "base/error.h"
#include "exec/exec.h"

// With the lock held, and left meanwhile. To wait here is no point of cancellation, as taking the
// lock is none: nobody could let go of it.
static void await_other(braid_exec *exec)
{
    int cancel_state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    pthread_cond_wait(&exec->turn.has_waited, &exec->turn.lock);
    pthread_setcancelstate(cancel_state, NULL);
}

void braid_exec_begin_launch(braid_exec *exec)
{
    pthread_mutex_lock(&exec->turn.lock);
    while (exec->turn.is_waiting)
        await_other(exec);
}

void braid_exec_end_launch(braid_exec *exec)
{
    pthread_mutex_unlock(&exec->turn.lock);
}

void braid_exec_begin_wait(braid_exec *exec)
{
    exec->turn.is_waiting = true;
    pthread_mutex_unlock(&exec->turn.lock);
}

void braid_exec_end_wait(braid_exec *exec)
{
    pthread_mutex_lock(&exec->turn.lock);
    exec->turn.is_waiting = false;
    pthread_cond_broadcast(&exec->turn.has_waited);
}

bool braid_exec_slot_has_work(const braid_exec *exec, uint32_t slot)
{
    struct backend *backend = exec->device->backend;
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    braid_status status =
        backend->ops->event_query(backend, exec->frames.slots[slot].done->backend);
    braid_error_end_attempt(&attempt, BRAID_OK);
    return status == BRAID_NOT_READY;
}

braid_status braid_exec_ask_frames(braid_exec *exec,
                                   braid_status (*ask)(struct backend *backend,
                                                       struct backend_event *event))
{
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < exec->frames.num && !status; i++)
        status = ask(exec->device->backend, exec->frames.slots[i].done->backend);
    return status;
}

braid_status braid_exec_await_frames(braid_exec *exec)
{
    braid_exec_begin_wait(exec);
    braid_status status =
        braid_exec_ask_frames(exec, exec->device->backend->ops->event_synchronize);
    if (!status)
        braid_exec_parts_settle(exec->parts, exec);
    braid_exec_end_wait(exec);
    return status;
}

// Not for launches that wait for something else: their frames may wait for the caller.
braid_status braid_exec_await_launch(const char *function, braid_exec *exec)
{
    pthread_mutex_lock(&exec->turn.lock);
    while (atomic_load(&exec->turn.is_unrecorded))
        await_other(exec);
    pthread_mutex_unlock(&exec->turn.lock);
    return braid_exec_check_devices(function, exec);
}

braid_status braid_exec_synchronize(braid_exec *exec)
{
    const struct backend_ops *ops = exec->device->backend->ops;
    braid_status first = BRAID_OK;
    for (uint32_t i = 0; i < exec->frames.num; i++) {
        struct frame_slot *slot = &exec->frames.slots[i];
        braid_status status = BRAID_OK;
        if (slot->queue)
            status = ops->stream_synchronize(exec->device->backend, slot->queue->backend);
        first = first ? first : status;
        if (exec->player->synchronize)
            status = exec->player->synchronize(slot->playing);
        first = first ? first : status;
    }
    return first;
}

// If a part is unsettled, also waits for the frames before, on any stream.
static braid_status await_last(braid_exec *exec, braid_stream *stream)
{
    struct backend *backend = exec->device->backend;
    braid_status status = backend->ops->stream_synchronize(backend, device_backend_stream(stream));
    if (!status)
        status = braid_exec_synchronize(exec);
    if (!status && braid_exec_parts_are_unsettled(exec->parts))
        status = braid_exec_ask_frames(exec, backend->ops->event_synchronize);
    if (!status)
        braid_exec_parts_settle(exec->parts, exec);
    return status;
}

braid_status braid_exec_fail(braid_exec *exec, const char *what)
{
    braid_status status =
        braid_error(BRAID_DEVICE_ERROR, "%s on %s can be neither recorded nor awaited: %s", what,
                    exec->device->label, braid_error_message());
    return braid_exec_has_failed(exec) ? status : braid_device_fail(exec->device);
}

void braid_exec_await_unrecorded(braid_exec *exec, braid_stream *stream)
{
    struct error_attempt attempt;
    if (!atomic_load(&exec->turn.is_unrecorded))
        return;
    braid_error_begin_attempt(&attempt);
    braid_exec_begin_wait(exec);
    braid_status status = await_last(exec, stream);
    if (status)
        status = braid_exec_fail(exec, "the end of a frame");
    braid_exec_end_wait(exec);
    atomic_store(&exec->turn.is_unrecorded, false);
    braid_error_end_noted(&attempt, status);
}
