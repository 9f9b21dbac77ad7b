// SPDX-License-Identifier: Apache-2.0
// Loaded code of islands, shared by the text of its parts.
//
// To unload a module a driver waits for all work on the device, and destroying an exec may wait for
// its own only. So code that nobody uses is kept until another island's is loaded, which may wait
// anyway, or the device is closed; it is found again until then.
#ifndef BRAID_BACKENDS_GPU_GPU_ISLAND_CODE_H
#define BRAID_BACKENDS_GPU_GPU_ISLAND_CODE_H

#include "backends/gpu/gpu_island_parts.h"

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

// Frees what nobody uses any more, memory of islands as well, before the device is closed; only
// forgets it where the device could not be made current.
void braid_gpu_island_codes_finish(struct gpu_backend *gpu, bool current);

#endif
