// SPDX-License-Identifier: Apache-2.0
// Offsets for blocks, so that those that may be alive at once do not overlap.
#ifndef BRAID_MEMORY_PACK_H
#define BRAID_MEMORY_PACK_H

#include "memory/lifetimes.h"

// Fills out_offsets (one a block); returns the bytes of the arena in out_bytes. `bound` is the
// least that is possible: when it is met, no better packing is looked for.
// Errors: BRAID_NO_MEMORY.
braid_status braid_pack(const struct lifetimes *lifetimes, uint64_t bound, uint64_t *out_offsets,
                        uint64_t *out_bytes);

#endif
