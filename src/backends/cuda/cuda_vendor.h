// SPDX-License-Identifier: Apache-2.0
// The shared parts of the CUDA column.
#ifndef BRAID_BACKENDS_CUDA_CUDA_VENDOR_H
#define BRAID_BACKENDS_CUDA_CUDA_VENDOR_H

#include "backends/gpu/gpu_vendor.h"

extern const struct gpu_vendor_nodes braid_cuda_nodes;

// cuda_cost.c: gpu_vendor.stream_cost_model and graph_cost_model.
void braid_cuda_stream_cost_model(const struct gpu_backend *gpu, braid_cost_model *out_model);
void braid_cuda_graph_cost_model(const struct gpu_backend *gpu, braid_cost_model *out_model);

#endif
