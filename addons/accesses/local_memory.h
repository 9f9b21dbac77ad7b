// SPDX-License-Identifier: Apache-2.0
// The sources of all that a kernel stores in its local memory, by variable and by 8 bytes.
//
// Nobody finds a variable by the address of another one, so each has its own cells. A store grows
// the cells that it may reach, and a load joins those that it may read.
#ifndef BRAID_ACCESSES_LOCAL_MEMORY_H
#define BRAID_ACCESSES_LOCAL_MEMORY_H

#include "accesses/sources.h"

// Zero-initialised is empty.
struct local_memory {
    struct array variables; // struct local_variable, by item of a source
    uint32_t unknown;       // the set of all that was stored at an address of no known variable
    uint32_t all;           // and of all that was stored
};

// Bytes from a place on. `address` is a SOURCE_LOCAL, and the place is so far behind it.
struct local_place {
    uint64_t address;
    int64_t behind;
    uint32_t bytes; // 0: nobody knows how many
};

// True: some cell grew. If memory runs out, sets->failed is set.
bool braid_local_memory_store(struct local_memory *memory, struct source_sets *sets,
                              struct local_place to, uint32_t set);
uint32_t braid_local_memory_load(const struct local_memory *memory, struct source_sets *sets,
                                 struct local_place from);
void braid_local_memory_finish(struct local_memory *memory);

#endif
