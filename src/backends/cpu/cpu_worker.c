// SPDX-License-Identifier: Apache-2.0
// The worker threads: they take ready jobs, help with large grids, and sleep when there is nothing.
#include "backends/cpu/cpu.h"

#include <stdio.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/inside.h"

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
    return num_workers_wanted(backend, stream) > braid_cpu_num_looking(backend);
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
    braid_cpu_split_participate(split);
    cpu_lock(backend);
    braid_inside_end(&inside);
    count_active(backend, 0, -1);
    struct cpu_job *job = split->job;
    if (braid_cpu_split_leave(backend, split))
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
    struct cpu_split *split = braid_cpu_split_join(backend);
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
        braid_cpu_seat_part(backend) && braid_cpu_spin_while_equal(backend, &backend->epoch, seen);
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
    free(backend->threads);
}
