// SPDX-License-Identifier: Apache-2.0
// Work that blocks takes no worker: a call has a thread of its own, an operation between ranks
// none.
#include "backends/cpu/cpu.h"

#include <sched.h>

#include "base/inside.h"

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
    braid_cpu_job_pass(backend, job);
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
