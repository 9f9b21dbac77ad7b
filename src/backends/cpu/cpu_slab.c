// SPDX-License-Identifier: Apache-2.0
// Memory for pools that only grow: blocks of many items, freed when the backend is closed.
#include "backends/cpu/cpu.h"

#include <stdlib.h>

// How many items a frame has in flight at once varies with the workers' luck. A first slab that is
// larger than most frames, and doubling after it, keep a later frame from being the one that grows.
enum {
    LEAST_ITEMS = 256,
    MOST_BYTES = 1024 * 1024, // of a slab with more than one item
};

// The items follow, on a cache line of their own.
struct cpu_slab {
    _Alignas(CPU_LINE_BYTES) struct cpu_slab *next;
};

size_t braid_cpu_slab_items(size_t num_now, size_t item_bytes)
{
    size_t num = num_now > LEAST_ITEMS ? num_now : LEAST_ITEMS;
    size_t most = MOST_BYTES / item_bytes;
    if (num > most)
        num = most;
    return num ? num : 1;
}

void *braid_cpu_slab_create(struct cpu_backend *backend, size_t num, size_t item_bytes)
{
    size_t bytes = sizeof(struct cpu_slab) + num * item_bytes;
    bytes = (bytes + CPU_LINE_BYTES - 1) / CPU_LINE_BYTES * CPU_LINE_BYTES;
    struct cpu_slab *slab = aligned_alloc(CPU_LINE_BYTES, bytes);
    if (!slab)
        return NULL;
    slab->next = backend->slabs;
    backend->slabs = slab;
    return slab + 1;
}

void braid_cpu_slabs_finish(struct cpu_backend *backend)
{
    while (backend->slabs) {
        struct cpu_slab *slab = backend->slabs;
        backend->slabs = slab->next;
        free(slab);
    }
}
