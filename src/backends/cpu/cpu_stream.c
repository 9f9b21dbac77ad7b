// SPDX-License-Identifier: Apache-2.0
// Streams: making and freeing them, queueing on them, and waiting for queued work.
#include <string.h>

#include "backends/cpu/cpu.h"
#include "base/error.h"
#include "base/host_memory.h"
#include "base/inside.h"

// ---- commands ----

// Where the commands of streams lie: in chunks, one behind the other; long arguments in blocks.

enum {
    CHUNK_BYTES = 2048,
    ALIGNMENT = 16, // each command's
    GO_ON_BYTES = 16,
    SMALLEST_BYTES = 64, // a block of class 0 has so many
};

struct cpu_chunk {
    void *pooled; // see cpu_pool
    _Alignas(ALIGNMENT) unsigned char bytes[CHUNK_BYTES - ALIGNMENT];
};

struct cpu_block {
    void *pooled;
    uint32_t size_class;
    _Alignas(CPU_LINE_BYTES) unsigned char bytes[];
};

static struct cpu_command *command_at(struct cpu_chunk *chunk, uint32_t offset)
{
    return (struct cpu_command *)(void *)(chunk->bytes + offset);
}

_Static_assert(CPU_COMMAND_BYTES(next_chunk) <= GO_ON_BYTES, "room is kept for it");

// Each chunk keeps room for the command that leads to the next one.
static bool has_room(const struct cpu_stream *stream, size_t bytes)
{
    return stream->last_chunk &&
           stream->num_used_bytes + bytes + GO_ON_BYTES <= sizeof(stream->last_chunk->bytes);
}

// The walking thread comes to a first chunk, or sees a next one, only behind a command that is
// queued later.
static void add_chunk(struct cpu_stream *stream, struct cpu_chunk *chunk)
{
    if (stream->last_chunk) {
        struct cpu_command *command = command_at(stream->last_chunk, stream->num_used_bytes);
        command->kind = CPU_COMMAND_GO_ON;
        command->next_chunk = chunk;
    } else {
        stream->chunk = chunk;
        stream->next = command_at(chunk, 0);
    }
    stream->last_chunk = chunk;
    stream->num_used_bytes = 0;
}

static size_t round_up(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

// An empty queue begins anew at the start of its chunk. So a stream that is idle between frames
// keeps to one chunk, which stays in the caches. The walking thread is done with `next` and `chunk`
// when it counts a command as ended, until it sees that one more is queued. It writes that count
// all the time, so a stream that seems to be walked is left alone.
static void begin_anew(struct cpu_stream *stream)
{
    bool is_walked = atomic_load_explicit(&stream->scheduled, memory_order_relaxed);
    if (is_walked || !cpu_stream_is_idle(stream) || stream->chunk != stream->last_chunk)
        return;
    stream->next = stream->chunk ? command_at(stream->chunk, 0) : NULL;
    stream->num_used_bytes = 0;
}

struct cpu_command *braid_cpu_command_reserve(struct cpu_backend *backend,
                                              struct cpu_stream *stream, size_t bytes)
{
    begin_anew(stream);
    if (!has_room(stream, round_up(bytes))) {
        struct cpu_chunk *chunk =
            braid_cpu_pool_take(&backend->chunks, &backend->slabs, sizeof(*chunk));
        if (!chunk)
            return NULL;
        add_chunk(stream, chunk);
    }
    struct cpu_command *command = command_at(stream->last_chunk, stream->num_used_bytes);
    command->bytes = (uint32_t)round_up(bytes);
    return command;
}

// The next to run, of a queue that has one. The walking thread's.
static struct cpu_command *cpu_command_next(struct cpu_backend *backend, struct cpu_stream *stream)
{
    if (stream->next->kind == CPU_COMMAND_GO_ON) {
        struct cpu_chunk *ended = stream->chunk;
        stream->chunk = stream->next->next_chunk;
        stream->next = command_at(stream->chunk, 0);
        braid_cpu_pool_put(&backend->chunks, ended);
    }
    return stream->next;
}

// The stream is idle.
// A failed reservation may have led on to a chunk that holds nothing yet.
static void cpu_chunks_release(struct cpu_backend *backend, struct cpu_stream *stream)
{
    if (!stream->last_chunk)
        return;
    if (stream->chunk != stream->last_chunk)
        braid_cpu_pool_put(&backend->chunks, stream->chunk);
    braid_cpu_pool_put(&backend->chunks, stream->last_chunk);
}

static uint32_t class_of(size_t bytes)
{
    uint32_t size_class = 0;
    while (size_class < CPU_NUM_BLOCK_SIZES && ((size_t)SMALLEST_BYTES << size_class) < bytes)
        size_class++;
    return size_class;
}

// Memory for arguments that do not go into the queue. NULL: there is none. Issue lock held.
// The largest class holds 128 GiB, so memory is the only limit; NULL beyond it.
static struct cpu_block *cpu_block_create(struct cpu_backend *backend, size_t bytes)
{
    uint32_t size_class = class_of(bytes);
    if (size_class >= CPU_NUM_BLOCK_SIZES)
        return NULL;
    struct cpu_block *block =
        braid_cpu_pool_take(&backend->blocks[size_class], &backend->slabs,
                            sizeof(*block) + ((size_t)SMALLEST_BYTES << size_class));
    if (block)
        block->size_class = size_class;
    return block;
}

// Any thread.
static void cpu_block_release(struct cpu_backend *backend, struct cpu_block *block)
{
    if (block)
        braid_cpu_pool_put(&backend->blocks[block->size_class], block);
}

// ---- walking ----

// Walking a stream's queue: one thread at a time runs its commands, without a lock while it can.

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
    struct cpu_command *command = cpu_command_next(backend, stream);
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
    stream->next = (struct cpu_command *)(void *)((char *)stream->next + stream->next->bytes);
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
        cpu_block_release(backend, command->queued.block);
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

// As cpu_job.run.
static struct cpu_job *cpu_stream_run(struct cpu_backend *backend, struct cpu_job *job,
                                      const struct cpu_point *until)
{
    return go_on(backend, job, until, false);
}

static struct cpu_job *cpu_stream_pass(struct cpu_backend *backend, struct cpu_job *job)
{
    return go_on(backend, job, NULL, true);
}

// ---- streams ----

enum { FEW_BYTES = 256 }; // arguments with no more bytes are few

void braid_cpu_stream_init(struct cpu_stream *stream, int32_t priority)
{
    stream->job.run = cpu_stream_run;
    stream->job.pass = cpu_stream_pass;
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
    struct cpu_stream *stream = braid_allocate_aligned(CPU_LINE_BYTES, sizeof(*stream));
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
    cpu_chunks_release(backend, stream);
    braid_free(stream);
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
    struct cpu_block *block = cpu_block_create(backend, bytes);
    if (!block)
        return false;
    struct cpu_work work;
    cpu_issue_unlock(backend);
    braid_cpu_task_capture(task, block->bytes, &work);
    cpu_issue_lock(backend);
    struct cpu_command *command = reserve_work(backend, stream, 0);
    if (!command) {
        cpu_block_release(backend, block);
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
