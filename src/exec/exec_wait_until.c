// SPDX-License-Identifier: Apache-2.0
// A wait with a time limit, or for an exec with a deadline: for one frame or for all. No driver has
// one, so the thread asks with short sleeps.
#include <stdio.h>

#include "base/clock.h"
#include "base/error.h"
#include "exec/black_box.h"
#include "exec/deadline.h"
#include "exec/exec.h"
#include "exec/exec_ended.h"

enum { SPIN_NS = 20000, SLEEP_PART = 16, LONGEST_SLEEP_NS = 1000000 };

static const char function[] = "braid_exec_wait_until";

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
static braid_status ask_for_frame(braid_exec *exec, uint64_t frame,
                                  braid_status (*ask)(struct backend *backend,
                                                      struct backend_event *event))
{
    // With the lock: a frame counts before its end is recorded.
    pthread_mutex_lock(&exec->turn.lock);
    uint64_t num = atomic_load(&exec->frames.num_launched);
    pthread_mutex_unlock(&exec->turn.lock);
    if (frame >= num)
        return braid_error_invalid("%s: frame %llu was not launched, %llu were", function,
                                   (unsigned long long)frame, (unsigned long long)num);
    const struct frame_slot *slot = &exec->frames.slots[frame % exec->frames.num];
    bool awaits_places = exec->frames.num > 1 && exec->frames.when_full != BRAID_FULL_QUEUES;
    braid_status status = BRAID_OK;
    // Else a later launch has taken its place, and so found that it had ended.
    if (!awaits_places || num - frame <= exec->frames.num)
        status = ask(exec->device->backend, slot->done->backend);
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
    if (status || frame + 1 < braid_exec_num_frames(exec))
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
    uint64_t num = braid_exec_num_frames(exec);
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
    const uint64_t num = frame == BRAID_LAST_FRAME ? braid_exec_num_frames(exec) : frame + 1;
    const uint64_t begin_ns = clock_now_ns();
    uint64_t first, last;
    braid_status status;
    while ((status = query_frame(exec, frame)) == BRAID_NOT_READY) {
        *out_later = braid_exec_num_frames(exec) > num && braid_exec_knows_ended(exec, num);
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
    if (!status && !later && frame + 1 >= braid_exec_num_frames(exec))
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

braid_status braid_exec_wait_until(braid_exec *exec, uint64_t frame, uint64_t ns)
{
    if (exec && ns == 0 && frame == BRAID_LAST_FRAME)
        return braid_exec_ask(function, exec);
    braid_status status = braid_exec_enter(function, exec);
    if (status)
        return status;
    status = wait_until(exec, frame, ns);
    device_leave(exec->device);
    return status;
}
