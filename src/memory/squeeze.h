// SPDX-License-Identifier: Apache-2.0
// Makes a packing smaller.
#ifndef BRAID_MEMORY_SQUEEZE_H
#define BRAID_MEMORY_SQUEEZE_H

#include "memory/clashes.h"

// Replaces the offsets of a packing and its bytes by those of one that is no larger. The new one is
// within 1 part in 50 of the bound if a limited number of steps finds such a packing. Errors:
// BRAID_NO_MEMORY (the packing is as it was).
braid_status braid_squeeze(const struct clashes *clashes, uint64_t bound, uint64_t *offsets,
                           uint64_t *bytes);

#endif
