// SPDX-License-Identifier: Apache-2.0
// Makes a packing smaller.
#ifndef BRAID_MEMORY_SQUEEZE_H
#define BRAID_MEMORY_SQUEEZE_H

#include "memory/clashes.h"

// Takes the offsets of a packing and its bytes, and leaves those of one that is no larger, within 1
// part in 50 of the bound where that is found in a limited number of steps.
// Errors: BRAID_NO_MEMORY (the packing is as it was).
braid_status braid_squeeze(const struct clashes *clashes, uint64_t bound, uint64_t *offsets,
                           uint64_t *bytes);

#endif
