// SPDX-License-Identifier: Apache-2.0
// The shared parts of the CUDA column.
#ifndef BRAID_BACKENDS_CUDA_CUDA_VENDOR_H
#define BRAID_BACKENDS_CUDA_CUDA_VENDOR_H

#include "backends/gpu/gpu_vendor.h"

extern const struct gpu_vendor_nodes braid_cuda_nodes;

#endif
