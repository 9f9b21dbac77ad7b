// SPDX-License-Identifier: Apache-2.0
// Threads that Braid starts, and whether the program's code runs on them.
#include "base/own_threads.h"

#include <sched.h>
#include <unistd.h>

#include "base/signals.h"

enum { NO_THREAD = -1 };

// Threads are state of the process, and their numbers lead to no object of Braid's.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct own_thread *all; // guarded by lock

static _Thread_local struct own_thread *current; // NULL: the program has started the thread

static void *thread_main(void *argument)
{
    struct own_thread *own = current = argument;
    atomic_store(&own->number, gettid());
    void *result = own->main(own->argument);
    atomic_store(&own->number, NO_THREAD); // the system may give it to another thread
    return result;
}

static void take_out(const struct own_thread *own)
{
    pthread_mutex_lock(&lock);
    struct own_thread **link = &all;
    while (*link != own)
        link = &(*link)->next;
    *link = own->next;
    pthread_mutex_unlock(&lock);
}

int braid_own_thread_start(struct own_thread *own, const char *name, void *(*main)(void *argument),
                           void *argument)
{
    sigset_t previous;
    own->main = main;
    own->argument = argument;
    atomic_init(&own->number, 0);
    atomic_init(&own->num_changes, 0);
    pthread_mutex_lock(&lock);
    own->next = all;
    all = own;
    pthread_mutex_unlock(&lock);
    signals_block(&previous);
    int error = pthread_create(&own->handle, NULL, thread_main, own);
    signals_restore(&previous);
    if (error) {
        atomic_store(&own->number, NO_THREAD); // who looks for a thread waits for the number
        take_out(own);
    } else {
        pthread_setname_np(own->handle, name);
    }
    return error;
}

void braid_own_thread_join(struct own_thread *own)
{
    pthread_join(own->handle, NULL);
    take_out(own);
}

bool braid_own_threads_find(int number, uint32_t *out_num_changes)
{
    bool is_own = false;
    pthread_mutex_lock(&lock);
    for (struct own_thread *own = all; own && !is_own; own = own->next) {
        while (!atomic_load(&own->number))
            sched_yield();
        is_own = atomic_load(&own->number) == number;
        if (is_own)
            *out_num_changes = atomic_load(&own->num_changes);
    }
    pthread_mutex_unlock(&lock);
    return is_own;
}

void braid_own_threads_count_change(void)
{
    if (!current)
        return;
    uint32_t num = atomic_load_explicit(&current->num_changes, memory_order_relaxed); // its own
    atomic_store_explicit(&current->num_changes, num + 1, memory_order_relaxed);
}

void braid_own_threads_forget(void)
{
    pthread_mutex_init(&lock, NULL);
    all = NULL;
}
