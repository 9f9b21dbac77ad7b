// SPDX-License-Identifier: Apache-2.0
// The parameter struct of a host node, which both vendors lay out alike.
#ifndef BRAID_BACKENDS_GPU_GPU_LAYOUTS_H
#define BRAID_BACKENDS_GPU_GPU_LAYOUTS_H

#include "backends/gpu/gpu_api.h"

// CUDA_HOST_NODE_PARAMS, hipHostNodeParams.
struct gpu_host_parameters {
    gpu_host_function *call;
    void *user;
};

#endif
