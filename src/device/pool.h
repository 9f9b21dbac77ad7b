// SPDX-License-Identifier: Apache-2.0
// A bounded pool of objects that are costly to make: streams, events.
#ifndef BRAID_DEVICE_POOL_H
#define BRAID_DEVICE_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"

// Not locked: its owner does that.
struct pool {
    struct array idle; // void *, with room for every object leased, so that a return cannot fail
    size_t max_idle;   // objects returned beyond this many are destroyed
    uint64_t leased;   // objects handed out
    // For braid_device_get_info; public objects count as well as pooled ones.
    uint64_t created; // ever made
    uint64_t live;    // and not yet destroyed
    uint64_t wrapped; // the program's own, round which there is an object now
};

// Takes an idle object; NULL when there is none and the caller must make one.
void *braid_pool_take(struct pool *pool);

// Counts a new object as leased. False when memory runs out: then the caller destroys it.
bool braid_pool_add_leased(struct pool *pool);

// Returns a leased object. False when the pool is full: then the caller destroys the object.
bool braid_pool_put(struct pool *pool, void *object);

#endif
