// SPDX-License-Identifier: Apache-2.0
// An operation of a communicator, as execs hold it: posted by one task, awaited by another.
#ifndef BRAID_RANKS_OPERATION_H
#define BRAID_RANKS_OPERATION_H

#include <stdbool.h>
#include <stdint.h>

#include <braid/rank.h>

#include "base/work.h"

struct rank_description {
    braid_communicator *communicator;
    uint64_t count;
    uint64_t key; // names what a rank owns, if that is transferred, the same on both ends; else 0
    uint32_t peer, tag;
    uint8_t operation, element, reduction; // as in braid_communication
    // On a device: queued together with the next one of the exec; and how many are with this one.
    bool joins_next;
    uint32_t num_joined;
};

enum rank_state {
    RANK_IDLE, // never posted, or awaited since
    RANK_POSTED,
    RANK_ENDED, // or failed: then the communicator's ranks have
};

enum { RANK_NAME_BYTES = 64 };

// One is under way at most once. Its memory is the owner's again when it has been awaited.
struct rank_operation {
    struct work_operation base;
    struct rank_description what;
    char name[RANK_NAME_BYTES];
    const void *from;
    void *to;
    // All below: guarded by the lock of its ranks.
    enum rank_state state;
    uint64_t posted_ns;
    uint32_t request; // the communication thread's
    work_resume_function *resume;
    void *resume_of, *resume_job;
    struct rank_operation *next; // in the queue of those posted, then in the list of those begun
};

void braid_rank_operation_init(struct rank_operation *operation,
                               const struct rank_description *what, const char *name);

// rank_link.c: as in work_operation_ops.
braid_status braid_rank_operation_enqueue(struct work_operation *base, const void *from, void *to,
                                          void *stream);

// For messages: "receive 'left' of 80 elements from rank 2". `name` and the peer as the caller
// counts ranks.
void braid_rank_describe(char *text, size_t size, uint32_t operation, const char *name,
                         uint64_t count, uint32_t peer);

#endif
