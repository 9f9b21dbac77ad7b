// SPDX-License-Identifier: Apache-2.0
// The needs of a loaded kernel inside an island, read from its PTX once.
#ifndef BRAID_ISLANDS_GPU_ISLAND_KERNEL_H
#define BRAID_ISLANDS_GPU_ISLAND_KERNEL_H

#include "backends/gpu/gpu_backend.h"
#include "islands/gpu_ptx_callable.h"

// Bytes of a call's shared memory: where it has more, no other runs beside it in a block.
enum { ISLAND_MOST_SHARED = 8 << 10 };

struct gpu_callable {
    const char *text;    // its module's
    const char *entry;   // there
    const char *why_not; // it cannot be inside; NULL: it can. Lives as long as the kernel
    struct ptx_callable needs;
    char reason[160];
};

// Errors: BRAID_NO_MEMORY, and as of braid_gpu_compile.
braid_status braid_gpu_find_callable(struct gpu_backend *gpu, struct gpu_kernel *kernel,
                                     const struct gpu_callable **out_callable);

// Why a launch of the kernel cannot be inside; NULL: it can. Lives as long as the kernel.
const char *braid_gpu_callable_refuse(const struct gpu_callable *callable,
                                      const struct backend_launch *launch);

// Why the blocks cannot run one after another: a constant, or NULL.
const char *braid_gpu_blocks_refuse(bool fences, uint64_t num_blocks);

// Bytes of shared memory of a call, as a lane has room for them.
uint32_t braid_gpu_callable_shared(const struct gpu_callable *callable,
                                   const struct backend_launch *launch);

#endif
