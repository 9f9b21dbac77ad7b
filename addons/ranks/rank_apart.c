// SPDX-License-Identifier: Apache-2.0
// Calls of an engine that wait for other ranks, on threads of their own. If those ranks never come,
// the thread is left behind and the program goes on.
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "ranks/ranks.h"

enum { LOOK_NS = 1000000 }; // how often the communication thread looks at all else meanwhile

struct rank_apart {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    void (*call)(struct rank_apart *apart, void *user);
    void *user;
    bool ended; // lock
    bool left;  // lock
};

// With the lock held.
static void stay_if_left(struct rank_apart *apart)
{
    if (!apart->left)
        return;
    pthread_mutex_unlock(&apart->lock);
    for (;;)
        (void)pause();
}

void braid_rank_apart_go_on(struct rank_apart *apart)
{
    pthread_mutex_lock(&apart->lock);
    stay_if_left(apart);
    pthread_mutex_unlock(&apart->lock);
}

void braid_rank_apart_end(struct rank_apart *apart)
{
    pthread_mutex_lock(&apart->lock);
    stay_if_left(apart);
    apart->ended = true;
    pthread_cond_signal(&apart->changed);
    pthread_mutex_unlock(&apart->lock);
}

static void *apart_thread(void *user)
{
    struct rank_apart *apart = user;
    apart->call(apart, apart->user);
    return NULL;
}

static bool await_end(struct rank_apart *apart)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += LOOK_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    int error = 0;
    pthread_mutex_lock(&apart->lock);
    while (!apart->ended && error != ETIMEDOUT)
        error = pthread_cond_timedwait(&apart->changed, &apart->lock, &until);
    bool ended = apart->ended;
    pthread_mutex_unlock(&apart->lock);
    return ended;
}

// On the communication thread, which gives up in time as with every call that all ranks make.
static void make_await(braid_ranks *ranks, struct rank_call *call)
{
    bool moved;
    while (!await_end(call->arguments) && braid_rank_progress(ranks, &moved)) {
    }
}

static bool leave(struct rank_apart *apart)
{
    pthread_mutex_lock(&apart->lock);
    apart->left = !apart->ended;
    bool left = apart->left;
    pthread_mutex_unlock(&apart->lock);
    return left;
}

braid_status braid_rank_call_apart(braid_ranks *ranks,
                                   void (*call)(struct rank_apart *apart, void *user), void *user,
                                   bool *out_left)
{
    pthread_t thread;
    struct rank_apart *apart = calloc(1, sizeof(*apart));
    *out_left = false;
    if (!apart)
        return braid_error_no_memory("a thread that connects a communicator");
    *apart = (struct rank_apart){ .lock = PTHREAD_MUTEX_INITIALIZER,
                                  .changed = PTHREAD_COND_INITIALIZER,
                                  .call = call,
                                  .user = user };
    if (pthread_create(&thread, NULL, apart_thread, apart)) {
        free(apart);
        return braid_error_no_memory("a thread that connects a communicator");
    }
    struct rank_call await = { .make = make_await,
                               .what = "braid_exec_create",
                               .arguments = apart };
    braid_status status = braid_rank_call(ranks, &await);
    *out_left = leave(apart);
    if (*out_left) {
        pthread_detach(thread);
        return status;
    }
    pthread_join(thread, NULL);
    pthread_mutex_destroy(&apart->lock);
    pthread_cond_destroy(&apart->changed);
    free(apart);
    return status;
}
