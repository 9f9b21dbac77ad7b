// SPDX-License-Identifier: Apache-2.0
// Runs an entry: all threads of all blocks by turns, a few instructions each.
#ifndef BRAID_STANDIN_PTX_RUN_H
#define BRAID_STANDIN_PTX_RUN_H

#include "ptx_code.h"

struct grid {
    unsigned grid[3], block[3], shared_bytes;
    const void *arguments;                                  // packed, as the entry's parameters lie
    uint64_t seed;                                          // orders the threads that run
    bool (*set_condition)(uint64_t handle, unsigned value); // sets a loop's; false: there is none
    void (*fetch)(uint64_t address, uint64_t bytes);        // into the cache; NULL: nothing may be
    // Before an access to what is neither a parameter nor memory of a thread or block. False: there
    // is no such memory, and the kernel ends. NULL: all accesses are made.
    bool (*touch)(uint64_t address, uint64_t bytes, bool writes);
};

// False: it could not be run to its end, and why is in `error`: a trap, an operation that is not
// known, threads that wait for each other, or too many instructions.
bool code_run(const struct code *code, const struct grid *grid, struct text *error);

#endif
