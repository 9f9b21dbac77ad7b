// SPDX-License-Identifier: Apache-2.0
// Launches of execs with communicators: what stands in the way of one, and what it leaves behind.
#include <stdlib.h>
#include <time.h>

#include "base/array.h"
#include "base/error.h"
#include "exec/exec.h"
#include "rank/ranks.h"

static uint32_t count_operations(const braid_exec *exec, const braid_communicator *communicator)
{
    uint32_t num = 0;
    for (uint32_t i = 0; i < exec->tasks.num_operations; i++)
        num += exec->tasks.operations[i].what.communicator == communicator;
    return num;
}

braid_status braid_exec_count_operations(braid_exec *exec)
{
    uint32_t num = exec->tasks.num_communicators;
    exec->communicators = braid_allocate_zeroed(num, sizeof(*exec->communicators));
    if (!exec->communicators)
        return braid_error_no_memory("the communicators of an exec");
    for (uint32_t i = 0; i < num; i++) {
        braid_communicator *communicator = exec->tasks.communicators[i];
        exec->communicators[i] =
            (struct exec_communicator){ communicator, count_operations(exec, communicator) };
    }
    return BRAID_OK;
}

// All of an exec are of the same ranks, and so have one lock.
static braid_ranks *ranks_of(const braid_exec *exec)
{
    return exec->communicators[0].communicator->ranks;
}

// With the lock of the ranks held. NULL: none.
static const braid_communicator *find_in_flight_elsewhere(const braid_exec *exec)
{
    for (uint32_t i = 0; i < exec->tasks.num_communicators; i++) {
        const braid_communicator *communicator = exec->communicators[i].communicator;
        if (communicator->exec != exec && communicator->num_due != communicator->num_ended)
            return communicator;
    }
    return NULL;
}

// Adds to what is due of all, or takes back. With the lock of the ranks held.
static void count_due(braid_exec *exec, uint64_t num_frames)
{
    for (uint32_t i = 0; i < exec->tasks.num_communicators; i++) {
        braid_communicator *communicator = exec->communicators[i].communicator;
        communicator->num_due += num_frames * exec->communicators[i].num;
        communicator->num_posted += exec->is_watched ? num_frames * exec->communicators[i].num : 0;
        communicator->exec = exec;
    }
}

braid_status braid_exec_await_failed_launch(braid_exec *exec)
{
    if (!exec->is_unsettled)
        return BRAID_OK;
    braid_status status = braid_exec_await_frames(exec);
    if (!status)
        braid_exec_settle_communicators(exec);
    return status;
}

braid_status braid_exec_claim_communicators(braid_exec *exec, uint32_t num_frames)
{
    braid_status status = braid_exec_check_ranks(exec);
    if (status || !exec->tasks.num_communicators)
        return status;
    braid_ranks *ranks = ranks_of(exec);
    rank_lock(ranks);
    braid_rank_watch_refresh(ranks);
    const braid_communicator *busy = find_in_flight_elsewhere(exec);
    if (!busy)
        count_due(exec, num_frames);
    rank_unlock(ranks);
    if (!busy && exec->is_watched)
        braid_rank_watch_begin(ranks, &exec->watch);
    if (!busy)
        return BRAID_OK;
    return braid_error(BRAID_BUSY,
                       "launch on %s: communicator '%s' is in flight in another exec; wait for "
                       "that one first",
                       exec->device->label, busy->name);
}

void braid_exec_watch_launched(braid_exec *exec)
{
    if (exec->is_watched)
        braid_rank_watch_end(ranks_of(exec), &exec->watch);
}

void braid_exec_unclaim_communicators(braid_exec *exec, uint32_t num_frames)
{
    if (!exec->tasks.num_communicators)
        return;
    rank_lock(ranks_of(exec));
    count_due(exec, 0 - (uint64_t)num_frames);
    rank_unlock(ranks_of(exec));
    exec->is_unsettled = true;
}

// With the lock of the ranks held.
static bool is_under_way(const braid_exec *exec)
{
    bool is = false;
    for (uint32_t i = 0; i < exec->tasks.num_operations; i++)
        is |= exec->tasks.operations[i].state == RANK_POSTED;
    return is;
}

// Such an operation ends soon, or when the ranks fail.
void braid_exec_settle_communicators(braid_exec *exec)
{
    const struct timespec nap = { .tv_nsec = 100000 };
    if (!exec->communicators || !exec->tasks.num_communicators)
        return;
    rank_lock(ranks_of(exec));
    while (is_under_way(exec)) {
        rank_unlock(ranks_of(exec));
        nanosleep(&nap, NULL);
        rank_lock(ranks_of(exec));
    }
    for (uint32_t i = 0; i < exec->tasks.num_communicators; i++) {
        braid_communicator *communicator = exec->communicators[i].communicator;
        if (communicator->exec != exec)
            continue;
        communicator->num_due = communicator->num_ended;
        communicator->exec = NULL;
    }
    rank_unlock(ranks_of(exec));
    exec->is_unsettled = false;
}

braid_status braid_exec_check_ranks(const braid_exec *exec)
{
    if (!exec->tasks.num_communicators)
        return BRAID_OK;
    return braid_ranks_check(exec->tasks.communicators[0]->ranks);
}
