// SPDX-License-Identifier: Apache-2.0
// Streams: making and freeing them, queueing on them, and waiting for queued work.
#include "backends/cpu/cpu.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/inside.h"

enum { FEW_BYTES = 256 }; // arguments with no more bytes are few

void braid_cpu_stream_init(struct cpu_stream *stream, int32_t priority)
{
    stream->job.run = braid_cpu_stream_run;
    stream->job.pass = braid_cpu_stream_pass;
    stream->job.stream = &stream->job;
    stream->job.urgency = priority < 0 ? 0 : priority == 0 ? 1 : 2;
}

struct cpu_stream *braid_cpu_stream_of(struct cpu_backend *backend, struct backend_stream *stream)
{
    return stream ? (struct cpu_stream *)stream : &backend->default_stream;
}

// No lock held. Another thread that queues may have been first, and the commands may have run. Then
// the stream is left alone: otherwise its end would wait until a worker had seen it empty.
void braid_cpu_stream_schedule(struct cpu_backend *backend, struct cpu_stream *stream)
{
    cpu_lock(backend);
    if (!atomic_load_explicit(&stream->scheduled, memory_order_relaxed) &&
        !cpu_stream_is_idle(stream)) {
        atomic_store_explicit(&stream->scheduled, true, memory_order_relaxed);
        braid_cpu_job_make_ready(backend, &stream->job);
    }
    cpu_unlock(backend);
}

void braid_cpu_stream_append(struct cpu_backend *backend, struct cpu_stream *stream,
                             const struct cpu_command *command)
{
    stream->num_used_bytes += command->bytes;
    uint64_t num = atomic_load_explicit(&stream->num_queued, memory_order_relaxed);
    atomic_store_explicit(&stream->num_queued, num + 1, memory_order_seq_cst);
    if (!atomic_load_explicit(&stream->scheduled, memory_order_seq_cst))
        backend->unscheduled = stream;
}

void braid_cpu_stream_append_record(struct cpu_backend *backend, struct cpu_stream *stream,
                                    struct cpu_command *command, struct cpu_point *point)
{
    command->kind = CPU_COMMAND_RECORD;
    command->point = point;
    point->stream = &stream->job;
    braid_cpu_stream_append(backend, stream, command);
}

braid_status braid_cpu_stream_create(struct backend *base, int32_t priority,
                                     struct backend_stream **out_stream)
{
    (void)base;
    struct cpu_stream *stream = aligned_alloc(CPU_LINE_BYTES, sizeof(*stream));
    if (!stream)
        return braid_error_no_memory("a stream");
    memset(stream, 0, sizeof(*stream));
    braid_cpu_stream_init(stream, priority);
    *out_stream = &stream->base;
    return BRAID_OK;
}

// Returns the point of a record queued now, with a reference that is the caller's. NULL: no memory.
// Issue lock held.
static struct cpu_point *record(struct cpu_backend *backend, struct cpu_stream *stream)
{
    struct cpu_command *command =
        braid_cpu_command_reserve(backend, stream, CPU_COMMAND_BYTES(point));
    struct cpu_point *point = command ? braid_cpu_point_create(backend, false) : NULL;
    if (!point)
        return NULL;
    braid_cpu_point_add_reference(point);
    braid_cpu_stream_append_record(backend, stream, command, point);
    return point;
}

// Waits for the work queued so far. Never fails: callers free the memory that this work uses.
static void wait_for_queue(struct cpu_backend *backend, struct cpu_stream *stream)
{
    for (;;) {
        cpu_issue_lock(backend);
        bool idle = cpu_stream_is_idle(stream);
        struct cpu_point *point = idle ? NULL : record(backend, stream);
        cpu_issue_unlock(backend);
        if (point) {
            braid_cpu_point_host_wait(backend, point);
            braid_cpu_point_release(backend, point);
        }
        if (idle || point)
            return;
        braid_cpu_give_way(); // running work gives memory back to the pools
    }
}

braid_status braid_cpu_stream_synchronize(struct backend *base, struct backend_stream *base_stream)
{
    struct cpu_backend *backend = cpu_backend_of(base);
    wait_for_queue(backend, braid_cpu_stream_of(backend, base_stream));
    return BRAID_OK;
}

// Threads that wait for an event stop looking at its stream once the event is reached. All events
// of this stream are reached now. Its walker goes once it finds no more.
static void wait_for_threads(struct cpu_backend *backend, const struct cpu_stream *stream)
{
    cpu_lock(backend);
    while (stream->job.num_hosts ||
           atomic_load_explicit(&stream->scheduled, memory_order_relaxed)) {
        cpu_unlock(backend);
        braid_cpu_give_way();
        cpu_lock(backend);
    }
    cpu_unlock(backend);
}

// Work that runs may queue more behind the wait, so the queue is looked at again.
void braid_cpu_stream_destroy(struct backend *base, struct backend_stream *base_stream)
{
    struct cpu_backend *backend = cpu_backend_of(base);
    if (!base_stream)
        return;
    struct cpu_stream *stream = braid_cpu_stream_of(backend, base_stream);
    while (braid_cpu_stream_query(base, base_stream) == BRAID_NOT_READY)
        wait_for_queue(backend, stream);
    wait_for_threads(backend, stream);
    braid_cpu_chunks_release(backend, stream);
    free(stream);
}

braid_status braid_cpu_stream_query(struct backend *base, struct backend_stream *base_stream)
{
    struct cpu_backend *backend = cpu_backend_of(base);
    const struct cpu_stream *stream = braid_cpu_stream_of(backend, base_stream);
    if (cpu_stream_is_idle(stream))
        return BRAID_OK;
    cpu_lock(backend); // a thread that reaches the last command's point counts it before this
    bool idle = cpu_stream_is_idle(stream);
    cpu_unlock(backend);
    return idle ? BRAID_OK : BRAID_NOT_READY;
}

// Issue lock held.
static struct cpu_command *reserve_work(struct cpu_backend *backend, struct cpu_stream *stream,
                                        size_t more_bytes)
{
    struct cpu_command *command =
        braid_cpu_command_reserve(backend, stream, CPU_COMMAND_BYTES(queued) + more_bytes);
    if (command)
        command->kind = CPU_COMMAND_WORK;
    return command;
}

// Issue lock held, as in the next: who reports that there is no memory calls the program.
static bool submit_few(struct cpu_backend *backend, struct cpu_stream *stream,
                       const struct backend_task *task, size_t bytes)
{
    struct cpu_command *command = reserve_work(backend, stream, bytes);
    if (!command)
        return false;
    command->queued.block = NULL;
    braid_cpu_task_capture(task, (unsigned char *)(&command->queued + 1), &command->queued.work);
    braid_cpu_stream_append(backend, stream, command);
    return true;
}

// Many arguments are captured without the lock.
static bool submit_many(struct cpu_backend *backend, struct cpu_stream *stream,
                        const struct backend_task *task, size_t bytes)
{
    struct cpu_block *block = braid_cpu_block_create(backend, bytes);
    if (!block)
        return false;
    struct cpu_work work;
    cpu_issue_unlock(backend);
    braid_cpu_task_capture(task, braid_cpu_block_bytes(block), &work);
    cpu_issue_lock(backend);
    struct cpu_command *command = reserve_work(backend, stream, 0);
    if (!command) {
        braid_cpu_block_release(backend, block);
        return false;
    }
    command->queued = (struct cpu_queued_work){ work, block };
    braid_cpu_stream_append(backend, stream, command);
    return true;
}

// The copy runs later. Drivers of GPUs read and write such memory before their call returns.
static braid_status check_lifetime(const struct backend_task *task)
{
    if (task->kind != WORK_COPY || task->node != BACKEND_NO_NODE)
        return BRAID_OK;
    bool from_it = braid_inside_has(task->copy.from);
    if (!from_it && !braid_inside_has(task->copy.to))
        return BRAID_OK;
    return braid_error_invalid(
        "braid_stream_copy: `%s` is a local variable of the queue call, which is gone when the cpu "
        "copies: give memory that outlives the exec",
        from_it ? "from" : "to");
}

braid_status braid_cpu_submit(struct backend *base, struct backend_stream *base_stream,
                              const struct backend_task *task)
{
    struct cpu_backend *backend = cpu_backend_of(base);
    struct cpu_stream *stream = braid_cpu_stream_of(backend, base_stream);
    if (task->kind == WORK_EMPTY)
        return BRAID_OK;
    braid_status status = check_lifetime(task);
    if (status)
        return status;
    size_t bytes = braid_cpu_task_bytes(task);
    cpu_issue_lock(backend);
    bool queued = bytes <= FEW_BYTES ? submit_few(backend, stream, task, bytes)
                                     : submit_many(backend, stream, task, bytes);
    cpu_issue_unlock(backend);
    return queued ? BRAID_OK
                  : braid_error(BRAID_NO_MEMORY, "cpu: out of memory to queue '%s' (%zu bytes)",
                                task->name ? task->name : "a task", bytes);
}
