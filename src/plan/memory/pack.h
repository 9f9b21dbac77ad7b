// SPDX-License-Identifier: Apache-2.0
// Offsets for blocks, so that those that may be alive at once do not overlap.
#ifndef BRAID_PLAN_MEMORY_PACK_H
#define BRAID_PLAN_MEMORY_PACK_H

#include "plan/memory/lifetimes.h"

// Fills out_offsets (one a block); returns the bytes of the arena in out_bytes. `bound` is the
// least that is possible: when it is met, no better packing is looked for.
// Errors: BRAID_NO_MEMORY.
braid_status braid_pack(const struct lifetimes *lifetimes, uint64_t bound, uint64_t *out_offsets,
                        uint64_t *out_bytes);

// The same for a large number of blocks, in little more than linear time.
// Fills out_offsets (one a block) and out_bytes as braid_pack does. It asks up to most_questions
// times whether one block comes before another. If these are too few, fewer blocks share bytes:
// every node must know that the users of one have ended before the other is used. Errors:
// BRAID_NO_MEMORY.
braid_status braid_pack_by_time(const struct lifetimes *lifetimes, uint64_t most_questions,
                                uint64_t *out_offsets, uint64_t *out_bytes);

#endif
