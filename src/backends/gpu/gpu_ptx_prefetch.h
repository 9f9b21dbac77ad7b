// SPDX-License-Identifier: Apache-2.0
// Changing PTX so that its kernels fetch into the L2 cache what the next kernel reads.
//
// Each entry is given parameters behind its own, those of struct gpu_prefetch. Thread 0 of a block
// ends with
//     griddepcontrol.launch_dependents;    the next kernel may be launched, once all blocks say so
//     cp.async.bulk.prefetch.L2            a part of the bytes, in the first blocks
// Nobody waits for the fetch. The bytes are read by no instruction, so it does not matter that the
// kernels before this one may still run.
#ifndef BRAID_BACKENDS_GPU_GPU_PTX_PREFETCH_H
#define BRAID_BACKENDS_GPU_GPU_PTX_PREFETCH_H

#include <stdint.h>

#include "backends/gpu/gpu_ptx_read.h"

// Block i fetches `share` bytes from `from` + i * share on, if i < num_blocks. Blocks count x
// first, then y, then z. Both `from` and `share` are multiples of 16.
struct gpu_prefetch {
    const void *from;
    uint32_t share, num_blocks;
};

enum { GPU_PREFETCH_PARAMETERS = 3 };

// The same text with the code in every entry, for the caller to free; NULL where it stays as it is:
// then *out_reason says why, or is empty when memory ran out. Its target must be sm_90 or newer.
char *braid_gpu_ptx_with_prefetch(const char *text, struct ptx_reason *out_reason);

#endif
