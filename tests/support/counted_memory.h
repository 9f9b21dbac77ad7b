// SPDX-License-Identifier: Apache-2.0
// An allocator for a device, which counts the blocks that are out. Memory that an engine may still
// write to, when ranks have failed, is none of these: it outlives the device.
#ifndef BRAID_TESTS_COUNTED_MEMORY_H
#define BRAID_TESTS_COUNTED_MEMORY_H

#include <stdatomic.h>
#include <stdlib.h>

#include <braid/device.h>

static atomic_long num_counted;

static inline void *counted_allocate(size_t bytes, size_t alignment, void *user)
{
    (void)user;
    atomic_fetch_add(&num_counted, 1);
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static inline void *counted_resize(void *memory, size_t old_bytes, size_t bytes, size_t alignment,
                                   void *user)
{
    (void)old_bytes, (void)alignment, (void)user;
    return realloc(memory, bytes);
}

static inline void counted_free(void *memory, size_t bytes, size_t alignment, void *user)
{
    (void)bytes, (void)alignment, (void)user;
    atomic_fetch_sub(&num_counted, 1);
    free(memory);
}

static const braid_allocator counted_memory = { counted_allocate, counted_resize, counted_free,
                                                NULL };

#endif
