// SPDX-License-Identifier: Apache-2.0
// The stand-in's one lock, and tickets: the promise that one piece of queued work will be done.
#ifndef BRAID_STANDIN_WORLD_H
#define BRAID_STANDIN_WORLD_H

#include <pthread.h>
#include <stdbool.h>

// One lock guards every driver object. It is held for bookkeeping only, never while a kernel, a
// copy or a host function runs. Its price: ThreadSanitizer sees an order between two work items
// whenever their bookkeeping happened to be apart in time, so a missing wait shows by wrong
// results (see BRAID_STANDIN_SLOW_US) more surely than by a data race report.
void world_lock(void);
void world_unlock(void);
void world_wait(pthread_cond_t *condition); // the lock is held before and after

// All of these expect the lock to be held.
struct ticket {
    int references;
    int num_waiting; // threads that have begun to wait for it
    bool done;
    double done_ms; // when it was done, CLOCK_MONOTONIC
};

struct ticket *ticket_create(void); // NULL: no memory
struct ticket *ticket_hold(struct ticket *ticket);
void ticket_drop(struct ticket *ticket); // takes NULL
void ticket_complete(struct ticket *ticket);
void ticket_wait(struct ticket *ticket); // takes NULL: satisfied

#endif
