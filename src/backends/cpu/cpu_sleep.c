// SPDX-License-Identifier: Apache-2.0
// Sleeping threads, and which of them is woken.
#include <errno.h>
#include <sched.h>

#include "backends/cpu/cpu.h"

enum { LOOK_AT_MOST = 64 }; // sleepers

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
    for (int i = 0; i < LOOK_AT_MOST && *link && (*link)->core == core; i++)
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

// Counts the threads that are about to look for work: they spin, or were woken and are on their
// way.
uint32_t braid_cpu_num_looking(const struct cpu_backend *backend)
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
    for (uint32_t i = braid_cpu_num_looking(backend); i < num_wanted; i++) {
        if (!braid_cpu_wake_one(backend, &backend->parked))
            return;
        backend->num_waking++;
    }
}

bool braid_cpu_worker_is_idle(const struct cpu_backend *backend)
{
    return atomic_load_explicit(&backend->num_active, memory_order_relaxed) < backend->num_workers;
}
