// SPDX-License-Identifier: Apache-2.0
// The communication thread: it begins posted operations in their order, and moves them on.
//
// No other thread calls the engine, and this one never does so with the lock held. So an engine
// needs to know of one thread only, and posting never waits.
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/clock.h"
#include "ranks/ranks.h"

enum {
    MOST_ENDED = 64,
    EAGER_NS = 200000,     // how long it polls without sleeping after something has moved
    NAP_NS = 50000,        // how long it sleeps between two polls after that, at first
    LONG_NAP_NS = 4000000, // and at most
    IDLE_NS = 20000000,    // and while nothing is under way, so that it hears of other ranks
};

static bool remember(braid_ranks *ranks, uint32_t request, struct rank_waiting waiting)
{
    if (request >= ranks->num_waiting) {
        uint32_t num = request < 32 ? 64 : 2 * request;
        struct rank_waiting *more = realloc(ranks->waiting, num * sizeof(*more));
        if (!more)
            return false;
        memset(more + ranks->num_waiting, 0, (num - ranks->num_waiting) * sizeof(*more));
        ranks->waiting = more;
        ranks->num_waiting = num;
    }
    ranks->waiting[request] = waiting;
    return true;
}

bool braid_rank_begin_waiting(braid_ranks *ranks, const struct rank_transfer *transfer,
                              struct rank_waiting waiting, uint32_t *out_request)
{
    char why[RANK_WHY_BYTES];
    bool begun = ranks->engine->begin(transfer, out_request, why, sizeof(why));
    if (begun && remember(ranks, *out_request, waiting))
        return true;
    braid_rank_fail(ranks, begun ? "out of host memory for requests" : why, true);
    return false;
}

bool braid_rank_begin(braid_ranks *ranks, const struct rank_transfer *transfer, bool *flag)
{
    uint32_t request;
    return braid_rank_begin_waiting(ranks, transfer, (struct rank_waiting){ .flag = flag },
                                    &request);
}

static struct rank_operation *take_posted(braid_ranks *ranks)
{
    rank_lock(ranks);
    struct rank_operation *operation = ranks->first;
    if (operation) {
        ranks->first = operation->next;
        ranks->last = ranks->first ? ranks->last : NULL;
    }
    rank_unlock(ranks);
    return operation;
}

static void begin_operation(braid_ranks *ranks, struct rank_operation *operation)
{
    const struct rank_description *what = &operation->what;
    const struct rank_transfer transfer = {
        .communicator = what->communicator->engine,
        .operation = what->operation,
        .element = what->element,
        .reduction = what->reduction,
        .peer = what->peer,
        .tag = what->tag,
        .from = operation->from,
        .to = operation->to,
        .count = what->count,
    };
    operation->next = ranks->begun;
    ranks->begun = operation;
    (void)braid_rank_begin_waiting(
        ranks, &transfer, (struct rank_waiting){ .operation = operation }, &operation->request);
}

void braid_rank_end(braid_ranks *ranks, struct rank_operation *operation)
{
    rank_lock(ranks);
    work_resume_function *resume = operation->resume;
    void *of = operation->resume_of, *job = operation->resume_job;
    operation->resume = NULL;
    operation->state = RANK_ENDED;
    operation->what.communicator->num_ended++;
    rank_unlock(ranks);
    if (resume)
        resume(of, job);
}

static void end_begun(braid_ranks *ranks, struct rank_operation *operation)
{
    struct rank_operation **link = &ranks->begun;
    while (*link != operation)
        link = &(*link)->next;
    *link = operation->next;
    braid_rank_end(ranks, operation);
}

static void end_request(braid_ranks *ranks, const struct rank_ended *ended,
                        struct rank_waiting waiting)
{
    if (ended->failed) {
        char text[RANK_WHY_BYTES / 2] = "a message between ranks", why[RANK_WHY_BYTES];
        if (waiting.operation)
            braid_rank_describe(text, sizeof(text), waiting.operation->what.operation,
                                waiting.operation->name, waiting.operation->what.count,
                                waiting.operation->what.peer);
        snprintf(why, sizeof(why), "%s failed", text);
        braid_rank_fail(ranks, why, true);
    } else if (waiting.operation) {
        end_begun(ranks, waiting.operation);
    } else if (waiting.flag) {
        *waiting.flag = true;
    } else if (waiting.is_news) {
        braid_rank_news_hear(ranks);
    }
}

bool braid_rank_progress(braid_ranks *ranks, bool *out_moved)
{
    struct rank_operation *operation;
    *out_moved = false;
    while (!ranks->failed && (operation = take_posted(ranks))) {
        begin_operation(ranks, operation);
        *out_moved = true;
    }
    struct rank_ended ended[MOST_ENDED];
    uint32_t num = ranks->failed ? 0 : ranks->engine->poll(ended, MOST_ENDED);
    struct rank_waiting waiting[MOST_ENDED]; // before what begins here takes their numbers
    for (uint32_t i = 0; i < num; i++)
        waiting[i] = ranks->waiting[ended[i].request];
    for (uint32_t i = 0; i < num && !ranks->failed; i++)
        end_request(ranks, &ended[i], waiting[i]);
    *out_moved |= num > 0;
    if (!ranks->failed)
        braid_rank_news_check_time(ranks);
    return !ranks->failed;
}

// Until something is posted or called, or for so long.
static void sleep_for(braid_ranks *ranks, uint64_t ns)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    uint64_t sum = (uint64_t)until.tv_nsec + ns;
    until.tv_sec += (time_t)(sum / 1000000000);
    until.tv_nsec = (long)(sum % 1000000000);
    rank_lock(ranks);
    int error = 0;
    while (!ranks->first && !ranks->call && !ranks->stop && error != ETIMEDOUT)
        error = pthread_cond_timedwait(&ranks->changed, &ranks->lock, &until);
    rank_unlock(ranks);
}

// The longer nothing has moved, the longer it is likely to stay so.
static uint64_t find_nap(uint64_t still_ns)
{
    uint64_t nap = still_ns / 32;
    return nap < NAP_NS ? NAP_NS : nap > LONG_NAP_NS ? LONG_NAP_NS : nap;
}

static void pause_between(braid_ranks *ranks, bool moved, uint64_t *since_ns)
{
    uint64_t now = clock_now_ns();
    if (moved)
        *since_ns = now;
    if (now - *since_ns < EAGER_NS)
        sched_yield();
    else
        sleep_for(ranks, ranks->begun ? find_nap(now - *since_ns) : IDLE_NS);
}

bool braid_rank_progress_until(braid_ranks *ranks, const bool *flag)
{
    uint64_t since_ns = clock_now_ns();
    bool moved = false;
    while (!*flag) {
        if (!braid_rank_progress(ranks, &moved))
            return false;
        if (*flag)
            break;
        uint64_t now = clock_now_ns();
        since_ns = moved ? now : since_ns;
        struct timespec nap = { .tv_nsec = (long)find_nap(now - since_ns) };
        if (now - since_ns < EAGER_NS)
            sched_yield();
        else
            nanosleep(&nap, NULL);
    }
    return true;
}

static void make_call(braid_ranks *ranks, struct rank_call *call)
{
    ranks->call_began_ns = clock_now_ns();
    ranks->call_name = call->what;
    ranks->num_calls++;
    if (!ranks->failed)
        call->make(ranks, call);
    if (ranks->failed) {
        call->status = BRAID_DEVICE_ERROR;
        snprintf(call->message, sizeof(call->message), "%s: %s", call->what, ranks->why);
    }
    ranks->call_began_ns = 0;
    rank_lock(ranks);
    call->is_done = true;
    ranks->call = NULL;
    pthread_cond_broadcast(&ranks->done);
    rank_unlock(ranks);
}

void *braid_rank_thread(void *argument)
{
    braid_ranks *ranks = argument;
    uint64_t since_ns = 0;
    for (;;) {
        rank_lock(ranks);
        struct rank_call *call = ranks->call;
        bool stop = ranks->stop;
        rank_unlock(ranks);
        if (stop)
            return NULL;
        bool moved = call != NULL;
        if (call)
            make_call(ranks, call);
        else
            (void)braid_rank_progress(ranks, &moved);
        pause_between(ranks, moved, &since_ns);
    }
}

braid_status braid_rank_call(braid_ranks *ranks, struct rank_call *call)
{
    if (!ranks_are_here(ranks))
        return braid_error_invalid("%s: the ranks were opened before a fork, by another process",
                                   call->what);
    rank_lock(ranks);
    while (ranks->call)
        pthread_cond_wait(&ranks->done, &ranks->lock);
    ranks->call = call;
    pthread_cond_signal(&ranks->changed);
    while (!call->is_done)
        pthread_cond_wait(&ranks->done, &ranks->lock);
    rank_unlock(ranks);
    if (call->status)
        return braid_error(call->status, "%s", call->message);
    return BRAID_OK;
}
