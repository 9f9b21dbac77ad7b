// SPDX-License-Identifier: Apache-2.0
// The most bytes that blocks no two of which are ordered can have together.
#ifndef BRAID_MEMORY_ANTICHAIN_H
#define BRAID_MEMORY_ANTICHAIN_H

#include "memory/lifetimes.h"

// A bound on every packing. Exact for up to 2,048 blocks; beyond, only sets of blocks that are
// alive at one place of the issue order are looked at. Errors: BRAID_NO_MEMORY.
braid_status braid_antichain_bytes(const struct lifetimes *lifetimes, uint64_t *out_bytes);

#endif
