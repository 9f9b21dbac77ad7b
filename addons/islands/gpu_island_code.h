// SPDX-License-Identifier: Apache-2.0
// Loaded code of islands, shared by the text of its parts.
//
// To unload a module a driver waits for all work on the device, and destroying an exec may wait for
// its own only. So unused code is kept, and can be found again. It goes when another island's code
// is loaded, which may wait anyway, or when the device is closed.
#ifndef BRAID_ISLANDS_GPU_ISLAND_CODE_H
#define BRAID_ISLANDS_GPU_ISLAND_CODE_H

#include "islands/gpu_island_parts.h"

struct gpu_island_code {
    struct gpu_island_code *next; // guarded by gpu_backend.load_lock
    char *key;                    // braid_island_parts_key
    gpu_module module;
    gpu_function function;
    uint32_t references; // guarded by gpu_backend.lock
};

// Finds code of such parts; or compiles the walker, puts the kernels in and loads it. The device is
// current. Errors: BRAID_UNSUPPORTED (it cannot be compiled, or the driver does not take its PTX),
// BRAID_DEVICE_ERROR, BRAID_NO_MEMORY.
braid_status braid_gpu_island_code_acquire(struct gpu_backend *gpu,
                                           const struct island_parts *parts,
                                           struct gpu_island_code **out_code);
void braid_gpu_island_code_release(struct gpu_backend *gpu, struct gpu_island_code *code);

#endif
