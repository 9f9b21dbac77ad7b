// SPDX-License-Identifier: Apache-2.0
// The code of an island: the text of its walker, its kernels as blocks, and both loaded.
//
// Islands share loaded code by the text of its parts. To unload a module a driver waits for all
// work on the device, and destroying an exec may wait for its own only. So unused code is kept, and
// can be found again. It goes when another island's code is loaded, which may wait anyway, or when
// the device is closed.
#ifndef BRAID_ISLANDS_GPU_ISLAND_CODE_H
#define BRAID_ISLANDS_GPU_ISLAND_CODE_H

#include "islands/gpu_island_lists.h"
#include "islands/gpu_ptx_callable.h"
#include "islands/gpu_ptx_paste.h"

// The text, whose kernel is "braid_island", for the caller to free; NULL: memory ran out. Where it
// calls the kernel of a number, it has the marker of that number (gpu_ptx_callable.h).
char *braid_island_text(const struct island_layout *layout, uint32_t num_kernels);

// A kernel that the island calls. Its number is its place among them.
struct island_kernel {
    uint32_t module; // which of the modules
    const char *entry;
    const struct ptx_callable *needs;
};

struct island_parts {
    char *walker;               // CUDA C++
    struct ptx_pasted *blocks;  // by number
    uint32_t num_blocks, small; // see ptx_paste
    const char *const *modules; // the caller's
    char **needed;              // by module
    uint32_t num_modules;
};

// The modules' texts outlive the parts. Errors: BRAID_NO_MEMORY.
braid_status braid_island_parts_create(const struct island_layout *layout,
                                       const char *const *modules, uint32_t num_modules,
                                       const struct island_kernel *kernels, uint32_t num_kernels,
                                       struct island_parts *out_parts);
void braid_island_parts_finish(struct island_parts *parts);

struct gpu_island_code {
    struct gpu_island_code *next; // guarded by gpu_backend.lock
    char *key;                    // the text of its parts
    gpu_module module;
    gpu_function function;
    uint32_t references; // guarded by gpu_backend.lock
};

// The island's PTX, where the walker was compiled to `text`, for the caller to free; NULL: memory
// ran out.
char *braid_island_parts_paste(const struct island_parts *parts, const char *text);

// Finds code of such parts; or compiles the walker, puts the kernels in and loads it. The device is
// current. Errors: BRAID_UNSUPPORTED (it cannot be compiled, or the driver does not take its PTX),
// BRAID_DEVICE_ERROR, BRAID_NO_MEMORY.
braid_status braid_gpu_island_code_acquire(struct gpu_backend *gpu,
                                           const struct island_parts *parts,
                                           struct gpu_island_code **out_code);

void braid_gpu_island_code_release(struct gpu_backend *gpu, struct gpu_island_code *code);

#endif
