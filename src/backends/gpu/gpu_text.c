// SPDX-License-Identifier: Apache-2.0
// PTX of kernels that the program gives as source, before any device loads them.
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "backends/gpu/gpu_backend.h"
#include "backends/gpu/gpu_disk_cache.h"
#include "base/kernel_text.h"

enum { COMMON_ARCHITECTURE = 90 }; // where no device says it

static atomic_int last_architecture; // 0: none

void braid_gpu_note_architecture(const struct gpu_backend *gpu)
{
    if (gpu->vendor == &braid_gpu_cuda)
        atomic_store_explicit(&last_architecture, atoi(gpu->architecture), memory_order_relaxed);
}

static int find_architecture(void)
{
    const int last = atomic_load_explicit(&last_architecture, memory_order_relaxed);
    return last ? last : COMMON_ARCHITECTURE;
}

// A compiler needs nothing of a device but the vendor and the architecture.
static braid_status find(void *user, uint32_t node, const braid_kernel *kernel, char **out_text,
                         const char **out_entry)
{
    struct gpu_backend none = { .vendor = &braid_gpu_cuda, .label = "cuda" };
    struct gpu_compiled compiled;
    (void)user;
    (void)node;
    snprintf(none.architecture, sizeof(none.architecture), "%d", find_architecture());
    none.cache = braid_disk_cache_open(NULL);
    const struct gpu_code code = braid_gpu_find_code(&none, kernel);
    braid_status status = braid_gpu_compile(&none, kernel->name, &code, true, &compiled);
    braid_disk_cache_close(none.cache);
    if (status)
        return status;
    *out_text = compiled.image;
    *out_entry = *compiled.entry ? compiled.entry : kernel->name;
    return BRAID_OK;
}

void braid_text_finder_make(struct text_finder *out_finder)
{
    *out_finder = (struct text_finder){ .find = find };
    snprintf(out_finder->target, sizeof(out_finder->target), "%d", find_architecture());
}
