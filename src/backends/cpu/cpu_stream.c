// SPDX-License-Identifier: Apache-2.0
// Streams: in-order queues of commands, each walked by one worker at a time.
#include "backends/cpu/cpu.h"

#include <stdlib.h>

#include "base/error.h"

// After this many commands a stream goes behind the others that are ready, so that a long queue
// cannot keep a short one waiting for ever.
enum { TURN_COMMANDS = 16 };

enum { FEW_BYTES = 256 }; // of arguments

// What became of the command at the head of the queue.
enum outcome {
    ENDED,   // done
    STARTED, // somebody else goes on with the stream, or `next` is to run
    BLOCKED, // the stream waits for a point and was put in its list
};

static enum outcome wait_for(struct cpu_point *point, struct cpu_job *job)
{
    if (!point || atomic_load_explicit(&point->reached, memory_order_relaxed))
        return ENDED;
    braid_cpu_job_list_append(&point->waiting, job);
    return BLOCKED;
}

static const struct cpu_command *last_of_batch(const struct cpu_command *command)
{
    for (int i = 1; i < TURN_COMMANDS; i++) {
        if (!command->next || command->next->kind != CPU_COMMAND_WORK)
            break;
        command = command->next;
    }
    return command;
}

// Runs work that follows on work without a look at the queue between: nobody learns of the end of a
// command that is no record. Lock held before and after, but not while the work runs.
static enum outcome run_work(struct cpu_backend *backend, struct cpu_stream *stream,
                             struct cpu_command *command)
{
    const struct cpu_command *last = last_of_batch(command);
    bool ended;
    cpu_unlock(backend);
    for (;; command = command->next) {
        stream->started = command;
        ended = braid_cpu_work_run(backend, &stream->job, &command->work);
        if (!ended || command == last)
            break;
    }
    cpu_lock(backend);
    return ended ? ENDED : STARTED;
}

static enum outcome run_launch(struct cpu_backend *backend, struct cpu_stream *stream,
                               struct cpu_command *command, struct cpu_job **out_next)
{
    if (wait_for(command->point, &stream->job) == BLOCKED)
        return BLOCKED;
    stream->started = command;
    cpu_unlock(backend);
    struct cpu_play *play = command->play;
    *out_next = play->start(backend, play, command->patch, &stream->job);
    cpu_lock(backend);
    return *out_next ? STARTED : ENDED;
}

static enum outcome run_command(struct cpu_backend *backend, struct cpu_stream *stream,
                                struct cpu_command *command, struct cpu_job **out_next)
{
    switch (command->kind) {
    case CPU_COMMAND_WAIT:
        return wait_for(command->point, &stream->job);
    case CPU_COMMAND_LAUNCH:
        return run_launch(backend, stream, command, out_next);
    case CPU_COMMAND_WORK:
        return run_work(backend, stream, command);
    case CPU_COMMAND_RECORD:
        break;
    }
    return ENDED;
}

// Points are reached when the command leaves the queue: then the stream touches neither the command
// nor its program any more.
static void remove_first(struct cpu_backend *backend, struct cpu_stream *stream)
{
    struct cpu_command *command = stream->first;
    stream->first = command->next;
    if (!stream->first)
        stream->last = NULL;
    if (command->kind == CPU_COMMAND_RECORD)
        braid_cpu_point_reach(backend, command->point);
    if (command->kind == CPU_COMMAND_LAUNCH)
        braid_cpu_point_reach(backend, command->launch_end);
    braid_cpu_command_recycle(backend, command);
}

// Removes the first command, and those that were begun with it. Returns how many.
static uint32_t remove_ended(struct cpu_backend *backend, struct cpu_stream *stream)
{
    const struct cpu_command *last = stream->started ? stream->started : stream->first;
    stream->started = NULL;
    for (uint32_t num = 1;; num++) {
        bool is_last = stream->first == last;
        remove_first(backend, stream);
        if (is_last)
            return num;
    }
}

static bool turn_is_over(struct cpu_backend *backend, uint32_t num_commands,
                         const struct cpu_point *until)
{
    if (until && atomic_load_explicit(&until->reached, memory_order_relaxed))
        return true;
    return num_commands >= TURN_COMMANDS && braid_cpu_other_work_is_ready(backend);
}

// Walks the queue until it is empty or blocked, or its turn is over. Lock held. Once a command is
// STARTED or the stream BLOCKED, another thread may walk the stream, so it is not touched again.
static struct cpu_job *walk(struct cpu_backend *backend, struct cpu_stream *stream,
                            const struct cpu_point *until)
{
    struct cpu_job *next = NULL;
    for (uint32_t num_commands = 0;;) {
        if (!stream->first) {
            stream->scheduled = false;
            return NULL;
        }
        if (turn_is_over(backend, num_commands, until)) {
            braid_cpu_job_make_ready(backend, &stream->job);
            return NULL;
        }
        if (run_command(backend, stream, stream->first, &next) != ENDED)
            return next;
        num_commands += remove_ended(backend, stream);
    }
}

// When it is called again after a command was STARTED, that command has ended.
static struct cpu_job *run_stream(struct cpu_backend *backend, struct cpu_job *job,
                                  const struct cpu_point *until)
{
    struct cpu_stream *stream =
        (struct cpu_stream *)(void *)((char *)job - offsetof(struct cpu_stream, job));
    cpu_lock(backend);
    if (stream->started)
        remove_ended(backend, stream);
    struct cpu_job *next = walk(backend, stream, until);
    if (next)
        cpu_unlock(backend);
    return next;
}

void braid_cpu_stream_init(struct cpu_stream *stream, int32_t priority)
{
    stream->job.run = run_stream;
    stream->job.stream = &stream->job;
    stream->job.urgency = priority < 0 ? 0 : priority == 0 ? 1 : 2;
}

struct cpu_stream *braid_cpu_stream_of(struct cpu_backend *backend, struct backend_stream *stream)
{
    return stream ? (struct cpu_stream *)stream : &backend->default_stream;
}

void braid_cpu_stream_append(struct cpu_backend *backend, struct cpu_stream *stream,
                             struct cpu_command *command)
{
    if (stream->last)
        stream->last->next = command;
    else
        stream->first = command;
    stream->last = command;
    if (command->kind == CPU_COMMAND_RECORD)
        command->point->stream = &stream->job;
    if (stream->scheduled)
        return;
    stream->scheduled = true;
    braid_cpu_job_make_ready(backend, &stream->job);
}

braid_status braid_cpu_stream_create(struct backend *base, int32_t priority,
                                     struct backend_stream **out_stream)
{
    (void)base;
    struct cpu_stream *stream = calloc(1, sizeof(*stream));
    if (!stream)
        return braid_error_no_memory("a stream");
    braid_cpu_stream_init(stream, priority);
    *out_stream = &stream->base;
    return BRAID_OK;
}

// Waits for a record queued now. False where there is no memory for one. Lock held.
static bool wait_for_record(struct cpu_backend *backend, struct cpu_stream *stream)
{
    struct cpu_point *point = braid_cpu_point_create(backend, false);
    struct cpu_command *command = point ? braid_cpu_command_create(backend, 0) : NULL;
    if (!command) {
        braid_cpu_point_release(backend, point);
        return false;
    }
    command->kind = CPU_COMMAND_RECORD;
    command->point = point;
    braid_cpu_stream_append(backend, stream, command);
    braid_cpu_point_host_wait(backend, point);
    return true;
}

// Waits for what is queued now. Never fails: callers free what the stream's work uses. Lock held.
static void wait_for_queue(struct cpu_backend *backend, struct cpu_stream *stream)
{
    while (stream->first && !wait_for_record(backend, stream)) {
        cpu_unlock(backend); // what runs meanwhile gives memory back to the pools
        braid_cpu_give_way();
        cpu_lock(backend);
    }
}

braid_status braid_cpu_stream_synchronize(struct backend *base, struct backend_stream *base_stream)
{
    struct cpu_backend *backend = cpu_backend_of(base);
    struct cpu_stream *stream = braid_cpu_stream_of(backend, base_stream);
    cpu_lock(backend);
    wait_for_queue(backend, stream);
    cpu_unlock(backend);
    return BRAID_OK;
}

// Threads that wait for an event of the stream stop looking at the stream once that is reached, as
// all its events are now. Lock held.
static void wait_for_hosts(struct cpu_backend *backend, const struct cpu_stream *stream)
{
    while (stream->job.num_hosts) {
        cpu_unlock(backend);
        braid_cpu_give_way();
        cpu_lock(backend);
    }
}

// Work that runs may queue more behind the wait, so the queue is looked at again. The point of the
// last record is reached a moment before its walker lets go of the stream, in one critical section,
// so once the lock is ours with the queue empty nobody touches the stream.
void braid_cpu_stream_destroy(struct backend *base, struct backend_stream *base_stream)
{
    struct cpu_backend *backend = cpu_backend_of(base);
    if (!base_stream)
        return;
    struct cpu_stream *stream = braid_cpu_stream_of(backend, base_stream);
    cpu_lock(backend);
    while (stream->first)
        wait_for_queue(backend, stream);
    wait_for_hosts(backend, stream);
    cpu_unlock(backend);
    free(stream);
}

braid_status braid_cpu_stream_query(struct backend *base, struct backend_stream *base_stream)
{
    struct cpu_backend *backend = cpu_backend_of(base);
    struct cpu_stream *stream = braid_cpu_stream_of(backend, base_stream);
    cpu_lock(backend);
    bool idle = !stream->first;
    cpu_unlock(backend);
    return idle ? BRAID_OK : BRAID_NOT_READY;
}

static void capture(struct cpu_command *command, const struct backend_task *task)
{
    command->kind = CPU_COMMAND_WORK;
    braid_cpu_task_capture(task, command->storage, &command->work);
}

// Many arguments are captured without the lock, which only the queues need; few of them take less
// time than taking it again.
braid_status braid_cpu_submit(struct backend *base, struct backend_stream *base_stream,
                              const struct backend_task *task)
{
    struct cpu_backend *backend = cpu_backend_of(base);
    struct cpu_stream *stream = braid_cpu_stream_of(backend, base_stream);
    if (task->kind == WORK_EMPTY)
        return BRAID_OK;
    size_t bytes = braid_cpu_task_bytes(task);
    bool few = bytes <= FEW_BYTES;
    cpu_lock(backend);
    struct cpu_command *command = braid_cpu_command_create(backend, bytes);
    if (!command) {
        cpu_unlock(backend);
        return braid_error(BRAID_NO_MEMORY, "cpu: out of memory to queue '%s' (%zu bytes)",
                           task->name ? task->name : "a task", bytes);
    }
    if (!few)
        cpu_unlock(backend);
    capture(command, task);
    if (!few)
        cpu_lock(backend);
    braid_cpu_stream_append(backend, stream, command);
    cpu_unlock(backend);
    return BRAID_OK;
}
