// SPDX-License-Identifier: Apache-2.0
// Launches one after another, and what they wait for without the lock.
//
// These waits are made without the lock: frames may wait for host calls that ask the exec for
// something, or for threads that do or that change its values. With it no frame is waited for, but
// by what a driver does of itself where memory is freed or code is loaded. Launches, and who else
// must not meet one halfway, wait for each other all the same.
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
    if (atomic_load(&exec->ends) == EXEC_ENDS_AWAITED)
        braid_exec_await_unknown(exec);
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
    braid_exec_end_wait(exec);
    return status;
}

// Not for launches that wait for something else: their frames may wait for the caller.
braid_status braid_exec_await_ends(braid_exec *exec)
{
    pthread_mutex_lock(&exec->lock);
    while (atomic_load(&exec->ends) == EXEC_ENDS_AWAITED)
        await_other(exec);
    pthread_mutex_unlock(&exec->lock);
    return braid_exec_check_lost(exec);
}
