// SPDX-License-Identifier: Apache-2.0
// Threads for calls that block, which sleep until they are handed one.
#include "base/blockers.h"

#include <errno.h>
#include <semaphore.h>

#include "base/host_memory.h"
#include "base/own_threads.h"

struct blocker {
    struct blockers *blockers;
    struct own_thread thread;
    sem_t wake;
    void *user;                // the next call's, handed over by wake; NULL: the thread ends
    struct blocker *next;      // guarded by lock; of all
    struct blocker *next_idle; // guarded by lock
};

// It is idle before anybody learns that the call has ended: frames that repeat start no thread. The
// next call may be handed over before `end` is called, and waits until then. A call that was handed
// over is made, also if the thread is to end by now.
static void *thread_main(void *argument)
{
    struct blocker *blocker = argument;
    struct blockers *blockers = blocker->blockers;
    for (;;) {
        while (sem_wait(&blocker->wake) && errno == EINTR)
            continue;
        void *user = blocker->user;
        blocker->user = NULL;
        if (!user)
            return NULL;
        blockers->call(user);
        pthread_mutex_lock(&blockers->lock);
        blocker->next_idle = blockers->idle;
        blockers->idle = blocker;
        pthread_mutex_unlock(&blockers->lock);
        if (blockers->end)
            blockers->end(blockers->owner, user);
    }
}

// On any thread, one of the driver's too. NULL: no memory, or the system has no thread.
static struct blocker *create_blocker(struct blockers *blockers)
{
    HOST_MEMORY(blockers->allocator);
    struct blocker *blocker = braid_allocate_pages(sizeof(*blocker));
    if (!blocker)
        return NULL;
    blocker->blockers = blockers;
    sem_init(&blocker->wake, 0, 0);
    if (braid_own_thread_start(&blocker->thread, "braid-block", thread_main, blocker)) {
        sem_destroy(&blocker->wake);
        braid_free(blocker);
        return NULL;
    }
    pthread_mutex_lock(&blockers->lock);
    blocker->next = blockers->all;
    blockers->all = blocker;
    pthread_mutex_unlock(&blockers->lock);
    return blocker;
}

static struct blocker *take_idle(struct blockers *blockers)
{
    pthread_mutex_lock(&blockers->lock);
    struct blocker *blocker = blockers->idle;
    if (blocker)
        blockers->idle = blocker->next_idle;
    pthread_mutex_unlock(&blockers->lock);
    return blocker;
}

void braid_blockers_init(struct blockers *blockers, void (*call)(void *user),
                         void (*end)(void *owner, void *user), void *owner)
{
    *blockers = (struct blockers){
        .call = call, .end = end, .owner = owner, .allocator = braid_host_allocator_in_force
    };
    pthread_mutex_init(&blockers->lock, NULL);
}

bool braid_blockers_run(struct blockers *blockers, void *user)
{
    struct blocker *blocker = take_idle(blockers);
    if (!blocker)
        blocker = create_blocker(blockers);
    if (!blocker)
        return false;
    blocker->user = user;
    sem_post(&blocker->wake);
    return true;
}

void braid_blockers_finish(struct blockers *blockers)
{
    while (blockers->all) {
        struct blocker *blocker = blockers->all;
        blockers->all = blocker->next;
        sem_post(&blocker->wake);
        braid_own_thread_join(&blocker->thread);
        sem_destroy(&blocker->wake);
        braid_free(blocker);
    }
    blockers->idle = NULL;
    pthread_mutex_destroy(&blockers->lock);
}
