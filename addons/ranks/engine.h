// SPDX-License-Identifier: Apache-2.0
// An engine moves data between ranks: one table of functions, which a library of its own exports.
//
// All calls come from one thread. An engine includes nothing else of Braid, so it can be compiled
// with another compiler (mpicc). It also fits another version of Braid if the number below is the
// same.
#ifndef BRAID_RANKS_ENGINE_H
#define BRAID_RANKS_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <braid/rank.h>

#define RANK_ENGINE_ABI 1
#define RANK_ENGINE_SYMBOL "braid_rank_engine" // const struct rank_engine *(void)
#define RANK_ANY UINT32_MAX                    // peer of a receive: whoever sends

enum { RANK_OPERATION_BARRIER = 100 }; // besides braid_rank_operation

struct rank_transfer {
    void *communicator; // the engine's; NULL: all ranks, for what Braid itself says
    uint32_t operation; // braid_rank_operation or RANK_OPERATION_BARRIER
    uint32_t element, reduction;
    uint32_t peer, tag;
    const void *from;
    void *to;
    uint64_t count;
};

struct rank_ended {
    uint32_t request;
    bool failed;
};

// A function that fails writes the reason, a line, to `why`, and returns false.
struct rank_engine {
    uint32_t abi; // RANK_ENGINE_ABI
    const char *name;
    bool (*open)(uint32_t *out_rank, uint32_t *out_num, char *why, size_t size);
    // `clean`: all requests have ended, on all ranks; otherwise nobody is waited for.
    void (*close)(bool clean);
    // All ranks call it at about the same time; it may wait for them.
    bool (*split)(uint32_t color, void **out_communicator, uint32_t *out_rank, uint32_t *out_num,
                  char *why, size_t size);
    // Which rank of all a rank of the communicator is.
    uint32_t (*find_member)(void *communicator, uint32_t rank);
    // Begins an operation and returns at once. Its memory is the engine's until it has ended.
    bool (*begin)(const struct rank_transfer *transfer, uint32_t *out_request, char *why,
                  size_t size);
    // Moves operations on, and writes those that have ended; their numbers may be used again.
    uint32_t (*poll)(struct rank_ended *out_ended, uint32_t most);
    // Ends a receive.
    void (*cancel)(uint32_t request);
};

typedef const struct rank_engine *rank_engine_function(void);

#endif
