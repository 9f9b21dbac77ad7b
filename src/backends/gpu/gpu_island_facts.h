// SPDX-License-Identifier: Apache-2.0
// What a kernel's words say it does, and whether an island can provide for that.
#ifndef BRAID_BACKENDS_GPU_GPU_ISLAND_FACTS_H
#define BRAID_BACKENDS_GPU_GPU_ISLAND_FACTS_H

#include <stdbool.h>

#include "backends/gpu/gpu_tokens.h"

// What one function, or all that is outside of kernels, does.
struct island_facts {
    bool barriers; // __syncthreads
    bool warps;    // talks within a warp
    bool shared;   // static shared memory
    bool fences;   // may wait for other blocks of its own
    bool returns;
};

// Both add to the facts what a word of the code, or a string of its assembly, tells. NULL, or why
// no island can have such a kernel: a constant.
const char *braid_island_note_word(struct island_facts *facts, struct token word);
const char *braid_island_note_assembly(struct island_facts *facts, struct token string);

// Why a kernel that does this cannot run with blocks of so many threads, that many of them one
// after another: a constant; NULL: it can.
const char *braid_island_facts_refuse(const struct island_facts *facts, unsigned long long threads,
                                      unsigned long long blocks);

#endif
