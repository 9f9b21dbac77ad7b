// SPDX-License-Identifier: Apache-2.0
// Changing PTX so that its kernels fetch inputs of the next kernel into the L2 cache.
//
// Each entry is given parameters behind its own, those of struct gpu_prefetch. Thread 0 of a block
// ends with griddepcontrol.launch_dependents. The next kernel may be launched once all blocks have
// said so. In the first blocks that thread also fetches a part of the bytes, by
// cp.async.bulk.prefetch.L2. Nobody waits for the fetch.
#ifndef BRAID_BACKENDS_GPU_GPU_PTX_PREFETCH_H
#define BRAID_BACKENDS_GPU_GPU_PTX_PREFETCH_H

#include <stdint.h>

#include "ptx/ptx_read.h"

// Block i fetches `share` bytes from `from` + i * share on, if i < num_blocks. Blocks count x
// first, then y, then z. Both `from` and `share` are multiples of 16.
struct gpu_prefetch {
    const void *from;
    uint32_t share, num_blocks;
};

enum { GPU_PREFETCH_PARAMETERS = 3 };

// As braid_gpu_ptx_with_read_grid, where the reasons are those of put_ends in gpu_ptx_passes.c. The
// text's target must be sm_90 or newer.
char *braid_gpu_ptx_with_prefetch(const char *text, struct ptx_reason *out_reason);

#endif
