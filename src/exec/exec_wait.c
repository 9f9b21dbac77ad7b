// SPDX-License-Identifier: Apache-2.0
// Launches one after another, and their waits without the lock.
//
// These waits are made without the lock, since frames may wait for host calls that ask the exec for
// something. Frames may also wait for threads that do so or that change the exec's values. With the
// lock held only drivers wait for frames, where memory is freed or code is loaded. Launches, and
// other calls that must not meet one halfway, wait for each other all the same.
#include <stdio.h>

#include "base/clock.h"
#include "base/error.h"
#include "exec/exec.h"
#include "exec/exec_parts.h"

// ---- waits in turn ----

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

braid_status braid_exec_tell_failure(const braid_exec *exec, const struct frame_slot *slot)
{
    return exec->player->tell_failure ? exec->player->tell_failure(slot->playing) : BRAID_OK;
}

braid_status braid_exec_ask_frames(braid_exec *exec, exec_ask *ask)
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
        first = error_first(first, status);
        if (exec->player->synchronize)
            first = error_first(first, exec->player->synchronize(slot->playing));
    }
    return first;
}

// If a part is unsettled, also waits for the frames before, on any stream.
static braid_status await_last(braid_exec *exec, braid_stream *stream)
{
    struct backend *backend = exec->device->backend;
    braid_status status = backend->ops->stream_synchronize(backend, stream->backend);
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
                    exec->device->label, braid_error_get_message());
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

// ---- time limits ----

// A wait with a time limit, or for an exec with a deadline: for one frame or for all. No driver has
// one, so the thread asks with short sleeps.

enum { SPIN_NS = 20000, SLEEP_PART = 16, LONGEST_SLEEP_NS = 1000000 };

static const char function[] = "braid_exec_wait_for";

// The sleep makes a wait longer by a sixteenth at most.
static void pause_after(uint64_t waited_ns, uint64_t left_ns)
{
    uint64_t ns = waited_ns / SLEEP_PART;
    if (waited_ns < SPIN_NS)
        return;
    ns = ns < LONGEST_SLEEP_NS ? ns : LONGEST_SLEEP_NS;
    ns = ns < left_ns ? ns : left_ns;
    nanosleep(&(struct timespec){ .tv_nsec = (long)ns }, NULL);
}

// Asks for the end of a frame.
static braid_status ask_for_frame(braid_exec *exec, uint64_t frame, exec_ask *ask)
{
    // With the lock: a frame counts before its end is recorded.
    pthread_mutex_lock(&exec->turn.lock);
    uint64_t num = atomic_load(&exec->frames.num_launched);
    pthread_mutex_unlock(&exec->turn.lock);
    if (frame >= num)
        return braid_error(BRAID_WRONG_STATE, "%s: frame %llu was not launched, %llu were",
                           function, (unsigned long long)frame, (unsigned long long)num);
    const struct frame_slot *slot = &exec->frames.slots[frame % exec->frames.num];
    bool awaits_places = exec->frames.num > 1 && exec->frames.when_full != BRAID_FULL_QUEUES;
    braid_status status = BRAID_OK;
    // Else a later launch has taken its place, and so found that it had ended.
    if (!awaits_places || num - frame <= exec->frames.num)
        status = ask(exec->device->backend, slot->done->backend);
    if (!status)
        status = braid_exec_tell_failure(exec, slot);
    if (!status)
        status = braid_exec_parts_wait(exec->parts, exec);
    return status;
}

static braid_status query_frame(braid_exec *exec, uint64_t frame)
{
    if (frame == BRAID_LAST_FRAME)
        return braid_exec_ask(function, exec);
    braid_status status = braid_exec_check_devices(function, exec);
    if (!status)
        status = ask_for_frame(exec, frame, exec->device->backend->ops->event_query);
    if (status || frame + 1 < braid_exec_get_num_launched(exec))
        return status;
    return atomic_load(&exec->turn.is_unrecorded) ? BRAID_NOT_READY : BRAID_OK;
}

// Adds the nodes that run to the message.
static braid_status time_out(braid_exec *exec, const char *text)
{
    struct error_attempt attempt;
    if (!braid_exec_notes(exec, 0))
        return braid_error(BRAID_TIMEOUT, "%s", text);
    braid_error_begin_attempt(&attempt);
    (void)braid_error(BRAID_TIMEOUT, "%s", text);
    braid_status status = braid_exec_add_running(exec, BRAID_TIMEOUT);
    braid_error_end_attempt(&attempt, status);
    return status;
}

static braid_status reach_limit(braid_exec *exec, uint64_t frame, uint64_t ns)
{
    uint64_t num = braid_exec_get_num_launched(exec);
    char text[160];
    if (frame != BRAID_LAST_FRAME)
        snprintf(text, sizeof(text), "%s: frame %llu has not ended after %llu ns", function,
                 (unsigned long long)frame, (unsigned long long)ns);
    else
        snprintf(text, sizeof(text),
                 "%s: %llu %s launched, and the last has not ended after %llu ns", function,
                 (unsigned long long)num, num == 1 ? "frame was" : "frames were",
                 (unsigned long long)ns);
    return time_out(exec, text);
}

static braid_status tell_late(const char *caller, braid_exec *exec, uint64_t first, uint64_t last)
{
    unsigned long long ns = braid_exec_deadline_ns(exec);
    char text[160];
    if (first == last)
        snprintf(text, sizeof(text), "%s: frame %llu has not ended %llu ns after its launch",
                 caller, (unsigned long long)first, ns);
    else
        snprintf(text, sizeof(text),
                 "%s: frames %llu to %llu have not ended %llu ns after their launches", caller,
                 (unsigned long long)first, (unsigned long long)last, ns);
    return time_out(exec, text);
}

// With a limit, BRAID_TIMEOUT says that it is reached. Without one, that frames are late. With
// marks behind frames, those launched meanwhile do not count, since launches may never pause.
static braid_status poll(const char *caller, braid_exec *exec, uint64_t frame, uint64_t ns,
                         bool *out_later)
{
    const uint64_t num = frame == BRAID_LAST_FRAME ? braid_exec_get_num_launched(exec) : frame + 1;
    const uint64_t begin_ns = clock_now_ns();
    uint64_t first, last;
    braid_status status;
    while ((status = query_frame(exec, frame)) == BRAID_NOT_READY) {
        *out_later = braid_exec_get_num_launched(exec) > num && braid_exec_knows_ended(exec, num);
        if (*out_later)
            return braid_exec_parts_wait(exec->parts, exec);
        uint64_t waited_ns = clock_now_ns() - begin_ns;
        if (ns == UINT64_MAX && braid_exec_take_late(exec, frame, &first, &last))
            return tell_late(caller, exec, first, last);
        if (waited_ns >= ns)
            return reach_limit(exec, frame, ns);
        pause_after(waited_ns, ns - waited_ns);
    }
    return status;
}

braid_status braid_exec_await_deadline(const char *caller, braid_exec *exec, uint64_t frame,
                                       bool *out_later)
{
    *out_later = false;
    return braid_exec_deadline_ns(exec) ? poll(caller, exec, frame, UINT64_MAX, out_later)
                                        : BRAID_OK;
}

static braid_status wait_for_frame(braid_exec *exec, uint64_t frame)
{
    bool later;
    braid_status status = braid_exec_await_deadline(function, exec, frame, &later);
    if (!status && !later)
        status = ask_for_frame(exec, frame, exec->device->backend->ops->event_synchronize);
    // The ends of all frames but the last are known: a launch that waits may wait for the caller.
    if (!status && !later && frame + 1 >= braid_exec_get_num_launched(exec))
        status = braid_exec_await_launch(function, exec);
    return status ? status : braid_exec_tell_traps(exec, frame);
}

static braid_status wait_until(braid_exec *exec, uint64_t frame, uint64_t ns)
{
    bool later;
    if (ns == 0)
        return query_frame(exec, frame);
    if (ns == UINT64_MAX)
        return frame == BRAID_LAST_FRAME ? braid_exec_wait(exec) : wait_for_frame(exec, frame);
    braid_status status = poll(function, exec, frame, ns, &later);
    return status ? status : braid_exec_tell_traps(exec, frame);
}

braid_status braid_exec_wait_for(braid_exec *exec, uint64_t frame, uint64_t ns)
{
    EXEC_MEMORY(exec);
    if (exec && ns == 0 && frame == BRAID_LAST_FRAME)
        return braid_exec_ask(function, exec);
    braid_status status = braid_exec_enter(function, exec);
    if (status)
        return status;
    status = wait_until(exec, frame, ns);
    device_leave(exec->device);
    return status;
}
