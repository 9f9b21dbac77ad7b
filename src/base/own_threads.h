// SPDX-License-Identifier: Apache-2.0
// Threads that Braid starts, and whether the program's code runs on them.
#ifndef BRAID_BASE_OWN_THREADS_H
#define BRAID_BASE_OWN_THREADS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct own_thread {
    pthread_t handle;
    void *(*main)(void *argument);
    void *argument;
    atomic_int number;       // as the system names it; 0: the thread starts
    atomic_uint num_changes; // odd: it is inside a call of the program, or uses its memory
    struct own_thread *next; // guarded by the lock of all
};

// Signals stay with the program's threads. `name` has at most 15 letters. Returns an error of the
// system, or 0. A thread that nobody joins keeps `own`.
int braid_own_thread_start(struct own_thread *own, const char *name, void *(*main)(void *argument),
                           void *argument);
void braid_own_thread_join(struct own_thread *own);

// Whether Braid has started the thread with this number.
bool braid_own_threads_find(int number, uint32_t *out_num_changes);

// The calling thread enters or leaves a call of the program, or begins or ends to use its memory.
void braid_own_threads_count_change(void);

// In a child of the process, where no other thread is.
void braid_own_threads_forget(void);

#endif
