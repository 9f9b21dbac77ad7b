// SPDX-License-Identifier: Apache-2.0
// Which blocks may be alive at once, asked often.
#ifndef BRAID_MEMORY_CLASHES_H
#define BRAID_MEMORY_CLASHES_H

#include "memory/lifetimes.h"

struct clashes {
    const struct lifetimes *lifetimes;
    uint64_t *rows; // a row of bits a block: those it may be alive with
    size_t words;   // of a row
};

// Errors: BRAID_NO_MEMORY.
braid_status braid_clashes_create(const struct lifetimes *lifetimes, struct clashes *out_clashes);
void braid_clashes_finish(struct clashes *clashes);

// Asking a bit is several times as fast as comparing clocks.
static inline bool clash(const struct clashes *clashes, uint32_t a, uint32_t b)
{
    return clashes->rows[a * clashes->words + b / 64] >> (b % 64) & 1;
}

#endif
