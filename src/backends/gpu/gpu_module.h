// SPDX-License-Identifier: Apache-2.0
// Loaded modules: one for each image or source, counted.
#ifndef BRAID_BACKENDS_GPU_GPU_MODULE_H
#define BRAID_BACKENDS_GPU_GPU_MODULE_H

#include "backends/gpu/gpu_backend.h"

struct gpu_module {
    struct gpu_module *next;
    const void *key; // the image or source it was loaded from
    gpu_module handle;
    uint32_t references; // guarded by gpu_backend.lock
};

// Where a kernel's code comes from on the backend's vendor. No key: it has none.
struct gpu_code {
    const void *key;
    const char *entry;
    void *function;     // the program's own
    const void *image;  // to load
    const char *source; // to compile
};

struct gpu_code braid_gpu_find_code(const struct gpu_backend *gpu, const braid_kernel *kernel);

// Finds the module of the code or loads it, and counts one reference to it. Both are called with
// gpu_backend.lock held and the device current. NULL is released to no effect.
braid_status braid_gpu_module_acquire(struct gpu_backend *gpu, const braid_kernel *kernel,
                                      const struct gpu_code *code, struct gpu_module **out_module);
void braid_gpu_module_release(struct gpu_backend *gpu, struct gpu_module *module);

#endif
