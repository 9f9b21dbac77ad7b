// SPDX-License-Identifier: Apache-2.0
// The worker threads: they take ready jobs, help with large grids, and sleep when there is nothing.
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "backends/cpu/cpu.h"
#include "base/array.h"
#include "base/error.h"
#include "base/host_memory.h"
#include "base/inside.h"

// ---- short waits ----

enum { LOOK_NS = 4000 }; // between two looks at who else is on the core

void braid_cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#else
    atomic_signal_fence(memory_order_seq_cst);
#endif
}

// Sleeping is a cancellation point, and calls that wait for work are none.
void braid_cpu_give_way(void)
{
    int cancel_state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    nanosleep(&(struct timespec){ .tv_nsec = 10000 }, NULL);
    pthread_setcancelstate(cancel_state, NULL);
}

struct cpu_spin braid_cpu_spin_begin(void)
{
    uint64_t now_ns = clock_now_ns();
    return (struct cpu_spin){ .look_ns = now_ns + LOOK_NS, .end_ns = now_ns + CPU_SPIN_NS };
}

// A thread that spins on the core of another keeps it from that one. It had better sleep than
// yield: one that yields counts as about to look for work for as long as the other runs.
bool braid_cpu_spin_goes_on(struct cpu_backend *backend, struct cpu_spin *spin)
{
    uint64_t now_ns = clock_now_ns();
    if (now_ns < spin->look_ns)
        return true;
    if (now_ns >= spin->end_ns)
        return false;
    spin->look_ns = now_ns + LOOK_NS;
    return !braid_cpu_seat_is_shared(backend);
}

// Polls until *word is no longer `seen` (true) or the spin is over (false).
static bool cpu_spin_while_equal(struct cpu_backend *backend, const atomic_uint *word,
                                 unsigned seen)
{
    struct cpu_spin spin = braid_cpu_spin_begin();
    do {
        for (int i = 0; i < 16; i++) {
            if (atomic_load_explicit(word, memory_order_acquire) != seen)
                return true;
            braid_cpu_relax();
        }
    } while (braid_cpu_spin_goes_on(backend, &spin));
    return false;
}

// ---- sleeping threads, and which of them is woken ----

enum { SLEEPERS_LOOKED_AT = 64 }; // sleepers

void braid_cpu_sleeper_init(struct cpu_sleeper *sleeper)
{
    sem_init(&sleeper->wake, 0, 0);
    sleeper->core = -1;
    sleeper->seat = NULL;
    sleeper->next = NULL;
}

void braid_cpu_sleeper_finish(struct cpu_sleeper *sleeper)
{
    sem_destroy(&sleeper->wake);
}

void braid_cpu_sleep(struct cpu_backend *backend, struct cpu_sleeper *sleeper,
                     struct cpu_sleeper **list)
{
    sleeper->core = sched_getcpu();
    sleeper->next = *list;
    *list = sleeper;
    cpu_unlock(backend);
    while (sem_wait(&sleeper->wake) && errno == EINTR)
        continue;
    cpu_lock(backend);
}

// Systems put a woken thread on its last core or on its waker's, even if another core is idle. So
// threads that ran elsewhere come first, and of these the one that slept last.
bool braid_cpu_wake_one(struct cpu_backend *backend, struct cpu_sleeper **list)
{
    int core = sched_getcpu();
    struct cpu_sleeper **link = list;
    for (int i = 0; i < SLEEPERS_LOOKED_AT && *link && (*link)->core == core; i++)
        link = &(*link)->next;
    if (!*link)
        link = list;
    struct cpu_sleeper *sleeper = *link;
    if (!sleeper)
        return false;
    *link = sleeper->next;
    sleeper->next = backend->woken;
    backend->woken = sleeper;
    return true;
}

void braid_cpu_wake_all(struct cpu_backend *backend, struct cpu_sleeper **list)
{
    while (braid_cpu_wake_one(backend, list))
        continue;
}

// A sleeper may be gone as soon as it is woken.
void braid_cpu_post_all(struct cpu_backend *backend, struct cpu_sleeper *woken)
{
    while (woken) {
        struct cpu_sleeper *next = woken->next;
        if (woken->seat)
            braid_cpu_seat_wake(backend, woken);
        else
            sem_post(&woken->wake);
        woken = next;
    }
}

// Workers; lock held.
// Counts the threads that are about to look for work: they spin, or were woken and are on their
// way.
static uint32_t cpu_num_looking(const struct cpu_backend *backend)
{
    return backend->num_spinning + backend->num_waking;
}

// Threads that look for work see the new epoch, or come to it; sleepers are woken for the rest. No
// sleeper is overlooked: a thread looks for work under lock before it sleeps and as soon as it
// wakes. Waking a second thread for the work of one on its way is worse than useless. The first was
// put on the free core, so the second lands on its waker's core and takes time from it.
void braid_cpu_workers_wake(struct cpu_backend *backend, uint32_t num_wanted)
{
    atomic_fetch_add_explicit(&backend->epoch, 1, memory_order_release);
    for (uint32_t i = cpu_num_looking(backend); i < num_wanted; i++) {
        if (!braid_cpu_wake_one(backend, &backend->parked))
            return;
        backend->num_waking++;
    }
}

bool braid_cpu_worker_is_idle(const struct cpu_backend *backend)
{
    return atomic_load_explicit(&backend->num_active, memory_order_relaxed) < backend->num_workers;
}

// ---- splitting the grid of one kernel over idle workers ----

enum {
    SPLIT_MIN_NS = 5000, // less than this left to do is done faster than help can be called
    CHUNK_MIN_NS = 2000, // chunks no shorter than this, so that claiming them costs little
    CHUNKS_A_WORKER = 4, // so that all end at about the same time
};

void braid_cpu_work_call(const struct cpu_work *work, const braid_blocks *blocks)
{
    struct note *note = work->note;
    if (note && note_is_cancelled(work->cancelled))
        return;
    if (note)
        atomic_fetch_add_explicit(&note->begun, 1, memory_order_relaxed);
    work->call(blocks, work->args);
    if (note)
        atomic_fetch_add_explicit(&note->ended, 1, memory_order_relaxed);
}

static void run_blocks(const struct cpu_work *work, uint64_t begin, uint64_t end)
{
    braid_blocks blocks = work->blocks;
    blocks.begin = begin;
    blocks.end = end;
    braid_cpu_work_call(work, &blocks);
}

// Runs blocks and learns from them.
static uint64_t time_blocks(const struct cpu_work *work, uint64_t begin, uint64_t end)
{
    uint64_t start_ns = clock_now_ns();
    run_blocks(work, begin, end);
    uint64_t block_ns = (clock_now_ns() - start_ns) / (end - begin);
    if (work->block_ns)
        atomic_store_explicit(work->block_ns, block_ns, memory_order_relaxed);
    return block_ns;
}

// Lock not held.
static void cpu_split_participate(struct cpu_split *split)
{
    uint64_t end = split->work->blocks.end;
    for (;;) {
        uint64_t begin =
            atomic_fetch_add_explicit(&split->next_block, split->chunk, memory_order_relaxed);
        if (begin >= end)
            return;
        time_blocks(split->work, begin, end - begin < split->chunk ? end : begin + split->chunk);
    }
}

// Lock held; NULL: none.
static struct cpu_split *cpu_split_join(struct cpu_backend *backend)
{
    for (struct cpu_split *split = backend->open_splits; split; split = split->next_open) {
        uint64_t next = atomic_load_explicit(&split->next_block, memory_order_relaxed);
        if (next >= split->work->blocks.end)
            continue;
        split->num_participants++;
        return split;
    }
    return NULL;
}

static void close_split(struct cpu_backend *backend, struct cpu_split *split)
{
    struct cpu_split **link = &backend->open_splits;
    while (*link != split)
        link = &(*link)->next_open;
    *link = split->next_open;
    split->open = false;
}

// Lock held; true: last.
// Leaving happens under the lock, so the last to leave sees all that the others wrote.
static bool cpu_split_leave(struct cpu_backend *backend, struct cpu_split *split)
{
    if (split->open)
        close_split(backend, split);
    return --split->num_participants == 0;
}

static bool run_shared(struct cpu_backend *backend, struct cpu_job *job,
                       const struct cpu_work *work, uint64_t next_block, uint64_t chunk)
{
    struct cpu_split *split = &job->split;
    split->job = job;
    split->work = work;
    split->chunk = chunk;
    atomic_store_explicit(&split->next_block, next_block, memory_order_relaxed);
    split->num_participants = 1;
    split->open = true;
    uint64_t num_chunks = (work->blocks.end - next_block - 1) / chunk + 1;
    cpu_lock(backend);
    split->next_open = backend->open_splits;
    backend->open_splits = split;
    uint32_t num_active = backend->num_heads + backend->num_helpers;
    uint64_t num_idle = num_active < backend->num_workers ? backend->num_workers - num_active : 0;
    braid_cpu_workers_wake(backend,
                           (uint32_t)(num_idle < num_chunks - 1 ? num_idle : num_chunks - 1));
    cpu_unlock(backend);

    cpu_split_participate(split);
    cpu_lock(backend);
    bool last = cpu_split_leave(backend, split);
    cpu_unlock(backend);
    return last;
}

static uint64_t choose_chunk(const struct cpu_backend *backend, uint64_t num_blocks,
                             uint64_t block_ns)
{
    uint64_t chunk = num_blocks / ((uint64_t)backend->num_workers * CHUNKS_A_WORKER);
    uint64_t least = CHUNK_MIN_NS / (block_ns + 1) + 1;
    return chunk > least ? chunk : least;
}

static bool is_worth_help(uint64_t num_blocks, uint64_t block_ns)
{
    return num_blocks > SPLIT_MIN_NS / (block_ns + 1);
}

// Blocks from `next` on. A worker may become idle at any time, so each chunk is done alone only
// while all are busy.
static bool run_rest(struct cpu_backend *backend, struct cpu_job *job, const struct cpu_work *work,
                     uint64_t next, uint64_t block_ns)
{
    uint64_t num_blocks = work->blocks.end;
    uint64_t chunk = choose_chunk(backend, num_blocks - next, block_ns);
    while (num_blocks - next > chunk) {
        if (braid_cpu_worker_is_idle(backend))
            return run_shared(backend, job, work, next, chunk);
        time_blocks(work, next, next + chunk);
        next += chunk;
    }
    time_blocks(work, next, num_blocks);
    return true;
}

// Whether help pays is known from the kernel's last run; else the first blocks are timed.
bool braid_cpu_work_run(struct cpu_backend *backend, struct cpu_job *job, struct cpu_work *work)
{
    job->split.work = NULL;
    if (work->grid_from)
        braid_cpu_work_read_grid(work);
    uint64_t num_blocks = work->blocks.end;
    if (num_blocks == 0)
        return true;
    if (work->is_blocking)
        return braid_cpu_blocker_run(backend, job, work);
    if (num_blocks == 1 || backend->num_workers == 1 || work->is_whole) {
        braid_cpu_work_call(work, &work->blocks);
        return true;
    }
    uint64_t known_ns =
        work->block_ns ? atomic_load_explicit(work->block_ns, memory_order_relaxed) : 0;
    if (known_ns && is_worth_help(num_blocks - 1, known_ns))
        return run_rest(backend, job, work, 0, known_ns);
    uint64_t next = num_blocks / 64 + 1;
    uint64_t block_ns = time_blocks(work, 0, next);
    if (next == num_blocks)
        return true;
    if (is_worth_help(num_blocks - next, block_ns))
        return run_rest(backend, job, work, next, block_ns);
    run_blocks(work, next, num_blocks);
    return true;
}

// ---- workers ----

enum { LOOK_AT_MOST = 64 }; // ready jobs

static const char what_runs[] = "a kernel or host call of the CPU";

// Forward progress. Up to num_workers jobs (heads of streams, lanes) run at once. So kernels that
// wait for each other on that many streams all run. A thread that helps with another job's grid may
// be stuck as long as the kernel likes. So helpers must not use up the threads that heads need:
// - a thread becomes a helper only while heads + helpers < num_workers. The job that owns the grid
//   is one of those heads, so helpers <= num_workers - 1;
// - a thread takes a job only while heads < num_workers;
// - a helper that finishes a grid last goes on with its job: heads + 1, helpers - 1.
// So heads + helpers <= 2 * num_workers - 1 at all times. With that many threads, some thread is
// free whenever heads < num_workers and a job is ready. The spare threads sleep unless a helper is
// held up.

void braid_cpu_job_list_append(struct cpu_job_list *list, struct cpu_job *job)
{
    job->next = NULL;
    if (list->last)
        list->last->next = job;
    else
        list->first = job;
    list->last = job;
}

struct cpu_job *braid_cpu_job_list_take(struct cpu_job_list *list)
{
    struct cpu_job *job = list->first;
    if (!job)
        return NULL;
    list->first = job->next;
    if (!list->first)
        list->last = NULL;
    job->next = NULL;
    return job;
}

static void count_ready(struct cpu_backend *backend, int change)
{
    unsigned num_ready = atomic_load_explicit(&backend->num_ready, memory_order_relaxed);
    atomic_store_explicit(&backend->num_ready, num_ready + (unsigned)change, memory_order_relaxed);
}

// A thread that stops being a head looks for the next job itself. So no thread is wanted for jobs
// beyond those that may run now.
static uint32_t num_jobs_to_run(const struct cpu_backend *backend)
{
    uint32_t num_ready = atomic_load_explicit(&backend->num_ready, memory_order_relaxed);
    if (backend->num_heads >= backend->num_workers)
        return 0;
    uint32_t num_free = backend->num_workers - backend->num_heads;
    return num_ready < num_free ? num_ready : num_free;
}

static uint32_t num_workers_wanted(const struct cpu_backend *backend, const struct cpu_job *stream)
{
    uint32_t num_jobs = num_jobs_to_run(backend),
             num_lending = stream->num_hosts - stream->num_busy;
    return num_jobs > num_lending ? num_jobs - num_lending : 0;
}

void braid_cpu_job_queue(struct cpu_backend *backend, struct cpu_job *job)
{
    braid_cpu_job_list_append(&backend->ready[job->urgency], job);
    count_ready(backend, 1);
    if (backend->num_heads < backend->num_workers)
        atomic_fetch_add_explicit(&backend->epoch, 1, memory_order_release);
}

bool braid_cpu_workers_are_short(const struct cpu_backend *backend, const struct cpu_job *stream)
{
    return num_workers_wanted(backend, stream) > cpu_num_looking(backend);
}

void braid_cpu_workers_wake_for(struct cpu_backend *backend, const struct cpu_job *stream)
{
    if (braid_cpu_workers_are_short(backend, stream))
        braid_cpu_workers_wake(backend, num_workers_wanted(backend, stream));
}

void braid_cpu_job_hand_over(struct cpu_backend *backend, struct cpu_job *job)
{
    braid_cpu_job_queue(backend, job);
    braid_cpu_workers_wake_for(backend, job->stream);
}

bool braid_cpu_other_work_is_ready(const struct cpu_backend *backend)
{
    return atomic_load_explicit(&backend->num_ready, memory_order_relaxed) != 0;
}

static void count_active(struct cpu_backend *backend, int heads, int helpers)
{
    backend->num_heads += (uint32_t)heads;
    backend->num_helpers += (uint32_t)helpers;
    atomic_store_explicit(&backend->num_active, backend->num_heads + backend->num_helpers,
                          memory_order_relaxed);
}

static struct cpu_job *take_job(struct cpu_backend *backend)
{
    if (backend->num_heads >= backend->num_workers)
        return NULL;
    for (int i = 0; i < CPU_NUM_URGENCIES; i++) {
        struct cpu_job *job = braid_cpu_job_list_take(&backend->ready[i]);
        if (!job)
            continue;
        count_ready(backend, -1);
        return job;
    }
    return NULL;
}

// Called and left with the lock held; the thread counts as a head meanwhile.
static void run_jobs(struct cpu_backend *backend, struct cpu_job *job,
                     const struct cpu_point *until)
{
    struct inside inside; // here and not for each kernel, which may take 5 ns
    braid_inside_begin(&inside, what_runs, NULL);
    count_active(backend, 1, 0);
    cpu_unlock(backend);
    braid_cpu_seat_part(backend);
    while (job)
        job = job->run(backend, job, until);
    count_active(backend, -1, 0);
    braid_inside_end(&inside);
}

// The first ready job of a stream, among the first few: a waiting thread must not search for long.
// More urgent work of others goes first.
static struct cpu_job *take_job_of(struct cpu_backend *backend, const struct cpu_job *stream)
{
    for (uint32_t i = 0; i < stream->urgency; i++)
        if (backend->ready[i].first)
            return NULL;
    struct cpu_job_list *list = &backend->ready[stream->urgency];
    struct cpu_job *before = NULL, *job = list->first;
    for (int i = 0; i < LOOK_AT_MOST && job && job->stream != stream; i++) {
        before = job;
        job = job->next;
    }
    if (!job || job->stream != stream)
        return NULL;
    if (before)
        before->next = job->next;
    else
        list->first = job->next;
    if (list->last == job)
        list->last = before;
    job->next = NULL;
    count_ready(backend, -1);
    return job;
}

// A worker that stops being a head looks for the next job itself, and jobs that became ready
// meanwhile have counted on that. A thread of the program goes its own way, so it wakes a worker.
static void pass_on_place(struct cpu_backend *backend)
{
    uint32_t num_jobs = num_jobs_to_run(backend);
    if (num_jobs)
        braid_cpu_workers_wake(backend, num_jobs);
}

// All work queued before a point must run before the point is reached. So a thread that runs this
// work waits for nothing more than it would anyway.
bool braid_cpu_workers_lend_hand(struct cpu_backend *backend, const struct cpu_point *point)
{
    if (backend->num_heads >= backend->num_workers)
        return false;
    struct cpu_job *job = take_job_of(backend, point->stream);
    if (!job)
        return false;
    point->stream->num_busy++;
    run_jobs(backend, job, point);
    point->stream->num_busy--;
    pass_on_place(backend);
    return true;
}

void braid_cpu_workers_begin_lending(struct cpu_job *stream)
{
    stream->num_hosts++;
}

void braid_cpu_workers_end_lending(struct cpu_backend *backend, struct cpu_job *stream)
{
    stream->num_hosts--;
    pass_on_place(backend);
}

static void help(struct cpu_backend *backend, struct cpu_split *split)
{
    struct inside inside;
    braid_inside_begin(&inside, what_runs, NULL);
    count_active(backend, 0, 1);
    cpu_unlock(backend);
    braid_cpu_seat_part(backend);
    cpu_split_participate(split);
    cpu_lock(backend);
    braid_inside_end(&inside);
    count_active(backend, 0, -1);
    struct cpu_job *job = split->job;
    if (cpu_split_leave(backend, split))
        run_jobs(backend, job, NULL);
}

// Lock held, as in all below. False: there was nothing to do.
static bool run_something(struct cpu_backend *backend)
{
    struct cpu_job *job = take_job(backend);
    if (job) {
        run_jobs(backend, job, NULL);
        return true;
    }
    if (backend->num_heads + backend->num_helpers >= backend->num_workers)
        return false;
    struct cpu_split *split = cpu_split_join(backend);
    if (!split)
        return false;
    help(backend, split);
    return true;
}

// No more threads spin than there are workers without work.
static bool may_spin(const struct cpu_backend *backend)
{
    return backend->num_spinning + backend->num_heads + backend->num_helpers < backend->num_workers;
}

// False: nothing has happened for as long as a thread spins.
static bool spin(struct cpu_backend *backend)
{
    unsigned seen = atomic_load_explicit(&backend->epoch, memory_order_relaxed);
    backend->num_spinning++;
    cpu_unlock(backend);
    bool changed =
        braid_cpu_seat_part(backend) && cpu_spin_while_equal(backend, &backend->epoch, seen);
    cpu_lock(backend);
    backend->num_spinning--;
    return changed;
}

static void park(struct cpu_backend *backend, struct cpu_sleeper *sleeper)
{
    backend->num_parked++;
    braid_cpu_sleep(backend, sleeper, &backend->parked);
    backend->num_parked--;
    backend->num_waking--;
}

bool braid_cpu_worker_is_in_the_way(struct cpu_backend *backend)
{
    bool in_the_way = backend->in_the_way;
    backend->in_the_way = false;
    return in_the_way;
}

static void *thread_main(void *argument)
{
    struct cpu_thread *thread = argument;
    struct cpu_backend *backend = thread->backend;
    struct cpu_sleeper sleeper;
    braid_cpu_sleeper_init(&sleeper);
    atomic_store_explicit(&thread->seat.thread, gettid(), memory_order_relaxed);
    braid_cpu_seat_take(backend, &thread->seat);
    sleeper.seat = &thread->seat;
    cpu_lock(backend);
    bool has_spun = false;
    while (!backend->stop) {
        if (run_something(backend)) {
            has_spun = braid_cpu_worker_is_in_the_way(backend);
        } else if (!has_spun && may_spin(backend)) {
            has_spun = !spin(backend); // if another thread was faster, there may be more to come
        } else {
            braid_cpu_seat_leave(backend);
            park(backend, &sleeper);
            braid_cpu_seat_take(backend, &thread->seat);
            has_spun = false;
        }
    }
    braid_cpu_seat_leave(backend);
    cpu_unlock(backend);
    braid_cpu_sleeper_finish(&sleeper);
    return NULL;
}

static braid_status start_thread(struct cpu_backend *backend)
{
    uint32_t index = backend->num_threads;
    struct cpu_thread *thread = &backend->threads[index];
    char name[16];
    snprintf(name, sizeof(name), "braid-cpu-%u", index % 10000);
    int error = braid_own_thread_start(&thread->own, name, thread_main, thread);
    if (error)
        return braid_error(BRAID_UNAVAILABLE, "cpu: cannot start worker thread %u (error %d)",
                           index, error);
    backend->num_threads++;
    return BRAID_OK;
}

braid_status braid_cpu_workers_start(struct cpu_backend *backend)
{
    uint32_t num_threads = cpu_num_threads(backend);
    backend->threads = braid_allocate_zeroed(num_threads, sizeof(*backend->threads));
    if (!backend->threads)
        return braid_error_no_memory("the cpu workers");
    for (uint32_t i = 0; i < num_threads; i++) {
        backend->threads[i].backend = backend;
        braid_cpu_seat_init(&backend->threads[i].seat);
    }
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < num_threads && status == BRAID_OK; i++)
        status = start_thread(backend);
    return status;
}

void braid_cpu_workers_stop(struct cpu_backend *backend)
{
    cpu_lock(backend);
    backend->stop = true;
    braid_cpu_workers_wake(backend, UINT32_MAX);
    cpu_unlock(backend);
    for (uint32_t i = 0; i < backend->num_threads; i++)
        braid_own_thread_join(&backend->threads[i].own);
    braid_free(backend->threads);
}
