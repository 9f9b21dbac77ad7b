// SPDX-License-Identifier: Apache-2.0
// The shared parts of the CPU backend: its workers, its locks, and the users of its queues.
#ifndef BRAID_BACKENDS_CPU_CPU_H
#define BRAID_BACKENDS_CPU_CPU_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/blockers.h"
#include "base/clock.h"
#include "base/note.h"
#include "base/own_threads.h"
#include "device/backend.h"

enum { CPU_LINE_BYTES = 64 }; // two workers must not both write in one

struct cpu_slab;

// Begins zeroed. Items are taken under a lock of its owner, and put back without it.
struct cpu_pool {
    void *free; // an item, which begins with the address of the next one; NULL: none
    size_t num; // free or not
    _Alignas(CPU_LINE_BYTES) _Atomic(void *) returned; // items put back since `free` was last empty
};

// An item as its last user left it, except its first word; NULL: no memory. All are of one size.
void *braid_cpu_pool_take(struct cpu_pool *pool, struct cpu_slab **slabs, size_t item_bytes);
void braid_cpu_pool_put(struct cpu_pool *pool, void *item); // any thread
// Frees the items of all pools whose slabs these are.
void braid_cpu_slabs_finish(struct cpu_slab **slabs);

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
    bool is_whole;                 // one call has all blocks
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

// The lock cpu_backend.lock, "lock" in the comments below, guards the ready lists and the lists of
// waiting and sleeping threads. Threads that queue commands or record events take
// cpu_backend.issue_lock, "issue lock", before the other. A thread that runs commands takes neither
// while the next command need not wait. No code of the program ever runs under them, so a
// submission never waits for a kernel.

enum {
    CPU_NUM_URGENCIES = 3,    // urgent, normal, patient
    CPU_NUM_BLOCK_SIZES = 32, // classes of blocks of arguments, each twice the one before
    CPU_MAX_CORES = 1024,     // the backend does not tell further ones apart
    CPU_SPIN_NS = 20000,      // how long an idle thread looks for work before it sleeps
};

// Where a thread at work sits. A worker has one while it is awake, a thread of the program while it
// waits and lends a hand.
struct cpu_seat {
    atomic_int core;        // -1: none
    _Atomic pid_t thread;   // a worker, as the system names it; 0: a thread of the program
    atomic_bool is_moving;  // some thread moves the worker just now
    uint64_t turn_end_ns;   // a thread of the program has it
    struct cpu_seat *outer; // where the thread sits at another device
};

struct cpu_core {
    _Alignas(CPU_LINE_BYTES) atomic_uint num_at_work;
};
struct cpu_thread {
    struct cpu_backend *backend;
    struct own_thread own;
    struct cpu_seat seat;
};

struct cpu_backend {
    struct backend base;
    uint32_t num_workers;
    uint32_t num_threads;
    struct cpu_thread *threads;
    char name[128]; // the processor's

    pthread_mutex_t lock;
    struct cpu_sleeper *parked; // lock; workers that sleep
    struct cpu_sleeper *woken;  // lock; whom the holder of the lock wakes when it lets go of it
    struct blockers blockers;   // they run jobs that block
    atomic_uint num_resuming;   // threads of others that make a job ready

    struct cpu_job_list ready[CPU_NUM_URGENCIES]; // lock
    struct cpu_split *open_splits;                // lock
    bool stop;                                    // lock
    uint32_t num_spinning, num_parked;            // lock
    uint32_t num_waking;                          // lock; of the parked: woken, but not yet running
    bool in_the_way;    // lock; the thread that has just stopped walking had better sleep than spin
    uint32_t num_heads; // lock; threads that run a job
    uint32_t num_helpers; // lock; threads that help with a grid
    struct cpu_stream default_stream;

    _Alignas(CPU_LINE_BYTES) pthread_mutex_t issue_lock;
    struct cpu_slab *slabs;                      // issue lock; of the pools
    struct cpu_stream *unscheduled;              // issue lock; that is to be made ready
    struct cpu_pool points, chunks;              // issue lock, to take of them
    struct cpu_pool blocks[CPU_NUM_BLOCK_SIZES]; // issue lock, to take of them

    // Written under lock, read without it as hints, each on a line of its own: spinning threads
    // read them all the time.
    _Alignas(CPU_LINE_BYTES) atomic_uint epoch; // changes whenever there may be something to do
    _Alignas(CPU_LINE_BYTES) atomic_uint num_ready;
    atomic_uint num_active; // num_heads + num_helpers
    // The seats have these. A thread at work reads the count of its own core only, so each has a
    // line.
    _Alignas(CPU_LINE_BYTES) _Atomic uint64_t moved_ns; // when a thread was last moved
    _Atomic uint64_t move_pause_ns;                     // how long none is moved after that
    int num_cores;                                      // on the machine, up to CPU_MAX_CORES
    struct cpu_core cores[CPU_MAX_CORES];
};

static inline struct cpu_backend *cpu_backend_of(struct backend *backend)
{
    return (struct cpu_backend *)backend;
}

// One for each job or helper that may run at once: see cpu_worker.c.
static inline uint32_t cpu_num_threads(const struct cpu_backend *backend)
{
    return 2 * backend->num_workers - 1;
}

// NULL: there is nothing to wait for.
static inline bool cpu_point_is_reached(const struct cpu_point *point)
{
    return !point || atomic_load_explicit(&point->state, memory_order_acquire) == CPU_POINT_REACHED;
}

static inline void cpu_lock(struct cpu_backend *backend)
{
    pthread_mutex_lock(&backend->lock);
}

static inline void cpu_issue_lock(struct cpu_backend *backend)
{
    pthread_mutex_lock(&backend->issue_lock);
}

// cpu_stream.c
void braid_cpu_stream_schedule(struct cpu_backend *backend, struct cpu_stream *stream);

// The stream that a command was queued on is made ready without the lock.
static inline void cpu_issue_unlock(struct cpu_backend *backend)
{
    struct cpu_stream *stream = backend->unscheduled;
    backend->unscheduled = NULL;
    pthread_mutex_unlock(&backend->issue_lock);
    if (stream)
        braid_cpu_stream_schedule(backend, stream);
}

// cpu_worker.c
void braid_cpu_sleeper_init(struct cpu_sleeper *sleeper);
void braid_cpu_sleeper_finish(struct cpu_sleeper *sleeper);
// Puts the sleeper in the list, and sleeps without the lock. Another thread takes it from the list
// and wakes it. Then it takes the lock again. Lock held.
void braid_cpu_sleep(struct cpu_backend *backend, struct cpu_sleeper *sleeper,
                     struct cpu_sleeper **list);
// One of the list, if there is any, is woken when the lock is let go of. Lock held.
bool braid_cpu_wake_one(struct cpu_backend *backend, struct cpu_sleeper **list);
void braid_cpu_wake_all(struct cpu_backend *backend, struct cpu_sleeper **list);
void braid_cpu_post_all(struct cpu_backend *backend, struct cpu_sleeper *woken);
void braid_cpu_workers_wake(struct cpu_backend *backend, uint32_t num_wanted); // lock held
bool braid_cpu_worker_is_idle(const struct cpu_backend *backend);              // a hint

// Threads are woken without the lock, which they take first of all.
static inline void cpu_unlock(struct cpu_backend *backend)
{
    struct cpu_sleeper *woken = backend->woken;
    backend->woken = NULL;
    pthread_mutex_unlock(&backend->lock);
    if (woken)
        braid_cpu_post_all(backend, woken);
}

// cpu_seat.c. Lock held or not.
void braid_cpu_seat_init(struct cpu_seat *seat);
// From here on the calling thread is at work, until it leaves.
void braid_cpu_seat_take(struct cpu_backend *backend, struct cpu_seat *seat);
void braid_cpu_seat_leave(struct cpu_backend *backend);
// False: the calling thread is one of the program's.
bool braid_cpu_seat_is_a_workers(void);
// A thread of the program begins to lend a hand. Once its turn is over, it had better sleep.
void braid_cpu_seat_begin_turn(struct cpu_seat *seat);
bool braid_cpu_seat_turn_is_over(void);
// Whether another thread at work was last seen on the caller's core.
bool braid_cpu_seat_is_shared(struct cpu_backend *backend);
// Moves a worker away, if the caller shares its core. False: it goes on sharing it.
bool braid_cpu_seat_part(struct cpu_backend *backend);
// Wakes a worker, on another core than it slept on if that is taken.
void braid_cpu_seat_wake(struct cpu_backend *backend, struct cpu_sleeper *sleeper);

// cpu_worker.c
void braid_cpu_relax(void);
// To threads of any priority, for some microseconds. No cancellation point.
void braid_cpu_give_way(void);
// How long a thread without work polls: CPU_SPIN_NS, and no longer than its core is its own.
struct cpu_spin {
    uint64_t look_ns, end_ns;
};
struct cpu_spin braid_cpu_spin_begin(void);
bool braid_cpu_spin_goes_on(struct cpu_backend *backend,
                            struct cpu_spin *spin); // asked every few polls

// cpu_worker.c: threads and the ready lists.
braid_status braid_cpu_workers_start(struct cpu_backend *backend);
void braid_cpu_workers_stop(struct cpu_backend *backend); // when no job is left
void braid_cpu_job_list_append(struct cpu_job_list *list, struct cpu_job *job);
struct cpu_job *braid_cpu_job_list_take(struct cpu_job_list *list);             // NULL when empty
void braid_cpu_job_hand_over(struct cpu_backend *backend, struct cpu_job *job); // lock held
// The steps of that: queue the job for threads that are awake, ask whether these are too few for
// the stream's jobs, wake sleepers. Lock held.
void braid_cpu_job_queue(struct cpu_backend *backend, struct cpu_job *job);
bool braid_cpu_workers_are_short(const struct cpu_backend *backend, const struct cpu_job *stream);
void braid_cpu_workers_wake_for(struct cpu_backend *backend, const struct cpu_job *stream);
// For threads that poll for a point, between begin and end: runs ready work of the point's stream,
// without the lock meanwhile. False: there is none, or enough threads are at work. No worker is
// woken for work that such a thread may do. Lock held.
bool braid_cpu_workers_lend_hand(struct cpu_backend *backend, const struct cpu_point *point);
void braid_cpu_workers_begin_lending(struct cpu_job *stream);
void braid_cpu_workers_end_lending(struct cpu_backend *backend, struct cpu_job *stream);
// Whether the job that the thread has just left did so because spinning keeps its core from others.
// Lock held since then.
bool braid_cpu_worker_is_in_the_way(struct cpu_backend *backend);
bool braid_cpu_other_work_is_ready(const struct cpu_backend *backend); // a hint

// cpu_worker.c Runs all of the work, with the help of idle workers where that pays. False: helpers
// are still at it, and the last of them goes on with the job; the caller must not touch the job any
// more. True: job->split.work is NULL unless workers helped.
bool braid_cpu_work_run(struct cpu_backend *backend, struct cpu_job *job, struct cpu_work *work);
// Calls some blocks of it, and notes that.
void braid_cpu_work_call(const struct cpu_work *work, const braid_blocks *blocks);

// cpu_blocker.c
// Lets a thread of its own make a call that sleeps. That thread passes the job on, so the caller
// must not touch the job again. False: the call does not sleep, or there is no thread for it.
bool braid_cpu_blocker_begin(struct cpu_backend *backend, struct cpu_job *job,
                             const struct cpu_work *work);
// Makes the call, and returns true. False: a thread of its own makes it, as above.
bool braid_cpu_blocker_run(struct cpu_backend *backend, struct cpu_job *job,
                           const struct cpu_work *work);
void braid_cpu_blockers_start(struct cpu_backend *backend); // which starts none yet
void braid_cpu_blockers_stop(struct cpu_backend *backend);  // when no job is left

// How many cores the control groups of this process let it use, rounded up; CPU_MAX_CORES: nothing
// limits it. The files are read below the root, which is "" for the machine's own.
uint32_t braid_cpu_quota(const char *root);

// cpu_blocker.c
void braid_cpu_job_make_ready(struct cpu_backend *backend, struct cpu_job *job); // lock held
bool braid_cpu_thread_passes(void); // whether the caller passes jobs on

// cpu_task.c: tasks into work.
// An upper bound on the bytes that braid_cpu_task_capture writes at `memory`, at any address.
size_t braid_cpu_task_bytes(const struct backend_task *task);
// Copies the task's arguments to memory and returns the first byte after them.
unsigned char *braid_cpu_task_capture(const struct backend_task *task, unsigned char *memory,
                                      struct cpu_work *out_work);
// Reads the grid of a work that has it in memory.
void braid_cpu_work_read_grid(struct cpu_work *work);
// The loop that was captured behind these arguments.
const struct work_loop *braid_cpu_task_loop(void *const *args);
// The parts of a captured task that may change later: bytes behind its argument pointers, and its
// call and blocks.
struct cpu_values {
    void *const *pointers;
    const uint32_t *bytes; // behind each
    uint32_t num;
};
struct cpu_values braid_cpu_task_values(const struct backend_task *task,
                                        const struct cpu_work *captured);
// The work of the changed task, which has the argument pointers of before.
void braid_cpu_task_describe(const struct backend_task *task, const struct cpu_values *values,
                             struct cpu_work *out_work);
// Writes its bytes, one behind the other.
void braid_cpu_task_recapture(const struct backend_task *task, const struct cpu_values *values,
                              unsigned char *bytes);

// cpu_point.c
struct cpu_point *braid_cpu_point_create(struct cpu_backend *backend,
                                         bool timing); // issue lock held; NULL: no memory
void braid_cpu_point_add_reference(struct cpu_point *point);
void braid_cpu_point_release(struct cpu_backend *backend,
                             struct cpu_point *point); // NULL does nothing
// False: it is reached. True: the thread that reaches it takes the lock and looks for waiters. Lock
// held.
bool braid_cpu_point_watch(struct cpu_point *point);
void braid_cpu_point_reach(struct cpu_backend *backend, struct cpu_point *point); // no lock held
void braid_cpu_point_reach_locked(struct cpu_backend *backend, struct cpu_point *point);
// The caller has a reference. No lock held.
void braid_cpu_point_host_wait(struct cpu_backend *backend, struct cpu_point *point);

// cpu_stream.c
// Room for a command of so many bytes at the end of the queue, until the next call; NULL: no
// memory. Issue lock held.
struct cpu_command *braid_cpu_command_reserve(struct cpu_backend *backend,
                                              struct cpu_stream *stream, size_t bytes);

// cpu_stream.c
void braid_cpu_stream_init(struct cpu_stream *stream, int32_t priority);
struct cpu_stream *braid_cpu_stream_of(struct cpu_backend *backend,
                                       struct backend_stream *stream); // NULL: the default one
// Queues the command that was reserved last, and filled. Issue lock held.
void braid_cpu_stream_append(struct cpu_backend *backend, struct cpu_stream *stream,
                             const struct cpu_command *command);
// The same as a record that reaches the point; a reference becomes the command's.
void braid_cpu_stream_append_record(struct cpu_backend *backend, struct cpu_stream *stream,
                                    struct cpu_command *command, struct cpu_point *point);

// Operations of struct backend_ops, each of which some file defines.
#define CPU_OPERATIONS(X)                                                                          \
    X(cpu, allocate)                                                                               \
    X(cpu, release)                                                                                \
    X(cpu, stream_create)                                                                          \
    X(cpu, stream_destroy)                                                                         \
    X(cpu, stream_synchronize)                                                                     \
    X(cpu, stream_query)                                                                           \
    X(cpu, stream_wait)                                                                            \
    X(cpu, event_create)                                                                           \
    X(cpu, event_destroy)                                                                          \
    X(cpu, event_record)                                                                           \
    X(cpu, event_query)                                                                            \
    X(cpu, event_synchronize)                                                                      \
    X(cpu, event_elapsed)                                                                          \
    X(cpu, kernel_load)                                                                            \
    X(cpu, kernel_unload)                                                                          \
    X(cpu, run_here)                                                                               \
    X(cpu, submit)
CPU_OPERATIONS(BACKEND_DECLARES)

#endif
