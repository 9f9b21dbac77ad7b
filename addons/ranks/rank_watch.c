// SPDX-License-Identifier: Apache-2.0
// Frames on devices: whether they have ended, and the failures that the engines there have noticed.
#include <stdio.h>

#include "ranks/ranks.h"

void braid_rank_watch_add(braid_ranks *ranks, struct rank_watch *watch)
{
    rank_lock(ranks);
    watch->next = ranks->watches;
    ranks->watches = watch;
    rank_unlock(ranks);
}

// A launch is watched as well: queueing an operation for the first time may wait for other ranks.
void braid_rank_watch_begin(braid_ranks *ranks, struct rank_watch *watch)
{
    rank_lock(ranks);
    if (!watch->is_pending)
        watch->since_ns = clock_now_ns();
    watch->is_launching = true;
    watch->is_pending = true;
    rank_unlock(ranks);
}

void braid_rank_watch_end(braid_ranks *ranks, struct rank_watch *watch)
{
    rank_lock(ranks);
    watch->is_launching = false;
    rank_unlock(ranks);
}

// An operation counts as ended with its frame.
static void end_operations(const struct rank_watch *watch)
{
    for (uint32_t i = 0; i < watch->num_operations; i++) {
        braid_communicator *communicator = watch->operations[i].what.communicator;
        communicator->num_ended = communicator->num_due;
    }
}

void braid_rank_watch_remove(braid_ranks *ranks, struct rank_watch *watch)
{
    rank_lock(ranks);
    for (struct rank_watch **link = &ranks->watches; *link; link = &(*link)->next) {
        if (*link == watch) {
            *link = watch->next;
            end_operations(watch);
            break;
        }
    }
    rank_unlock(ranks);
}

void braid_rank_watch_refresh(braid_ranks *ranks)
{
    for (struct rank_watch *it = ranks->watches; it; it = it->next) {
        if (!it->is_pending || it->is_launching || !it->has_ended(it->of))
            continue;
        it->is_pending = false;
        end_operations(it);
    }
}

struct rank_watch *braid_rank_watch_find(braid_ranks *ranks, uint64_t *out_since_ns,
                                         const braid_communicator **out_communicator)
{
    struct rank_watch *oldest = NULL;
    rank_lock(ranks);
    braid_rank_watch_refresh(ranks);
    for (struct rank_watch *it = ranks->watches; it; it = it->next) {
        if (it->is_pending && (!oldest || it->since_ns < oldest->since_ns))
            oldest = it;
    }
    *out_since_ns = oldest ? oldest->since_ns : 0;
    *out_communicator = oldest ? oldest->operations[0].what.communicator : NULL;
    rank_unlock(ranks);
    return oldest;
}

bool braid_rank_watch_check_links(braid_ranks *ranks)
{
    char words[RANK_WHY_BYTES / 2], why[RANK_WHY_BYTES] = "";
    rank_lock(ranks);
    for (braid_communicator *it = ranks->communicators; it && !*why; it = it->next) {
        if (it->link && braid_rank_link_has_failed(it->link, words, sizeof(words)))
            snprintf(why, sizeof(why), "communicator '%s': %s", it->name, words);
    }
    rank_unlock(ranks);
    if (*why)
        braid_rank_fail(ranks, why, true);
    return *why;
}
