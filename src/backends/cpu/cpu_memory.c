// SPDX-License-Identifier: Apache-2.0
// Memory: host memory for both kinds, and memory that is freed in stream order.
#include "backends/cpu/cpu.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"

enum { ALIGNMENT = 256 };

uint64_t braid_cpu_memory_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES);
    long page_bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes : 0;
}

// More than the machine has is refused here: malloc may promise it, and sanitizers end the program.
static void *allocate(uint64_t bytes)
{
    uint64_t most = braid_cpu_memory_bytes();
    if (bytes > (most ? most : SIZE_MAX - ALIGNMENT))
        return NULL;
    return aligned_alloc(ALIGNMENT, (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
}

braid_status braid_cpu_allocate(struct backend *base, braid_memory_kind kind, uint64_t bytes,
                                void **out_memory)
{
    (void)base;
    (void)kind;
    void *memory = allocate(bytes);
    if (!memory)
        return braid_error(BRAID_NO_MEMORY, "cpu: cannot allocate %llu bytes",
                           (unsigned long long)bytes);
    *out_memory = memory;
    return BRAID_OK;
}

void braid_cpu_release(struct backend *base, braid_memory_kind kind, void *memory)
{
    (void)base;
    (void)kind;
    free(memory);
}
