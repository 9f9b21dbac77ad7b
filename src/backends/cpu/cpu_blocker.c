// SPDX-License-Identifier: Apache-2.0
// Threads for host calls that block: such a call takes no worker.
#include "backends/cpu/cpu.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

#include "base/inside.h"
#include "rank/operation.h"

// Calls may wait for each other, so each that is under way has a thread: as many are started as
// were ever under way at once, and none before the first. All are the device's until it is closed.
struct cpu_blocker {
    struct cpu_backend *backend;
    pthread_t handle;
    sem_t wake;
    struct cpu_job *job;           // what goes on behind the call; NULL: stop. Handed over by wake
    const struct cpu_work *work;   // likewise; belongs to the job
    struct cpu_blocker *next;      // lock; of all
    struct cpu_blocker *next_idle; // lock
};

static void make_call(const struct cpu_work *work)
{
    struct inside inside;
    braid_inside_begin(&inside, "a host call of the CPU", NULL);
    work->call(&work->blocks, work->args);
    braid_inside_end(&inside);
}

// The thread is idle before anybody learns that the call has ended: a frame that repeats itself
// starts no thread.
static void *thread_main(void *argument)
{
    struct cpu_blocker *blocker = argument;
    struct cpu_backend *backend = blocker->backend;
    for (;;) {
        while (sem_wait(&blocker->wake) && errno == EINTR)
            continue;
        struct cpu_job *job = blocker->job;
        if (!job)
            return NULL;
        make_call(blocker->work);
        cpu_lock(backend);
        blocker->next_idle = backend->idle_blockers;
        backend->idle_blockers = blocker;
        braid_cpu_job_make_ready(backend, job);
        cpu_unlock(backend);
    }
}

// Signals are for the program's own threads.
static bool start_thread(struct cpu_blocker *blocker)
{
    sigset_t all, previous;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &previous);
    int error = pthread_create(&blocker->handle, NULL, thread_main, blocker);
    pthread_sigmask(SIG_SETMASK, &previous, NULL);
    if (!error)
        pthread_setname_np(blocker->handle, "braid-block");
    return !error;
}

// NULL: no memory, or the system has no thread.
static struct cpu_blocker *create_blocker(struct cpu_backend *backend)
{
    struct cpu_blocker *blocker = calloc(1, sizeof(*blocker));
    if (!blocker)
        return NULL;
    blocker->backend = backend;
    sem_init(&blocker->wake, 0, 0);
    if (!start_thread(blocker)) {
        sem_destroy(&blocker->wake);
        free(blocker);
        return NULL;
    }
    cpu_lock(backend);
    blocker->next = backend->blockers;
    backend->blockers = blocker;
    cpu_unlock(backend);
    return blocker;
}

static struct cpu_blocker *take_idle(struct cpu_backend *backend)
{
    cpu_lock(backend);
    struct cpu_blocker *blocker = backend->idle_blockers;
    if (blocker)
        backend->idle_blockers = blocker->next_idle;
    cpu_unlock(backend);
    return blocker;
}

// On the communication thread, which may be in here still when the job is long done.
static void resume(void *of, void *job)
{
    struct cpu_backend *backend = of;
    cpu_lock(backend);
    braid_cpu_job_make_ready(backend, job);
    cpu_unlock(backend);
    atomic_fetch_sub_explicit(&backend->num_resuming, 1, memory_order_release);
}

// Counted as resuming from before anybody can.
static bool await(struct cpu_backend *backend, struct cpu_job *job, const struct cpu_work *work)
{
    atomic_fetch_add_explicit(&backend->num_resuming, 1, memory_order_relaxed);
    if (!braid_rank_operation_await(work->awaits, resume, backend, job))
        return false;
    atomic_fetch_sub_explicit(&backend->num_resuming, 1, memory_order_relaxed);
    return true;
}

bool braid_cpu_blocker_run(struct cpu_backend *backend, struct cpu_job *job,
                           const struct cpu_work *work)
{
    if (work->awaits)
        return await(backend, job, work);
    struct cpu_blocker *blocker = take_idle(backend);
    if (!blocker)
        blocker = create_blocker(backend);
    if (!blocker) {
        make_call(work);
        return true;
    }
    blocker->job = job;
    blocker->work = work;
    sem_post(&blocker->wake);
    return false;
}

void braid_cpu_blockers_stop(struct cpu_backend *backend)
{
    while (atomic_load_explicit(&backend->num_resuming, memory_order_acquire))
        sched_yield();
    while (backend->blockers) {
        struct cpu_blocker *blocker = backend->blockers;
        backend->blockers = blocker->next;
        blocker->job = NULL;
        sem_post(&blocker->wake);
        pthread_join(blocker->handle, NULL);
        sem_destroy(&blocker->wake);
        free(blocker);
    }
    backend->idle_blockers = NULL;
}
