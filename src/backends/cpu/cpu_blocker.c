// SPDX-License-Identifier: Apache-2.0
// Work that blocks takes no worker: a call has a thread of its own, an operation between ranks
// none.
#include <sched.h>

#include "backends/cpu/cpu.h"
#include "base/inside.h"

// ---- passing on ----

// Passing jobs on: a thread that has made a blocking call goes on with the jobs behind the call.

// The end of a blocking call mostly begins the next one: a reader's of the next frame, or the
// writer's that waited for it. Waking three threads, to publish the end, to hand over the next call
// and to make it, takes longer than many calls. It takes longer still where all workers are busy.
// So the thread goes on by itself as long as no code of the program must run. It publishes, reaches
// points, starts launches, and begins the due calls, the first of which it makes itself. That call
// and the thread's other jobs wait for it meanwhile. So the thread polls for nothing, and gives a
// stream back to the workers when its turn is over.

// The jobs that are ready, on a thread that passes jobs on; NULL: on another.
static _Thread_local struct cpu_job_list *passed;

bool braid_cpu_thread_passes(void)
{
    return passed;
}

void braid_cpu_job_make_ready(struct cpu_backend *backend, struct cpu_job *job)
{
    if (passed)
        braid_cpu_job_list_append(passed, job);
    else
        braid_cpu_job_hand_over(backend, job);
}

// Goes on with the job, and with those that this makes ready, as far as no worker is needed.
static void cpu_job_pass(struct cpu_backend *backend, struct cpu_job *job)
{
    struct cpu_job_list ready = { 0 };
    passed = &ready;
    while (job) {
        struct cpu_job *next = job->pass(backend, job);
        if (next) {
            cpu_lock(backend);
            braid_cpu_job_list_append(&ready, next);
        }
        job = braid_cpu_job_list_take(&ready);
        if (job)
            cpu_unlock(backend);
    }
    passed = NULL;
    cpu_unlock(backend);
}

// ---- blocking work ----

static void make_call(const struct cpu_work *work)
{
    struct inside inside;
    braid_inside_begin(&inside, "a host call of the CPU", NULL);
    braid_cpu_work_call(work, &work->blocks);
    braid_inside_end(&inside);
}

static void call_of_job(void *user)
{
    const struct cpu_job *job = user;
    make_call(job->split.work);
}

static void go_on(void *backend, void *job)
{
    cpu_job_pass(backend, job);
}

static void note_end(const struct cpu_work *work)
{
    if (work->note)
        atomic_fetch_add_explicit(&work->note->ended, 1, memory_order_relaxed);
}

// On the communication thread, which may be in here still when the job is long done.
static void resume(void *of, void *job)
{
    struct cpu_backend *backend = of;
    note_end(((struct cpu_job *)job)->split.work);
    cpu_lock(backend);
    braid_cpu_job_hand_over(backend, job);
    cpu_unlock(backend);
    atomic_fetch_sub_explicit(&backend->num_resuming, 1, memory_order_release);
}

// Counted as resuming from before anybody can.
static bool await(struct cpu_backend *backend, struct cpu_job *job, const struct cpu_work *work)
{
    atomic_fetch_add_explicit(&backend->num_resuming, 1, memory_order_relaxed);
    job->split.work = work;
    if (work->note)
        atomic_fetch_add_explicit(&work->note->begun, 1, memory_order_relaxed);
    if (!work->awaits->ops->await(work->awaits, resume, backend, job))
        return false;
    atomic_fetch_sub_explicit(&backend->num_resuming, 1, memory_order_relaxed);
    note_end(work);
    return true;
}

bool braid_cpu_blocker_begin(struct cpu_backend *backend, struct cpu_job *job,
                             const struct cpu_work *work)
{
    if (!work->is_blocking || work->awaits)
        return false;
    job->split.work = work;
    return braid_blockers_run(&backend->blockers, job);
}

bool braid_cpu_blocker_run(struct cpu_backend *backend, struct cpu_job *job,
                           const struct cpu_work *work)
{
    if (work->awaits)
        return await(backend, job, work);
    if (braid_cpu_blocker_begin(backend, job, work))
        return false;
    make_call(work);
    return true;
}

void braid_cpu_blockers_start(struct cpu_backend *backend)
{
    braid_blockers_init(&backend->blockers, call_of_job, go_on, backend);
}

void braid_cpu_blockers_stop(struct cpu_backend *backend)
{
    while (atomic_load_explicit(&backend->num_resuming, memory_order_acquire))
        sched_yield();
    braid_blockers_finish(&backend->blockers);
}
