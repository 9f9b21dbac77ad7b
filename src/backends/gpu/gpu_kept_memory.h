// SPDX-License-Identifier: Apache-2.0
// Memory of islands, loops and frames' times, which is used again and freed late.
//
// To free memory a driver waits for all work on the device, and destroying an exec may wait for its
// own only. So the memory of an exec is kept for the next that wants as much. It goes when an
// island loads new code, which may wait anyway, or when the device is closed. In each size, no more
// is kept than was once used at the same time.
#ifndef BRAID_BACKENDS_GPU_GPU_KEPT_MEMORY_H
#define BRAID_BACKENDS_GPU_GPU_KEPT_MEMORY_H

#include "backends/gpu/gpu_backend.h"

// At least so many bytes, with anything in them. Errors: as braid_gpu_allocate.
braid_status braid_gpu_kept_memory_take(struct gpu_backend *gpu, braid_memory_kind kind,
                                        size_t bytes, void **out_memory);
// Memory that was taken and that nothing in flight uses; NULL is given back to no effect.
void braid_gpu_kept_memory_leave(struct gpu_backend *gpu, void *memory);

// Frees all unused memory. If the device could not be made current, it only forgets it.
void braid_gpu_kept_memory_free(struct gpu_backend *gpu, bool current);

#endif
