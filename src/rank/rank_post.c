// SPDX-License-Identifier: Apache-2.0
// Posting operations and awaiting them, on the threads that play a plan.
#include <stdio.h>

#include "rank/ranks.h"

void braid_rank_operation_init(struct rank_operation *operation,
                               const struct rank_description *what, const char *name)
{
    *operation = (struct rank_operation){ .what = *what, .state = RANK_IDLE };
    snprintf(operation->name, sizeof(operation->name), "%s", name);
}

void braid_rank_operation_post(struct rank_operation *operation, const void *from, void *to)
{
    braid_communicator *communicator = operation->what.communicator;
    braid_ranks *ranks = communicator->ranks;
    rank_lock(ranks);
    operation->from = from;
    operation->to = to;
    operation->next = NULL;
    operation->posted_ns = braid_rank_now_ns();
    communicator->num_posted++;
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

bool braid_rank_operation_await(struct rank_operation *operation, rank_resume_function *resume,
                                void *of, void *job)
{
    braid_ranks *ranks = operation->what.communicator->ranks;
    rank_lock(ranks);
    bool ended = operation->state != RANK_POSTED;
    operation->resume = ended ? NULL : resume;
    operation->resume_of = of;
    operation->resume_job = job;
    rank_unlock(ranks);
    return ended;
}
