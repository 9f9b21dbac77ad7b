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

#include "backends/cpu/cpu_queue.h"
#include "backends/cpu/cpu_slab.h"
#include "base/blockers.h"
#include "base/clock.h"
#include "base/own_threads.h"
#include "device/backend.h"

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

// cpu_sleep.c
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

// cpu_time.c
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

// cpu_split.c
// Runs all of the work, with the help of idle workers where that pays. False: helpers are still at
// it, and the last of them goes on with the job; the caller must not touch the job any more. True:
// job->split.work is NULL unless workers helped.
bool braid_cpu_work_run(struct cpu_backend *backend, struct cpu_job *job, struct cpu_work *work);
// Calls some blocks of it, and notes that.
void braid_cpu_work_call(const struct cpu_work *work, const braid_blocks *blocks);
struct cpu_split *braid_cpu_split_join(struct cpu_backend *backend); // lock held; NULL: none
void braid_cpu_split_participate(struct cpu_split *split);           // lock not held
bool braid_cpu_split_leave(struct cpu_backend *backend,
                           struct cpu_split *split); // lock held; true: last

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

// cpu_pass.c
void braid_cpu_job_make_ready(struct cpu_backend *backend, struct cpu_job *job); // lock held
// Goes on with the job, and with those that this makes ready, as far as no worker is needed.
void braid_cpu_job_pass(struct cpu_backend *backend, struct cpu_job *job);
bool braid_cpu_thread_passes(void); // whether the caller is such a thread

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
struct cpu_work braid_cpu_task_describe(const struct backend_task *task,
                                        const struct cpu_values *values);
// Writes its bytes, one behind the other.
void braid_cpu_task_recapture(const struct backend_task *task, const struct cpu_values *values,
                              unsigned char *bytes);

// cpu_point.c
struct cpu_point *braid_cpu_point_create(struct cpu_backend *backend,
                                         bool timing); // issue lock held; NULL: no memory
// The same of a point that nobody else has a reference to.
void braid_cpu_point_renew(struct cpu_point *point);
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

// cpu_command.c
// Room for a command of so many bytes at the end of the queue, until the next call; NULL: no
// memory. Issue lock held.
struct cpu_command *braid_cpu_command_reserve(struct cpu_backend *backend,
                                              struct cpu_stream *stream, size_t bytes);
// The next to run, of a queue that has one. The walking thread's.
struct cpu_command *braid_cpu_command_next(struct cpu_backend *backend, struct cpu_stream *stream);
void braid_cpu_command_skip(struct cpu_stream *stream); // to the one after that
void braid_cpu_chunks_release(struct cpu_backend *backend,
                              struct cpu_stream *stream); // the stream is idle
// Memory for arguments that do not go into the queue. NULL: there is none. Issue lock held.
struct cpu_block *braid_cpu_block_create(struct cpu_backend *backend, size_t bytes);
unsigned char *braid_cpu_block_bytes(struct cpu_block *block);
void braid_cpu_block_release(struct cpu_backend *backend, struct cpu_block *block); // any thread

// cpu_walk.c
struct cpu_job *braid_cpu_stream_run(struct cpu_backend *backend, struct cpu_job *job,
                                     const struct cpu_point *until); // as cpu_job.run
struct cpu_job *braid_cpu_stream_pass(struct cpu_backend *backend, struct cpu_job *job);

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

// cpu_memory.c
uint64_t braid_cpu_memory_bytes(void); // the machine's; 0: not known

// cpu_kernel.c
// Fills in the call of a work of this kernel, and the place for the time of its blocks.
void braid_cpu_kernel_fill_work(struct backend_kernel *kernel, struct cpu_work *work);

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
