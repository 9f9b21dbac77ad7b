// SPDX-License-Identifier: Apache-2.0
// An engine of two ranks. One of them is made up, and sends the bytes that a test gives.
#ifndef BRAID_TESTS_LYING_ENGINE_H
#define BRAID_TESTS_LYING_ENGINE_H

#include <stdint.h>

struct lie {
    uint32_t rank;      // of this process
    uint64_t num_bytes; // that the other rank says it sends
    const void *bytes;  // that it sends, as rank 1
    int verdict;        // as rank 0: a byte that all bytes of its verdict have
};

#define LIE_SYMBOL "braid_lying_engine_lie" // struct lie

#endif
