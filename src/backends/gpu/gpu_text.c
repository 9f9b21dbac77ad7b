// SPDX-License-Identifier: Apache-2.0
// PTX of kernels that the program gives as source, for a device or for none.
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "backends/gpu/gpu_backend.h"
#include "base/disk_cache.h"
#include "base/kernel_text.h"

enum { COMMON_ARCHITECTURE = 90 }; // where no device says it

static atomic_int last_architecture; // 0: none

void braid_gpu_note_architecture(const struct gpu_backend *gpu)
{
    if (gpu->vendor == &braid_gpu_cuda)
        atomic_store_explicit(&last_architecture, atoi(gpu->architecture), memory_order_relaxed);
}

static braid_status compile(void *user, const braid_kernel *kernel, char **out_block,
                            const char **out_entry)
{
    const struct gpu_backend *gpu = user;
    const struct gpu_code code = braid_gpu_find_code(gpu, kernel);
    struct gpu_compiled compiled;
    braid_status status = braid_gpu_compile(gpu, kernel->name, &code, true, &compiled);
    if (status)
        return status;
    *out_block = compiled.image;
    *out_entry = *compiled.entry ? compiled.entry : kernel->name;
    return BRAID_OK;
}

void braid_gpu_get_text_compiler(struct backend *backend, struct text_compiler *out_compiler)
{
    struct gpu_backend *gpu = gpu_from(backend);
    *out_compiler = (struct text_compiler){ .user = gpu, .compile = compile };
    snprintf(out_compiler->target, sizeof(out_compiler->target), "%s", gpu->architecture);
}

// Nothing is loaded, so nothing but the vendor's name and the architecture is needed of a device.
static braid_status compile_for_none(void *user, const braid_kernel *kernel, char **out_block,
                                     const char **out_entry)
{
    struct gpu_backend none = { .vendor = &braid_gpu_cuda, .label = "cuda" };
    const int architecture = atomic_load_explicit(&last_architecture, memory_order_relaxed);
    (void)user;
    snprintf(none.architecture, sizeof(none.architecture), "%d",
             architecture ? architecture : COMMON_ARCHITECTURE);
    none.cache = braid_disk_cache_open(NULL);
    braid_status status = compile(&none, kernel, out_block, out_entry);
    braid_disk_cache_close(none.cache);
    return status;
}

void braid_text_compiler_find(struct text_compiler *out_compiler)
{
    const int architecture = atomic_load_explicit(&last_architecture, memory_order_relaxed);
    *out_compiler = (struct text_compiler){ .compile = compile_for_none };
    snprintf(out_compiler->target, sizeof(out_compiler->target), "%d",
             architecture ? architecture : COMMON_ARCHITECTURE);
}
