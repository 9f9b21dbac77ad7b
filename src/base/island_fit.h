// SPDX-License-Identifier: Apache-2.0
// Whether a node can be a call inside an island, and its needs there.
#ifndef BRAID_BASE_ISLAND_FIT_H
#define BRAID_BASE_ISLAND_FIT_H

#include <stdbool.h>
#include <stdint.h>

// A node that is not empty and has no reason against it is a kernel, or a copy or fill that a
// kernel does.
struct island_fit {
    const char *why_not; // "it is machine code"; lives as long as the kernel. NULL: it can
    bool is_empty;       // there is nothing to run
    bool is_move;        // a copy or fill
    bool runs_alone;     // no two of its blocks at once in one block of the island
    uint32_t threads;    // in a block
    uint64_t blocks;
    uint32_t arg_bytes;
};

#endif
