// SPDX-License-Identifier: Apache-2.0
// Threads for calls that block, so that none of those who have other work waits in them.
#ifndef BRAID_BASE_BLOCKERS_H
#define BRAID_BASE_BLOCKERS_H

#include <pthread.h>
#include <stdbool.h>

#include "base/host_memory.h"

// Calls may wait for each other, so each running call has a thread. As many threads are started as
// calls ever ran at once, and none before the first.
struct blockers {
    void (*call)(void *user); // on a thread of its own
    // There, when that is idle for the next call already; NULL: nothing.
    void (*end)(void *owner, void *user);
    void *owner;
    struct host_allocator *allocator; // in force when it is made; it has its memory
    pthread_mutex_t lock;
    struct blocker *all, *idle; // guarded by lock
};

void braid_blockers_init(struct blockers *blockers, void (*call)(void *user),
                         void (*end)(void *owner, void *user), void *owner);

// Makes the call with `user`, and returns at once. False: there is no thread, and no call is made.
bool braid_blockers_run(struct blockers *blockers, void *user);

// No call is under way, nor will be; one that has ended may still be in `end`, which is awaited.
void braid_blockers_finish(struct blockers *blockers);

#endif
