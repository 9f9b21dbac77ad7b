// SPDX-License-Identifier: Apache-2.0
// A matrix of bits from the clocks of lifetimes.
#include "memory/clashes.h"

#include "base/array.h"
#include "base/error.h"

braid_status braid_clashes_create(const struct lifetimes *lifetimes, struct clashes *out_clashes)
{
    uint32_t num = lifetimes->num;
    struct clashes clashes = { .lifetimes = lifetimes, .words = ((size_t)num + 63) / 64 };
    clashes.rows = braid_allocate_zeroed(num * clashes.words, sizeof(uint64_t));
    if (!clashes.rows)
        return braid_error_no_memory("the memory of a plan");
    for (uint32_t a = 0; a < num; a++) {
        for (uint32_t b = 0; b < a; b++) {
            if (!lifetimes_interfere(lifetimes, a, b))
                continue;
            clashes.rows[a * clashes.words + b / 64] |= (uint64_t)1 << (b % 64);
            clashes.rows[b * clashes.words + a / 64] |= (uint64_t)1 << (a % 64);
        }
    }
    *out_clashes = clashes;
    return BRAID_OK;
}

void braid_clashes_finish(struct clashes *clashes)
{
    free(clashes->rows);
    *clashes = (struct clashes){ 0 };
}
