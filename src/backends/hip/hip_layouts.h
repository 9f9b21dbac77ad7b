// SPDX-License-Identifier: Apache-2.0
// The parameter structs of HIP's graph nodes, as the runtime reads them.
#ifndef BRAID_BACKENDS_HIP_HIP_LAYOUTS_H
#define BRAID_BACKENDS_HIP_HIP_LAYOUTS_H

#include "backends/gpu/gpu_api.h"

// hipKernelNodeParams.
struct hip_kernel_parameters {
    uint32_t block[3];
    void **extra;
    void *function;
    uint32_t grid[3];
    void **args;
    uint32_t shared_bytes;
};

// hipMemsetParams.
struct hip_fill_parameters {
    void *to;
    uint32_t value_bytes;
    size_t height;
    size_t pitch;
    uint32_t value;
    size_t width; // in values
};

enum { HIP_COPY_DEFAULT = 4 }; // hipMemcpyDefault: the runtime finds the kinds of the addresses

#endif
