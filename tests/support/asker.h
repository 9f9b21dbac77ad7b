// SPDX-License-Identifier: Apache-2.0
// A thread that, once a launch has failed, asks the exec and changes it, while the launch waits for
// frames that wait for this thread.
#ifndef BRAID_TESTS_SUPPORT_ASKER_H
#define BRAID_TESTS_SUPPORT_ASKER_H

#include <pthread.h>
#include <semaphore.h>

#include <braid/braid.h>

struct asker {
    braid_exec *exec; // whose options have asker_count_end, with the asker
    uint64_t num_ended;
    sem_t has_failed; // posted by the first message, before the launch waits for anything
    void (*ask)(void *user);
    void *user;
    pthread_t thread;
};

void asker_init(struct asker *asker);
// For on_frame_end: frames are told of in order, and once they count.
void asker_count_end(uint64_t frame, void *asker);

// From now on `ask` is called once, behind the first message to the log, or behind the launch that
// got the status, where that is no failure, which waits for it.
void asker_start(struct asker *asker, void (*ask)(void *user), void *user);
void asker_join(struct asker *asker, braid_status status);

// When the exec is idle, before it is destroyed: all of its frames were told of.
void asker_finish(struct asker *asker);

#endif
