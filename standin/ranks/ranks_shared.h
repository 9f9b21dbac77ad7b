// SPDX-License-Identifier: Apache-2.0
// The memory that ranks of the stand-in share.
#ifndef BRAID_STANDIN_RANKS_SHARED_H
#define BRAID_STANDIN_RANKS_SHARED_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../addons/ranks/engine.h"

enum {
    RANKS_MOST = 16,
    RANKS_MESSAGES = 2048,
    RANKS_BLOCK_BYTES = 4096,
    RANKS_BLOCKS = 8192,
};

enum { RANKS_FREE, RANKS_SENT, RANKS_TAKEN };

struct ranks_message {
    uint32_t state;
    bool is_send;                         // whose sender waits until it is taken
    uint32_t communicator, from, to, tag; // `from` in the communicator, `to` of all
    uint32_t first_block;
    uint64_t number, bytes;
};

struct ranks_shared {
    pthread_mutex_t lock;
    uint32_t num;
    uint64_t num_sent;
    struct ranks_message messages[RANKS_MESSAGES];
    unsigned char is_taken[RANKS_BLOCKS];
    char data[(uint64_t)RANKS_BLOCKS * RANKS_BLOCK_BYTES];
};

#endif
