// SPDX-License-Identifier: Apache-2.0
// Posting operations and awaiting them, on the threads that play a plan.
#include <stdio.h>

#include "ranks/ranks.h"

static void post(struct work_operation *base, const void *from, void *to)
{
    struct rank_operation *operation = (struct rank_operation *)base;
    braid_communicator *communicator = operation->what.communicator;
    braid_ranks *ranks = communicator->ranks;
    rank_lock(ranks);
    operation->from = from;
    operation->to = to;
    operation->next = NULL;
    operation->posted_ns = clock_now_ns();
    if (ranks->failed) {
        operation->state = RANK_ENDED;
        communicator->num_ended++;
    } else {
        operation->state = RANK_POSTED;
        if (ranks->last)
            ranks->last->next = operation;
        else
            ranks->first = operation;
        ranks->last = operation;
        pthread_cond_signal(&ranks->changed);
    }
    rank_unlock(ranks);
}

static bool await(struct work_operation *base, work_resume_function *resume, void *of, void *job)
{
    struct rank_operation *operation = (struct rank_operation *)base;
    braid_ranks *ranks = operation->what.communicator->ranks;
    rank_lock(ranks);
    bool ended = operation->state != RANK_POSTED;
    operation->resume = ended ? NULL : resume;
    operation->resume_of = of;
    operation->resume_job = job;
    rank_unlock(ranks);
    return ended;
}

static const struct work_operation_ops ops = {
    .post = post,
    .await = await,
    .enqueue = braid_rank_operation_enqueue,
};

void braid_rank_operation_init(struct rank_operation *operation,
                               const struct rank_description *what, const char *name)
{
    *operation = (struct rank_operation){ .base = { .ops = &ops, .joins_next = what->joins_next },
                                          .what = *what,
                                          .state = RANK_IDLE };
    snprintf(operation->name, sizeof(operation->name), "%s", name);
}
