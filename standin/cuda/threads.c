// SPDX-License-Identifier: Apache-2.0
// Threads: those that have no work are parked, and take the next that comes.
#include "threads.h"

#include <stdlib.h>

struct thread {
    pthread_cond_t woken;
    void *(*run)(void *); // NULL while the thread is parked
    void *argument;
    struct task *task; // NULL: nobody joins it
    struct thread *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct thread *parked;

// Expects the lock, and gives it up while the task runs.
static void run_one(struct thread *thread)
{
    pthread_mutex_unlock(&lock);
    thread->run(thread->argument);
    pthread_mutex_lock(&lock);
    if (thread->task != NULL) {
        thread->task->ended = true;
        pthread_cond_signal(&thread->task->ends);
    }
    thread->run = NULL;
    thread->next = parked;
    parked = thread;
}

static void *serve(void *argument)
{
    struct thread *thread = argument;
    pthread_mutex_lock(&lock);
    for (;;) {
        while (thread->run == NULL)
            pthread_cond_wait(&thread->woken, &lock);
        run_one(thread);
    }
    return NULL;
}

static bool start_another(struct thread *thread)
{
    pthread_t id;
    if (pthread_cond_init(&thread->woken, NULL) != 0 ||
        pthread_create(&id, NULL, serve, thread) != 0)
        return false;
    pthread_detach(id);
    return true;
}

// Gives the work to a parked thread, or to a new one.
static bool hand_over(struct thread work)
{
    pthread_mutex_lock(&lock);
    struct thread *thread = parked;
    if (thread != NULL) {
        parked = thread->next;
        thread->run = work.run;
        thread->argument = work.argument;
        thread->task = work.task;
        pthread_cond_signal(&thread->woken);
    }
    pthread_mutex_unlock(&lock);
    if (thread != NULL)
        return true;
    thread = malloc(sizeof(*thread));
    if (thread == NULL)
        return false;
    *thread = work;
    if (start_another(thread))
        return true;
    free(thread);
    return false;
}

bool threads_start(struct task *task, void *(*run)(void *), void *argument)
{
    task->ended = false;
    if (pthread_cond_init(&task->ends, NULL) != 0)
        return false;
    if (hand_over((struct thread){ .run = run, .argument = argument, .task = task }))
        return true;
    pthread_cond_destroy(&task->ends);
    return false;
}

void threads_join(struct task *task)
{
    pthread_mutex_lock(&lock);
    while (!task->ended)
        pthread_cond_wait(&task->ends, &lock);
    pthread_mutex_unlock(&lock);
    pthread_cond_destroy(&task->ends);
}

bool threads_detach(void *(*run)(void *), void *argument)
{
    return hand_over((struct thread){ .run = run, .argument = argument });
}
