// SPDX-License-Identifier: Apache-2.0
// Launches one after another, and what they wait for without the lock.
//
// These waits are made without the lock: frames may wait for host calls that ask the exec for
// something, or for threads that do or that change its values. With it no frame is waited for, but
// by what a driver does of itself where memory is freed or code is loaded. Launches, and who else
// must not meet one halfway, wait for each other all the same.
#include "base/error.h"
#include "exec/exec.h"

// With the lock held, and left meanwhile. To wait here is no point of cancellation, as taking the
// lock is none: nobody could let go of it.
static void await_other(braid_exec *exec)
{
    int cancel_state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    pthread_cond_wait(&exec->has_waited, &exec->lock);
    pthread_setcancelstate(cancel_state, NULL);
}

void braid_exec_begin_launch(braid_exec *exec)
{
    pthread_mutex_lock(&exec->lock);
    while (exec->is_waiting)
        await_other(exec);
}

void braid_exec_end_launch(braid_exec *exec)
{
    pthread_mutex_unlock(&exec->lock);
}

void braid_exec_begin_wait(braid_exec *exec)
{
    exec->is_waiting = true;
    pthread_mutex_unlock(&exec->lock);
}

void braid_exec_end_wait(braid_exec *exec)
{
    pthread_mutex_lock(&exec->lock);
    exec->is_waiting = false;
    pthread_cond_broadcast(&exec->has_waited);
}

braid_status braid_exec_await_frames(braid_exec *exec)
{
    struct backend *backend = exec->device->backend;
    braid_status status = BRAID_OK;
    braid_exec_begin_wait(exec);
    for (uint32_t i = 0; i < exec->num_slots && !status; i++)
        status = backend->ops->event_synchronize(backend, exec->slots[i].done->backend);
    if (!status)
        braid_exec_parts_settle(exec->parts, exec);
    braid_exec_end_wait(exec);
    return status;
}

// Not for launches that wait for something else: their frames may wait for the caller.
braid_status braid_exec_await_launch(const char *function, braid_exec *exec)
{
    pthread_mutex_lock(&exec->lock);
    while (atomic_load(&exec->is_unrecorded))
        await_other(exec);
    pthread_mutex_unlock(&exec->lock);
    return braid_exec_check_devices(function, exec);
}

braid_status braid_exec_synchronize(braid_exec *exec)
{
    const struct backend_ops *ops = exec->device->backend->ops;
    braid_status first = BRAID_OK;
    for (uint32_t i = 0; i < exec->num_slots; i++) {
        struct frame_slot *slot = &exec->slots[i];
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

// If a part is unsettled, also for the frames before, on whatever streams they are.
static braid_status await_last(braid_exec *exec, braid_stream *stream)
{
    struct backend *backend = exec->device->backend;
    braid_status status = backend->ops->stream_synchronize(backend, device_backend_stream(stream));
    if (!status)
        status = braid_exec_synchronize(exec);
    bool all = braid_exec_parts_are_unsettled(exec->parts);
    for (uint32_t i = 0; all && i < exec->num_slots && !status; i++)
        status = backend->ops->event_synchronize(backend, exec->slots[i].done->backend);
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
    if (!atomic_load(&exec->is_unrecorded))
        return;
    braid_error_begin_attempt(&attempt);
    braid_exec_begin_wait(exec);
    braid_status status = await_last(exec, stream);
    if (status)
        status = braid_exec_fail(exec, "the end of a frame");
    braid_exec_end_wait(exec);
    atomic_store(&exec->is_unrecorded, false);
    braid_error_end_noted(&attempt, status);
}
