// SPDX-License-Identifier: Apache-2.0
// Threads that do one piece of work after the other.
#ifndef BRAID_STANDIN_THREADS_H
#define BRAID_STANDIN_THREADS_H

#include <pthread.h>
#include <stdbool.h>

struct task {
    bool ended; // guarded by the lock of all parked threads
    pthread_cond_t ends;
};

// Another thread runs the task, which threads_join ends. False: no thread could be started.
bool threads_start(struct task *task, void *(*run)(void *), void *argument);
void threads_join(struct task *task);

// Another thread runs this, and nobody joins it.
bool threads_detach(void *(*run)(void *), void *argument);

#endif
