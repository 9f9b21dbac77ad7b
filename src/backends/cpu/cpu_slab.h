// SPDX-License-Identifier: Apache-2.0
// Pools of items of one size, which only grow: slabs of many, freed together.
#ifndef BRAID_BACKENDS_CPU_CPU_SLAB_H
#define BRAID_BACKENDS_CPU_CPU_SLAB_H

#include <stdatomic.h>
#include <stddef.h>

enum { CPU_LINE_BYTES = 64 }; // two workers must not both write in one

struct cpu_slab;

// Begins zeroed. Items are taken under a lock of its owner, and put back without it.
struct cpu_pool {
    void *free; // an item, which begins with the address of the next one; NULL: none
    size_t num; // free or not
    _Alignas(CPU_LINE_BYTES) _Atomic(void *) returned; // items put back since `free` was last empty
};

// An item as its last user left it, except its first word; NULL: no memory. All are of one size.
void *braid_cpu_pool_take(struct cpu_pool *pool, struct cpu_slab **slabs, size_t item_bytes);
void braid_cpu_pool_put(struct cpu_pool *pool, void *item); // any thread
// Frees the items of all pools whose slabs these are.
void braid_cpu_slabs_finish(struct cpu_slab **slabs);

#endif
