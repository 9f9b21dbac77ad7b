// SPDX-License-Identifier: Apache-2.0
// Which of many tasks can be inside islands, before any is made.
#ifndef BRAID_ISLANDS_GPU_ISLAND_FIT_H
#define BRAID_ISLANDS_GPU_ISLAND_FIT_H

#include "backends/gpu/gpu_backend.h"
#include "base/island_fit.h"

// Reads each kernel once. Errors: BRAID_NO_MEMORY, BRAID_DEVICE_ERROR, and as of braid_gpu_compile.
braid_status braid_gpu_island_fits(struct gpu_backend *gpu, const struct backend_task *tasks,
                                   uint32_t num, struct island_fit *out_fits);

#endif
