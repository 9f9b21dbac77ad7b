// SPDX-License-Identifier: Apache-2.0
// Names of a graph's nodes and resources. A stored name never moves: programs hold pointers to it.
#ifndef BRAID_GRAPH_NAMES_H
#define BRAID_GRAPH_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"

#define NAMES_NONE UINT32_MAX

// Names stand one after another in blocks that grow to 64 KiB; a longer name has a block of its
// own.
struct names {
    struct array blocks; // char *
    size_t used;         // bytes in the last block
    size_t capacity;     // the last block's
    size_t bytes;        // the bytes of all blocks
};

void braid_names_finish(struct names *names);

// Makes room for a copy of `name`; NULL needs none. False when memory or 32-bit handles run out.
bool braid_names_reserve(struct names *names, const char *name);

// Copies a name that was reserved for last; returns its handle, NAMES_NONE for NULL.
uint32_t braid_names_store(struct names *names, const char *name);

const char *braid_names_at(const struct names *names, uint32_t handle);

#endif
