// SPDX-License-Identifier: Apache-2.0
// Threads for host calls that block: as many as were ever under way at once, since calls may wait
// for each other, and none before the first. They are the device's until it is closed.
#include "backends/gpu/gpu_blocker.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>

#include "backends/gpu/gpu_backend.h"

struct gpu_blocker {
    struct gpu_backend *gpu;
    pthread_t handle;
    sem_t wake;
    void (*call)(void *user); // NULL: stop. Handed over by wake, and so are the next two
    void (*end)(void *user);
    void *user;
    struct gpu_blocker *next;      // guarded by record_lock; of all
    struct gpu_blocker *next_idle; // guarded by record_lock
};

// It is idle before anybody learns that the call has ended: frames that repeat start no thread. The
// next call may be handed over before `end` is called, and waits until then.
static void *thread_main(void *argument)
{
    struct gpu_blocker *blocker = argument;
    struct gpu_backend *gpu = blocker->gpu;
    for (;;) {
        while (sem_wait(&blocker->wake) && errno == EINTR)
            continue;
        void (*end)(void *user) = blocker->end;
        void *user = blocker->user;
        if (!blocker->call)
            return NULL;
        blocker->call(user);
        pthread_mutex_lock(&gpu->record_lock);
        blocker->next_idle = gpu->idle_blockers;
        gpu->idle_blockers = blocker;
        pthread_mutex_unlock(&gpu->record_lock);
        end(user);
    }
}

// Signals are for the program's own threads.
static bool start_thread(struct gpu_blocker *blocker)
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
static struct gpu_blocker *create_blocker(struct gpu_backend *gpu)
{
    struct gpu_blocker *blocker = calloc(1, sizeof(*blocker));
    if (!blocker)
        return NULL;
    blocker->gpu = gpu;
    sem_init(&blocker->wake, 0, 0);
    if (!start_thread(blocker)) {
        sem_destroy(&blocker->wake);
        free(blocker);
        return NULL;
    }
    pthread_mutex_lock(&gpu->record_lock);
    blocker->next = gpu->blockers;
    gpu->blockers = blocker;
    pthread_mutex_unlock(&gpu->record_lock);
    return blocker;
}

static struct gpu_blocker *take_idle(struct gpu_backend *gpu)
{
    pthread_mutex_lock(&gpu->record_lock);
    struct gpu_blocker *blocker = gpu->idle_blockers;
    if (blocker)
        gpu->idle_blockers = blocker->next_idle;
    pthread_mutex_unlock(&gpu->record_lock);
    return blocker;
}

void braid_gpu_blocker_run(struct gpu_backend *gpu, void (*call)(void *user),
                           void (*end)(void *user), void *user)
{
    struct gpu_blocker *blocker = take_idle(gpu);
    if (!blocker)
        blocker = create_blocker(gpu);
    if (!blocker) {
        call(user);
        end(user);
        return;
    }
    blocker->call = call;
    blocker->end = end;
    blocker->user = user;
    sem_post(&blocker->wake);
}

void braid_gpu_blockers_stop(struct gpu_backend *gpu)
{
    while (gpu->blockers) {
        struct gpu_blocker *blocker = gpu->blockers;
        gpu->blockers = blocker->next;
        blocker->call = NULL;
        sem_post(&blocker->wake);
        pthread_join(blocker->handle, NULL);
        sem_destroy(&blocker->wake);
        free(blocker);
    }
    gpu->idle_blockers = NULL;
}
