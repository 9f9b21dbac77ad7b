// SPDX-License-Identifier: Apache-2.0
// The inside of ranks: the communication thread, which alone calls the engine, and the requests to
// it.
#ifndef BRAID_RANKS_RANKS_H
#define BRAID_RANKS_RANKS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <braid/rank.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/own_threads.h"
#include "base/process.h"
#include "ranks/engine.h"
#include "ranks/link.h"
#include "ranks/operation.h"

enum {
    RANK_TAG_NEWS = 1, // on messages of the engine's communicator of all ranks
    RANK_TAG_BYTES = 2,
    RANK_WHY_BYTES = 400,
};

struct braid_communicator {
    braid_ranks *ranks;
    char name[RANK_NAME_BYTES];
    void *engine;
    struct rank_link *link; // lock; on a device; NULL: none yet
    uint32_t number;        // how many were made before: the same on all ranks
    uint32_t rank, num;
    uint32_t *members;   // which of all ranks each is
    uint64_t num_users;  // lock; graphs and execs
    uint64_t num_frames; // lock; launched
    uint64_t num_due;    // lock; operations of frames launched
    uint64_t num_ended;  // lock; of these, those that have ended
    const void *exec;    // lock; whose frames they are
    braid_communicator *next;
};

// Messages between ranks about their progress, and of a rank that has given up.
enum rank_news_kind { RANK_NEWS_ASK = 1, RANK_NEWS_ANSWER = 2, RANK_NEWS_GAVE_UP = 3 };
enum { RANK_NEWS_KINDS = 3 };

struct rank_news {
    uint32_t kind, from;
    uint32_t communicator; // which one is asked about; UINT32_MAX: none
    uint64_t num_done;     // frames launched with it, or calls made that all ranks make
    char text[RANK_WHY_BYTES];
};

// A call of the program that the communication thread makes for it.
struct rank_call {
    void (*make)(braid_ranks *ranks, struct rank_call *call);
    const char *what; // for messages
    void *arguments;
    braid_status status;
    char message[ERROR_MESSAGE_BYTES];
    bool is_done; // lock
};

// A rank's answer since it was last asked.
struct rank_answer {
    bool answered;
    uint64_t num_done;
};

// Who learns that a request has ended.
struct rank_waiting {
    struct rank_operation *operation;
    bool *flag;
    bool is_news; // the receive of news
};

struct braid_ranks {
    const struct rank_engine *engine;
    void *library;
    uint32_t process; // that opened the ranks
    uint32_t rank, num;
    uint64_t timeout_ns;
    struct own_thread thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;   // something for the thread to do
    pthread_cond_t done;      // a call was made
    bool stop;                // lock
    bool failed;              // lock; nothing is begun any more, all that is posted ends at once
    char why[RANK_WHY_BYTES]; // written before `failed`
    struct rank_operation *first, *last;      // lock; posted, not begun
    struct rank_call *call;                   // lock
    braid_communicator *communicators, *tail; // lock
    struct rank_watch *watches;               // lock
    // The thread's own.
    uint32_t num_communicators;
    struct rank_operation *begun;
    struct rank_waiting *waiting; // by request
    uint32_t num_waiting;
    uint32_t num_calls;
    uint64_t call_began_ns; // 0: none is being made
    const char *call_name;
    struct rank_answer *answers;
    struct rank_news *told; // RANK_NEWS_KINDS a rank
    uint64_t asked_for_ns;  // when that began which is asked about
    struct rank_news heard;
    uint32_t news_request;
    braid_ranks *next_left;
};

// In a child made by fork they are not: the thread and the engine are the parent's.
static inline bool ranks_are_here(const braid_ranks *ranks)
{
    return ranks->process == braid_process_number();
}

static inline void rank_lock(braid_ranks *ranks)
{
    pthread_mutex_lock(&ranks->lock);
}

static inline void rank_unlock(braid_ranks *ranks)
{
    pthread_mutex_unlock(&ranks->lock);
}

// Finds the engine's library. Errors: BRAID_UNAVAILABLE.
braid_status braid_rank_library_open(void **out_library, const struct rank_engine **out_engine);

// rank_thread.c
void *braid_rank_thread(void *ranks);
// Has the thread make a call, and returns its result.
braid_status braid_rank_call(braid_ranks *ranks, struct rank_call *call);
// For calls, on the thread: moves everything on, once. False: the ranks have failed.
bool braid_rank_progress(braid_ranks *ranks, bool *out_moved);
// Moves everything on until the flag is set. False: the ranks have failed.
bool braid_rank_progress_until(braid_ranks *ranks, const bool *flag);
// Begins a transfer; `flag` is set when it has ended. False, and the ranks have failed.
bool braid_rank_begin(braid_ranks *ranks, const struct rank_transfer *transfer, bool *flag);

// Asks for news of other ranks to be received.
bool braid_rank_news_listen(braid_ranks *ranks);
// The first reason stands. All that waits ends. With `tell` the other ranks are told.
void braid_rank_fail(braid_ranks *ranks, const char *why, bool tell);

// rank_plan.c: bytes of every rank go to rank 0, which judges them, and its verdict to all.
struct rank_verdict {
    uint32_t status; // braid_status
    uint32_t plan_again;
    char message[ERROR_MESSAGE_BYTES];
};
typedef void rank_judge_function(const void *const *bytes, const uint64_t *num_bytes, uint32_t num,
                                 struct rank_verdict *out_verdict);
// Errors: BRAID_DEVICE_ERROR, BRAID_NO_MEMORY; the judgement is in the verdict.
braid_status braid_rank_exchange(braid_ranks *ranks, const void *bytes, uint64_t num_bytes,
                                 rank_judge_function *judge, struct rank_verdict *out_verdict);

// ranks.c
void braid_communicator_retain(braid_communicator *communicator);
void braid_communicator_release(braid_communicator *communicator);

#endif
