// SPDX-License-Identifier: Apache-2.0
// Walking a stream's queue: one thread at a time runs its commands, without a lock while it can.
#include "backends/cpu/cpu.h"

// After this many commands a stream goes behind the other ready ones. So a long queue cannot keep a
// short one waiting forever.
enum { TURN_COMMANDS = 16 };

enum {
    POLLS_A_WAIT = 64,  // before a stream leaves its thread
    POLLS_A_QUEUE = 64, // the same where it has come to the end of its queue
};

// The outcome of the command at the head of the queue.
enum outcome {
    ENDED,   // done
    STARTED, // somebody else goes on with the stream, or `next` is to run
    BLOCKED, // the stream waits for a point and is in its list, or was handed over; lock held
};

// A point that is about to be reached is, most often, before another thread could take the stream.
static bool is_reached_soon(const struct cpu_backend *backend, const struct cpu_point *point)
{
    for (int i = 0; i < POLLS_A_WAIT; i++) {
        if (cpu_point_is_reached(point))
            return true;
        if (braid_cpu_other_work_is_ready(backend))
            return false;
        braid_cpu_relax();
    }
    return false;
}

static enum outcome wait_for(struct cpu_backend *backend, struct cpu_stream *stream,
                             struct cpu_point *point, bool passes)
{
    if (cpu_point_is_reached(point) || (!passes && is_reached_soon(backend, point)))
        return ENDED;
    cpu_lock(backend);
    if (braid_cpu_point_watch(point)) {
        stream->num_in_turn = 0;
        braid_cpu_job_list_append(&point->waiting, &stream->job);
        return BLOCKED;
    }
    cpu_unlock(backend);
    return ENDED;
}

// For a thread that passes the stream on: it begins a call that blocks, and hands over all else.
// The lock is held at the end.
static enum outcome pass_work(struct cpu_backend *backend, struct cpu_stream *stream,
                              const struct cpu_work *work)
{
    stream->has_started = true;
    bool begun = braid_cpu_blocker_begin(backend, &stream->job, work);
    if (!begun)
        stream->has_started = false;
    cpu_lock(backend);
    if (!begun)
        braid_cpu_job_hand_over(backend, &stream->job);
    return begun ? STARTED : BLOCKED;
}

// Lock not held, but at the end if a helper goes on with the stream.
static enum outcome run_work(struct cpu_backend *backend, struct cpu_stream *stream,
                             struct cpu_work *work)
{
    stream->has_started = true;
    if (braid_cpu_work_run(backend, &stream->job, work))
        return ENDED;
    cpu_lock(backend);
    return STARTED;
}

static enum outcome run_launch(struct cpu_backend *backend, struct cpu_stream *stream,
                               const struct cpu_launch *launch, bool passes,
                               struct cpu_job **out_next)
{
    if (wait_for(backend, stream, launch->before, passes) == BLOCKED)
        return BLOCKED;
    stream->has_started = true;
    *out_next = launch->play->start(backend, launch->play, launch->patch, &stream->job);
    return *out_next ? STARTED : ENDED;
}

// Lock not held before, nor where the command has ended or there is a next job.
static enum outcome run_command(struct cpu_backend *backend, struct cpu_stream *stream, bool passes,
                                struct cpu_job **out_next)
{
    struct cpu_command *command = braid_cpu_command_next(backend, stream);
    switch (command->kind) {
    case CPU_COMMAND_WAIT:
        return wait_for(backend, stream, command->point, passes);
    case CPU_COMMAND_LAUNCH:
        return run_launch(backend, stream, &command->launch, passes, out_next);
    case CPU_COMMAND_WORK:
        return passes ? pass_work(backend, stream, &command->queued.work)
                      : run_work(backend, stream, &command->queued.work);
    case CPU_COMMAND_RECORD:
    case CPU_COMMAND_GO_ON:
        break;
    }
    return ENDED;
}

static bool is_all_known(const struct cpu_stream *stream)
{
    return atomic_load_explicit(&stream->num_ended, memory_order_relaxed) == stream->num_known;
}

static bool is_empty(struct cpu_stream *stream)
{
    if (is_all_known(stream))
        stream->num_known = atomic_load_explicit(&stream->num_queued, memory_order_acquire);
    return is_all_known(stream);
}

// All that the command stood for is over, its point reached.
static void leave_command(struct cpu_stream *stream)
{
    uint64_t num = atomic_load_explicit(&stream->num_ended, memory_order_relaxed);
    stream->has_started = false;
    braid_cpu_command_skip(stream);
    atomic_store_explicit(&stream->num_ended, num + 1, memory_order_release);
}

// Lock held. False: more was queued meanwhile. A thread that queues looks at `scheduled`
// afterwards, so one of the two sees the other's write.
static bool go_idle(struct cpu_stream *stream)
{
    atomic_store_explicit(&stream->scheduled, false, memory_order_seq_cst);
    stream->num_known = atomic_load_explicit(&stream->num_queued, memory_order_seq_cst);
    if (is_all_known(stream)) {
        stream->num_in_turn = 0;
        return true;
    }
    atomic_store_explicit(&stream->scheduled, true, memory_order_relaxed);
    return false;
}

// Reaches the point of a queue's last command and looks for more in one critical section. So
// threads that see the end find the thread and the stream free. True: the stream is idle, and the
// lock held.
static bool end_last(struct cpu_backend *backend, struct cpu_stream *stream,
                     struct cpu_point *point)
{
    cpu_lock(backend);
    braid_cpu_point_reach_locked(backend, point);
    braid_cpu_point_release(backend, point);
    leave_command(stream);
    if (go_idle(stream))
        return true;
    cpu_unlock(backend);
    return false;
}

static bool is_last(struct cpu_stream *stream)
{
    uint64_t num = atomic_load_explicit(&stream->num_ended, memory_order_relaxed) + 1;
    if (num == stream->num_known)
        stream->num_known = atomic_load_explicit(&stream->num_queued, memory_order_acquire);
    return num == stream->num_known;
}

// True: as above.
static bool end_with_point(struct cpu_backend *backend, struct cpu_stream *stream,
                           struct cpu_point *point)
{
    if (is_last(stream))
        return end_last(backend, stream, point);
    braid_cpu_point_reach(backend, point);
    braid_cpu_point_release(backend, point);
    leave_command(stream);
    return false;
}

static bool end_command(struct cpu_backend *backend, struct cpu_stream *stream)
{
    const struct cpu_command *command = stream->next;
    switch (command->kind) {
    case CPU_COMMAND_RECORD:
        return end_with_point(backend, stream, command->point);
    case CPU_COMMAND_LAUNCH:
        braid_cpu_point_release(backend, command->launch.before);
        return end_with_point(backend, stream, command->launch.end);
    case CPU_COMMAND_WAIT:
        braid_cpu_point_release(backend, command->point);
        break;
    case CPU_COMMAND_WORK:
        braid_cpu_block_release(backend, command->queued.block);
        break;
    case CPU_COMMAND_GO_ON:
        break;
    }
    leave_command(stream);
    return false;
}

// The turn goes on behind a launch or a grid, which lead back to here. A thread that passes the
// stream on has other jobs of its own, or a call to make.
static bool turn_is_over(struct cpu_backend *backend, const struct cpu_stream *stream,
                         const struct cpu_point *until, bool passes)
{
    if (until && cpu_point_is_reached(until))
        return true;
    return stream->num_in_turn >= TURN_COMMANDS &&
           (passes || braid_cpu_other_work_is_ready(backend));
}

// A program that queues as fast as its commands run need not wake a thread for each.
static bool is_empty_for_long(const struct cpu_backend *backend, struct cpu_stream *stream,
                              const struct cpu_point *until)
{
    for (int i = 0; is_empty(stream); i++) {
        if (i == POLLS_A_QUEUE || (until && cpu_point_is_reached(until)) ||
            braid_cpu_other_work_is_ready(backend))
            return true;
        braid_cpu_relax();
    }
    return false;
}

// Walks the queue until it is empty or blocked, or its turn is over. Lock not held before; after
// it, only if there is no job to run next. Once a command is STARTED or the stream BLOCKED, another
// thread may walk the stream, so it is not touched again.
static struct cpu_job *walk(struct cpu_backend *backend, struct cpu_stream *stream,
                            const struct cpu_point *until, bool passes)
{
    struct cpu_job *next = NULL;
    for (;;) {
        if (is_empty(stream) && (passes || is_empty_for_long(backend, stream, until))) {
            cpu_lock(backend);
            if (go_idle(stream))
                return NULL;
            cpu_unlock(backend);
        }
        if (turn_is_over(backend, stream, until, passes)) {
            cpu_lock(backend);
            stream->num_in_turn = 0;
            braid_cpu_job_hand_over(backend, &stream->job);
            return NULL;
        }
        stream->num_in_turn++;
        if (run_command(backend, stream, passes, &next) != ENDED)
            return next;
        if (end_command(backend, stream))
            return NULL;
    }
}

// When it is called again after a command was STARTED, that command has ended.
static struct cpu_job *go_on(struct cpu_backend *backend, struct cpu_job *job,
                             const struct cpu_point *until, bool passes)
{
    struct cpu_stream *stream =
        (struct cpu_stream *)(void *)((char *)job - offsetof(struct cpu_stream, job));
    if (stream->has_started && end_command(backend, stream))
        return NULL;
    return walk(backend, stream, until, passes);
}

struct cpu_job *braid_cpu_stream_run(struct cpu_backend *backend, struct cpu_job *job,
                                     const struct cpu_point *until)
{
    return go_on(backend, job, until, false);
}

struct cpu_job *braid_cpu_stream_pass(struct cpu_backend *backend, struct cpu_job *job)
{
    return go_on(backend, job, NULL, true);
}
