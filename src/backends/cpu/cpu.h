// SPDX-License-Identifier: Apache-2.0
// What the files of the CPU backend share: workers, jobs, work, points, commands, streams.
#ifndef BRAID_BACKENDS_CPU_CPU_H
#define BRAID_BACKENDS_CPU_CPU_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "backends/backend.h"

// One lock, cpu_backend.lock, guards the queues: "lock" in the comments below is that one. No code
// of the program ever runs under it, so a submission never waits for a kernel.

enum {
    CPU_LINE_BYTES = 64,        // what two workers must not both write in
    CPU_NUM_URGENCIES = 3,      // urgent, normal, patient
    CPU_NUM_COMMAND_SIZES = 32, // classes of command blocks, each twice the one before
    CPU_MAX_CORES = 1024,       // those beyond are not told apart
    CPU_SPIN_NS = 20000,        // how long an idle thread looks for work before it sleeps
};

struct cpu_backend;
struct cpu_job;
struct cpu_point;

// What runs when a kernel, copy, fill or host call has its turn: a function and its arguments.
// blocks covers the whole grid; calls are made with parts of it.
struct cpu_work {
    braid_cpu_function *call;
    braid_blocks blocks;
    void *const *args;
    // Where the address of the words stands that the grid is read from when the work begins, and
    // the largest that it may be. NULL: `blocks` has it.
    void *const *grid_from;
    braid_dim3 most;
    _Atomic uint64_t *block_ns;    // what a block of it took last; 0: not known. NULL: nobody asks
    bool is_blocking;              // it sleeps, so no worker is to make the call
    struct rank_operation *awaits; // no call: the job goes on when it has ended; then is_blocking
};

// A grid that idle workers may help with. Belongs to the job that runs the work.
struct cpu_split {
    struct cpu_job *job;
    const struct cpu_work *work;
    uint64_t chunk;              // blocks claimed at once
    _Atomic uint64_t next_block; // claimed by adding chunk; may run past the end
    uint32_t num_participants;   // lock; whoever makes it 0 goes on with the job
    bool open;                   // lock; in the list of grids that can be joined
    struct cpu_split *next_open; // lock
};

// A thread that sleeps until another wakes it: a worker, or a thread of the program that waits for
// a point.
struct cpu_sleeper {
    sem_t wake;
    int core;                 // lock; where it ran last; -1: not known
    struct cpu_seat *seat;    // of a worker; NULL: a thread of the program
    struct cpu_sleeper *next; // lock; among those that sleep, or that are woken
};

// A sequence of work that one thread at a time walks: a stream's queue or a lane of a program.
// run returns the job that the same thread is to run next, or NULL with the lock held: so the
// thread that ended something looks for work before those that saw the end can make more of it. A
// stream hands itself on as soon as `until` is reached, if that is given.
struct cpu_job {
    struct cpu_job *(*run)(struct cpu_backend *backend, struct cpu_job *job,
                           const struct cpu_point *until);
    struct cpu_job *stream; // the stream this is, or whose launch this is a lane of
    struct cpu_job *next;   // lock; in the ready list, or among those waiting for something
    uint32_t urgency;       // index of the ready list
    uint32_t num_hosts; // lock; of a stream: threads that wait for a point of it and lend a hand,
    uint32_t num_busy;  // lock; those of them that run something
    struct cpu_split split;
};

// Where a thread at work sits. A worker has one while it is awake, a thread of the program while it
// waits and lends a hand.
struct cpu_seat {
    atomic_int core;        // -1: none
    _Atomic pid_t thread;   // a worker, as the system names it; 0: a thread of the program
    atomic_bool is_moving;  // some thread moves the worker just now
    struct cpu_seat *outer; // where the thread sits at another device
};

struct cpu_core {
    _Alignas(CPU_LINE_BYTES) atomic_uint num_at_work;
};

struct cpu_thread {
    struct cpu_backend *backend;
    pthread_t handle;
    struct cpu_seat seat;
};

struct cpu_job_list {
    struct cpu_job *first, *last;
};

// A moment that jobs and host threads wait for: one record of an event, the end of one launch of a
// program. Counted, pooled.
struct cpu_point {
    atomic_bool reached;         // set once, under lock; acquire reads may skip the lock
    uint64_t time_ns;            // written before reached, where timing was asked for
    bool timing;                 //
    struct cpu_job *stream;      // where it is queued; there at least until it is reached
    uint32_t num_references;     // lock
    struct cpu_sleeper *hosts;   // lock; threads of the program that wait for it, asleep
    struct cpu_job_list waiting; // lock
    struct cpu_point *next;      // lock; free list
};

enum cpu_command_kind {
    CPU_COMMAND_WORK,
    CPU_COMMAND_RECORD, // reaches point
    CPU_COMMAND_WAIT,   // waits for point
    CPU_COMMAND_LAUNCH, // waits for point, starts play, reaches launch_end
};

struct cpu_patch; // what a play is to be given when it starts

// A launch that a player queues: it runs jobs of its own.
struct cpu_play {
    // Begins, and returns a job for the calling thread to run, or NULL if there is nothing to do.
    // The thread that ends the last job of it runs `then`. Lock not held.
    struct cpu_job *(*start)(struct cpu_backend *backend, struct cpu_play *play,
                             struct cpu_patch *patch, struct cpu_job *then);
};

// An entry of a stream's queue. Blocks of several sizes are pooled: a recycled one is as large as
// its class, so that a program that repeats itself stops allocating.
struct cpu_command {
    struct cpu_command *next; // lock; queue or free list
    uint32_t size_class;
    enum cpu_command_kind kind;
    struct cpu_point *point;
    struct cpu_point *launch_end;
    struct cpu_play *play;
    struct cpu_patch *patch;
    struct cpu_work work;
    _Alignas(CPU_LINE_BYTES) unsigned char storage[]; // argument pointers and bytes
};

struct cpu_stream {
    struct backend_stream base;
    struct cpu_job job;
    struct cpu_command *first, *last; // lock
    bool scheduled;                   // lock; ready, running or waiting: it needs no push
    // The walking thread's: the last of the commands, from first on, that have begun; NULL: none.
    struct cpu_command *started;
};

struct cpu_backend {
    struct backend base;
    uint32_t num_workers;
    uint32_t num_threads;
    struct cpu_thread *threads;

    pthread_mutex_t lock;
    struct cpu_sleeper *parked; // lock; workers that sleep
    struct cpu_sleeper *woken;  // lock; whom the holder of the lock wakes when it lets go of it
    struct cpu_blocker *blockers, *idle_blockers; // lock; see cpu_blocker.c
    atomic_uint num_resuming;                     // threads of others that make a job ready

    struct cpu_job_list ready[CPU_NUM_URGENCIES]; // lock
    struct cpu_split *open_splits;                // lock
    bool stop;                                    // lock
    uint32_t num_spinning, num_parked;            // lock
    uint32_t num_waking;                          // lock; of the parked: woken, but not yet running
    bool in_the_way;    // lock; the thread that has just stopped walking had better sleep than spin
    uint32_t num_heads; // lock; threads that run a job
    uint32_t num_helpers;                                     // lock; threads that help with a grid
    struct cpu_slab *slabs;                                   // lock
    struct cpu_point *free_points;                            // lock
    size_t num_points;                                        // lock; free or not
    struct cpu_command *free_commands[CPU_NUM_COMMAND_SIZES]; // lock
    size_t num_commands[CPU_NUM_COMMAND_SIZES];               // lock; free or not
    struct cpu_stream default_stream;

    // Written under lock, read without it as hints, each on a line of its own: spinning threads
    // read them all the time.
    _Alignas(CPU_LINE_BYTES) atomic_uint epoch; // changes whenever there may be something to do
    _Alignas(CPU_LINE_BYTES) atomic_uint num_ready;
    atomic_uint num_active; // num_heads + num_helpers
    // Of the seats. A thread at work reads the count of its own core only, so each has a line.
    _Alignas(CPU_LINE_BYTES) _Atomic uint64_t moved_ns; // when a thread was last moved
    _Atomic uint64_t move_pause_ns;                     // how long none is moved after that
    int num_cores;                                      // of the machine, up to CPU_MAX_CORES
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

static inline void cpu_lock(struct cpu_backend *backend)
{
    pthread_mutex_lock(&backend->lock);
}

// cpu_sleep.c
void braid_cpu_sleeper_init(struct cpu_sleeper *sleeper);
void braid_cpu_sleeper_finish(struct cpu_sleeper *sleeper);
// Puts the sleeper in the list, sleeps without the lock until another thread has taken it from
// there and woken it, and takes the lock again. Lock held.
void braid_cpu_sleep(struct cpu_backend *backend, struct cpu_sleeper *sleeper,
                     struct cpu_sleeper **list);
// One of the list, if there is any, is woken when the lock is let go of. Lock held.
bool braid_cpu_wake_one(struct cpu_backend *backend, struct cpu_sleeper **list);
void braid_cpu_wake_all(struct cpu_backend *backend, struct cpu_sleeper **list);
void braid_cpu_post_all(struct cpu_backend *backend, struct cpu_sleeper *woken);
void braid_cpu_workers_wake(struct cpu_backend *backend, uint32_t num_wanted); // lock held
uint32_t braid_cpu_num_looking(const struct cpu_backend *backend);             // workers; lock held
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
// Whether another thread at work was last seen on the caller's core.
bool braid_cpu_seat_is_shared(struct cpu_backend *backend);
// Moves a worker away, if the caller shares its core. False: it goes on sharing it.
bool braid_cpu_seat_part(struct cpu_backend *backend);
// Wakes a worker, on another core than it slept on if that is taken.
void braid_cpu_seat_wake(struct cpu_backend *backend, struct cpu_sleeper *sleeper);

// cpu_time.c
uint64_t braid_cpu_now_ns(void);
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
// Polls until *word is no longer `seen` (true) or the spin is over (false).
bool braid_cpu_spin_while_equal(struct cpu_backend *backend, const atomic_uint *word,
                                unsigned seen);

// cpu_worker.c: threads and the ready lists.
braid_status braid_cpu_workers_start(struct cpu_backend *backend);
void braid_cpu_workers_stop(struct cpu_backend *backend); // when no job is left
void braid_cpu_job_list_append(struct cpu_job_list *list, struct cpu_job *job);
struct cpu_job *braid_cpu_job_list_take(struct cpu_job_list *list);              // NULL when empty
void braid_cpu_job_make_ready(struct cpu_backend *backend, struct cpu_job *job); // lock held
// The same in steps: for the threads that are awake, with a word on whether these are too few for
// the stream's jobs, and for those that sleep. Lock held.
void braid_cpu_job_queue(struct cpu_backend *backend, struct cpu_job *job);
bool braid_cpu_workers_are_short(const struct cpu_backend *backend, const struct cpu_job *stream);
void braid_cpu_workers_wake_for(struct cpu_backend *backend, const struct cpu_job *stream);
// For threads that poll for a point, between begin and end: runs ready work that the point waits
// for in its own stream, with the lock released meanwhile. False: there is none, or enough threads
// are at work. No worker is woken for what such a thread may do. Lock held.
bool braid_cpu_workers_lend_hand(struct cpu_backend *backend, const struct cpu_point *point);
void braid_cpu_workers_begin_lending(struct cpu_job *stream);
void braid_cpu_workers_end_lending(struct cpu_backend *backend, struct cpu_job *stream);
// Whether the job that the thread has just left did so because spinning keeps its core from others.
// Lock held since then.
bool braid_cpu_worker_is_in_the_way(struct cpu_backend *backend);
bool braid_cpu_other_work_is_ready(const struct cpu_backend *backend); // a hint

// cpu_split.c
// Runs all of the work, with the help of idle workers where that pays. False: helpers are still at
// it, and the last of them goes on with the job; the caller must not touch the job any more.
bool braid_cpu_work_run(struct cpu_backend *backend, struct cpu_job *job, struct cpu_work *work);
struct cpu_split *braid_cpu_split_join(struct cpu_backend *backend); // lock held; NULL: none
void braid_cpu_split_participate(struct cpu_split *split);           // lock not held
bool braid_cpu_split_leave(struct cpu_backend *backend,
                           struct cpu_split *split); // lock held; true: last

// cpu_blocker.c
// Has a call that sleeps made by a thread of its own, which then makes the job ready. False, as
// above: the caller must not touch the job any more. True: there is no thread, and the caller has
// made the call.
bool braid_cpu_blocker_run(struct cpu_backend *backend, struct cpu_job *job,
                           const struct cpu_work *work);
void braid_cpu_blockers_stop(struct cpu_backend *backend); // when no job is left

// cpu_task.c: tasks into work.
// An upper bound on what braid_cpu_task_capture writes at `memory`, wherever that lies.
size_t braid_cpu_task_bytes(const struct backend_task *task);
// Copies the task's arguments to memory and returns the first byte after them.
unsigned char *braid_cpu_task_capture(const struct backend_task *task, unsigned char *memory,
                                      struct cpu_work *out_work);
// What of a task that was captured may change later: bytes behind its argument pointers, and its
// call and blocks.
struct cpu_values {
    void *const *pointers;
    const uint32_t *bytes; // behind each
    uint32_t num;
};
struct cpu_values braid_cpu_task_values(const struct backend_task *task,
                                        const struct cpu_work *captured);
// Writes the bytes, one behind the other, and the work of the changed task, which has the argument
// pointers of before.
void braid_cpu_task_recapture(const struct backend_task *task, const struct cpu_values *values,
                              unsigned char *bytes, struct cpu_work *out_work);

// cpu_slab.c. All under lock.
size_t braid_cpu_slab_items(size_t num_now, size_t item_bytes); // how many more a pool should get
// Room for num items, line-aligned, as long as the backend lives; NULL: no memory.
void *braid_cpu_slab_create(struct cpu_backend *backend, size_t num, size_t item_bytes);
void braid_cpu_slabs_finish(struct cpu_backend *backend);

// cpu_point.c. All under lock.
struct cpu_point *braid_cpu_point_create(struct cpu_backend *backend,
                                         bool timing); // NULL: no memory
void braid_cpu_point_release(struct cpu_backend *backend,
                             struct cpu_point *point); // NULL does nothing
void braid_cpu_point_reach(struct cpu_backend *backend, struct cpu_point *point);
void braid_cpu_point_host_wait(struct cpu_backend *backend, struct cpu_point *point);

// cpu_command.c
struct cpu_command *braid_cpu_command_create(struct cpu_backend *backend,
                                             size_t bytes); // lock held
void braid_cpu_command_recycle(struct cpu_backend *backend,
                               struct cpu_command *command); // lock held

// cpu_stream.c
void braid_cpu_stream_init(struct cpu_stream *stream, int32_t priority);
struct cpu_stream *braid_cpu_stream_of(struct cpu_backend *backend,
                                       struct backend_stream *stream); // NULL: the default one
void braid_cpu_stream_append(struct cpu_backend *backend, struct cpu_stream *stream,
                             struct cpu_command *command); // lock held
braid_status braid_cpu_stream_create(struct backend *backend, int32_t priority,
                                     struct backend_stream **out_stream);
void braid_cpu_stream_destroy(struct backend *backend, struct backend_stream *stream);
braid_status braid_cpu_stream_synchronize(struct backend *backend, struct backend_stream *stream);
braid_status braid_cpu_stream_query(struct backend *backend, struct backend_stream *stream);
braid_status braid_cpu_submit(struct backend *backend, struct backend_stream *stream,
                              const struct backend_task *task);

// cpu_event.c
braid_status braid_cpu_event_create(struct backend *backend, bool timing,
                                    struct backend_event **out_event);
void braid_cpu_event_destroy(struct backend *backend, struct backend_event *event);
braid_status braid_cpu_event_record(struct backend *backend, struct backend_event *event,
                                    struct backend_stream *stream);
braid_status braid_cpu_stream_wait(struct backend *backend, struct backend_stream *stream,
                                   struct backend_event *event);
braid_status braid_cpu_event_query(struct backend *backend, struct backend_event *event);
braid_status braid_cpu_event_synchronize(struct backend *backend, struct backend_event *event);
braid_status braid_cpu_event_elapsed(struct backend *backend, struct backend_event *start,
                                     struct backend_event *end, uint64_t *out_ns);

// cpu_memory.c
uint64_t braid_cpu_memory_bytes(void); // of the machine; 0: not known
braid_status braid_cpu_allocate(struct backend *backend, braid_memory_kind kind, uint64_t bytes,
                                void **out_memory);
void braid_cpu_release(struct backend *backend, braid_memory_kind kind, void *memory);
braid_status braid_cpu_stream_allocate(struct backend *backend, struct backend_stream *stream,
                                       uint64_t bytes, void **out_memory);
braid_status braid_cpu_stream_free(struct backend *backend, struct backend_stream *stream,
                                   void *memory);

// cpu_kernel.c
// What a work of this kernel is to call, and where it learns what its blocks take.
void braid_cpu_kernel_fill_work(struct backend_kernel *kernel, struct cpu_work *work);
braid_status braid_cpu_kernel_load(struct backend *backend, const braid_kernel *kernel,
                                   const uint32_t *arg_bytes, uint32_t num_args,
                                   struct backend_kernel **out_kernel);
void braid_cpu_kernel_unload(struct backend *backend, struct backend_kernel *kernel);

#endif
