// SPDX-License-Identifier: Apache-2.0
// Pools of items of one size, which only grow.
#include <stdbool.h>

#include "backends/cpu/cpu.h"
#include "base/host_memory.h"

// How many items a frame has in flight at once varies with the workers' luck. A first slab that is
// larger than most frames, and doubling after it, keep a later frame from being the one that grows.
enum {
    LEAST_BYTES = 64 * 1024,
    MOST_BYTES = 1024 * 1024, // a slab with more than one item has no more
};

// The items follow, on a cache line of their own.
struct cpu_slab {
    _Alignas(CPU_LINE_BYTES) struct cpu_slab *next;
};

static size_t num_more(size_t num_now, size_t item_bytes)
{
    size_t least = LEAST_BYTES / item_bytes;
    size_t num = num_now > least ? num_now : least;
    size_t most = MOST_BYTES / item_bytes;
    if (num > most)
        num = most;
    return num ? num : 1;
}

static unsigned char *create_slab(struct cpu_slab **slabs, size_t num, size_t item_bytes)
{
    size_t bytes = sizeof(struct cpu_slab) + num * item_bytes;
    bytes = (bytes + CPU_LINE_BYTES - 1) / CPU_LINE_BYTES * CPU_LINE_BYTES;
    struct cpu_slab *slab = braid_allocate_aligned(CPU_LINE_BYTES, bytes);
    if (!slab)
        return NULL;
    slab->next = *slabs;
    *slabs = slab;
    return (unsigned char *)(slab + 1);
}

static bool grow(struct cpu_pool *pool, struct cpu_slab **slabs, size_t item_bytes)
{
    size_t num = num_more(pool->num, item_bytes);
    unsigned char *items = create_slab(slabs, num, item_bytes);
    if (!items)
        return false;
    for (size_t i = num; i-- > 0;) {
        void **item = (void **)(void *)(items + i * item_bytes);
        *item = pool->free;
        pool->free = item;
    }
    pool->num += num;
    return true;
}

void *braid_cpu_pool_take(struct cpu_pool *pool, struct cpu_slab **slabs, size_t item_bytes)
{
    if (!pool->free)
        pool->free = atomic_exchange_explicit(&pool->returned, NULL, memory_order_acquire);
    if (!pool->free && !grow(pool, slabs, item_bytes))
        return NULL;
    void **item = pool->free;
    pool->free = *item;
    return item;
}

// Takers take all returned items at once, so none can be taken and come back while this looks.
void braid_cpu_pool_put(struct cpu_pool *pool, void *item)
{
    void *next = atomic_load_explicit(&pool->returned, memory_order_relaxed);
    do
        *(void **)item = next;
    while (!atomic_compare_exchange_weak_explicit(&pool->returned, &next, item,
                                                  memory_order_release, memory_order_relaxed));
}

void braid_cpu_slabs_finish(struct cpu_slab **slabs)
{
    while (*slabs) {
        struct cpu_slab *slab = *slabs;
        *slabs = slab->next;
        braid_free(slab);
    }
}
