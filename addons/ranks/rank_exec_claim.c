// SPDX-License-Identifier: Apache-2.0
// Launches of execs with communicators: the checks before one, and the counts after it.
#include <time.h>

#include "base/error.h"
#include "ranks/rank_exec.h"
#include "ranks/ranks.h"

// With the lock of the ranks held. NULL: none.
static const braid_communicator *find_in_flight_elsewhere(const struct rank_exec *own)
{
    for (uint32_t i = 0; i < own->num_communicators; i++) {
        const braid_communicator *communicator = own->communicators[i].communicator;
        if (communicator->exec != own && communicator->num_due != communicator->num_ended)
            return communicator;
    }
    return NULL;
}

// Adds to the due operations of communicators, or takes back. With the lock of the ranks held.
static void count_due(struct rank_exec *own, uint64_t num_frames)
{
    for (uint32_t i = 0; i < own->num_communicators; i++) {
        braid_communicator *communicator = own->communicators[i].communicator;
        communicator->num_due += num_frames * own->communicators[i].num;
        communicator->num_frames += num_frames;
        communicator->exec = own;
    }
}

// With the lock of the ranks held.
static bool is_under_way(const struct rank_exec *own)
{
    bool is = false;
    for (uint32_t i = 0; i < own->num_operations; i++)
        is |= own->operations[i].state == RANK_POSTED;
    return is;
}

// Such an operation ends soon, or when the ranks fail. In a child of fork none is, and the lock may
// be held for good.
void braid_rank_exec_settle(struct exec_part *part, braid_exec *exec)
{
    const struct timespec nap = { .tv_nsec = 100000 };
    const struct rank_exec *own = (const struct rank_exec *)part;
    (void)exec;
    if (!ranks_are_here(own->ranks))
        return;
    rank_lock(own->ranks);
    while (is_under_way(own)) {
        rank_unlock(own->ranks);
        nanosleep(&nap, NULL);
        rank_lock(own->ranks);
    }
    for (uint32_t i = 0; i < own->num_communicators; i++) {
        braid_communicator *communicator = own->communicators[i].communicator;
        if (communicator->exec != own)
            continue;
        communicator->num_due = communicator->num_ended;
        communicator->exec = NULL;
    }
    rank_unlock(own->ranks);
}

braid_status braid_rank_exec_before_launch(struct exec_part *part, braid_exec *exec,
                                           const struct exec_launch *launch)
{
    struct rank_exec *own = (struct rank_exec *)part;
    braid_status status = braid_ranks_check(own->ranks);
    if (status)
        return status;
    rank_lock(own->ranks);
    braid_rank_watch_refresh(own->ranks);
    const braid_communicator *busy = find_in_flight_elsewhere(own);
    if (!busy)
        count_due(own, launch->num_frames);
    rank_unlock(own->ranks);
    if (!busy && own->is_watched)
        braid_rank_watch_begin(own->ranks, &own->watch);
    if (!busy)
        return BRAID_OK;
    return braid_error(
        BRAID_BUSY,
        "launch on %s: communicator '%s' is in flight in another exec; wait for that one first",
        exec->device->label, busy->name);
}

// If nothing of the launch counts, nothing is due.
braid_status braid_rank_exec_after_launch(struct exec_part *part, braid_exec *exec,
                                          const struct exec_launch *launch)
{
    struct rank_exec *own = (struct rank_exec *)part;
    (void)exec;
    if (own->is_watched)
        braid_rank_watch_end(own->ranks, &own->watch);
    if (launch->num_launched)
        return BRAID_OK;
    rank_lock(own->ranks);
    count_due(own, 0 - (uint64_t)launch->num_frames);
    rank_unlock(own->ranks);
    part->is_unsettled = true;
    return BRAID_OK;
}

braid_status braid_rank_exec_wait(struct exec_part *part, braid_exec *exec)
{
    (void)exec;
    return braid_ranks_check(((struct rank_exec *)part)->ranks);
}
