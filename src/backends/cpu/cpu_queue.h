// SPDX-License-Identifier: Apache-2.0
// The data of the queues: work, jobs, points, commands, streams. For cpu.h, whose locks are meant.
#ifndef BRAID_BACKENDS_CPU_CPU_QUEUE_H
#define BRAID_BACKENDS_CPU_CPU_QUEUE_H

#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/cpu/cpu_slab.h"
#include "base/note.h"
#include "device/backend.h"

struct cpu_backend;
struct cpu_job;
struct cpu_point;

// A kernel, copy, fill or host call, ready to run: a function and its arguments. blocks covers the
// whole grid; calls are made with parts of it.
struct cpu_work {
    braid_cpu_function *call;
    braid_blocks blocks;
    void *const *args;
    // Where the address of the words stands that the grid is read from when the work begins, and
    // the largest that it may be. NULL: `blocks` has it.
    void *const *grid_from;
    braid_dim3 most;
    _Atomic uint64_t *block_ns;    // its last block's; 0: not known. NULL: nobody asks
    struct note *note;             // counts the calls; NULL: there is no black box
    const uint32_t *cancelled;     // see backend_task
    bool is_blocking;              // it sleeps, so no worker is to make the call
    struct work_operation *awaits; // no call: the job goes on when it has ended; then is_blocking
};

// The part of a job for other threads: a grid that idle workers may help with, or a blocking call,
// which has `work` only. Belongs to the job that runs the work.
struct cpu_split {
    struct cpu_job *job;
    const struct cpu_work *work;
    uint64_t chunk;              // blocks claimed at once
    _Atomic uint64_t next_block; // claimed by adding chunk; may run past the end
    uint32_t num_participants;   // lock; the thread that makes it 0 goes on with the job
    bool open;                   // lock; in the list of grids that can be joined
    struct cpu_split *next_open; // lock
};

// A thread that sleeps until another wakes it: a worker, or a thread of the program that waits for
// a point.
struct cpu_sleeper {
    sem_t wake;
    int core;                 // lock; where it ran last; -1: not known
    struct cpu_seat *seat;    // a worker's; NULL: a thread of the program
    struct cpu_sleeper *next; // lock; among those that sleep, or that are woken
};

// A sequence of work that one thread at a time walks: a stream's queue or a lane of a plan's
// program. run returns the next job for the same thread, or NULL with the lock held. So the thread
// that ended something looks for work before those that saw the end can add more. If `until` is
// given, a stream hands itself on as soon as it is reached. pass leaves work to the workers.
struct cpu_job {
    struct cpu_job *(*run)(struct cpu_backend *backend, struct cpu_job *job,
                           const struct cpu_point *until);
    struct cpu_job *(*pass)(struct cpu_backend *backend, struct cpu_job *job);
    struct cpu_job *stream; // the stream this is, or whose launch this is a lane of
    struct cpu_job *next;   // lock; in the ready list, or among those waiting for something
    uint32_t urgency;       // index of the ready list
    uint32_t num_hosts; // lock; of a stream: threads that wait for a point of it and lend a hand,
    uint32_t num_busy;  // lock; those of them that run something
    struct cpu_split split;
};

struct cpu_job_list {
    struct cpu_job *first, *last;
};

// A moment that jobs and host threads wait for: one record of an event, the end of one launch of a
// program. Counted, pooled.
struct cpu_point {
    _Alignas(CPU_LINE_BYTES) void *pooled; // first; see cpu_pool
    atomic_uint state;                     // enum cpu_point_state
    atomic_uint num_references;
    uint64_t time_ns;            // written before it is reached, where timing was asked for
    struct cpu_job *stream;      // where it is queued; there at least until it is reached
    struct cpu_sleeper *hosts;   // lock; threads of the program that wait for it, asleep
    struct cpu_job_list waiting; // lock
    bool timing;
};

// An exchange sets the last, once. If the point was watched, that thread wakes those that wait.
enum cpu_point_state { CPU_POINT_AHEAD, CPU_POINT_WATCHED, CPU_POINT_REACHED };

struct cpu_patch; // the changes for a play when it starts

// A launch that a player queues: it runs jobs of its own.
struct cpu_play {
    // Begins, and returns a job for the calling thread to run, or NULL if there is nothing to do.
    // The thread that ends the last job of it runs `then`. Lock not held.
    struct cpu_job *(*start)(struct cpu_backend *backend, struct cpu_play *play,
                             struct cpu_patch *patch, struct cpu_job *then);
};

enum cpu_command_kind {
    CPU_COMMAND_WORK,
    CPU_COMMAND_RECORD, // reaches point
    CPU_COMMAND_WAIT,   // waits for point
    CPU_COMMAND_LAUNCH, // waits for `before`, starts play, reaches `end`
    CPU_COMMAND_GO_ON,  // in the next chunk; not counted
};

// Waits for the launch before of the same program; NULL: there was none.
struct cpu_launch {
    struct cpu_point *before, *end;
    struct cpu_play *play;
    struct cpu_patch *patch;
};

struct cpu_queued_work {
    struct cpu_work work;
    struct cpu_block *block; // where the arguments are; NULL: they follow
};

// An entry of a stream's queue, as long as its kind and its arguments need. Its references are the
// walking thread's to give back.
struct cpu_command {
    uint32_t bytes; // to the next one
    enum cpu_command_kind kind;
    union {
        struct cpu_point *point;
        struct cpu_launch launch;
        struct cpu_queued_work queued;
        struct cpu_chunk *next_chunk;
    };
};

// The bytes of a command of one kind.
#define CPU_COMMAND_BYTES(member)                                                                  \
    (offsetof(struct cpu_command, member) + sizeof(((struct cpu_command *)0)->member))

// A queue lies in chunks, in the order in which it is written and read: so the caches fetch ahead.
struct cpu_stream {
    struct backend_stream base;
    struct cpu_job job;
    // Queueing threads write it; the walking thread reads it after all commands that it knew of. It
    // has another line than the job's grid, of which helpers claim blocks.
    _Alignas(CPU_LINE_BYTES) _Atomic uint64_t num_queued;
    struct cpu_chunk *last_chunk; // issue lock; NULL: nothing was ever queued
    uint32_t num_used_bytes;      // issue lock; of it
    atomic_bool scheduled; // lock, to change it: ready, running or waiting, so it needs no push
    // The walking thread's.
    _Alignas(CPU_LINE_BYTES) struct cpu_command *next;
    struct cpu_chunk *chunk; // that next is in
    bool has_started;        // next has, and its ending thread goes on with the stream
    uint32_t num_in_turn;    // commands begun since the stream was made ready
    uint64_t num_known;      // the part of num_queued that it has seen
    _Atomic uint64_t num_ended;
};

// If true, the caller sees the effects of the work, until something is queued. num_ended is read
// first: read second, it could equal a num_queued from before the ended work queued more.
static inline bool cpu_stream_is_idle(const struct cpu_stream *stream)
{
    uint64_t num_ended = atomic_load_explicit(&stream->num_ended, memory_order_acquire);
    return num_ended == atomic_load_explicit(&stream->num_queued, memory_order_acquire);
}

#endif
