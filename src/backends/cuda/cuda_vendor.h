// SPDX-License-Identifier: Apache-2.0
// What the files of the CUDA column share.
#ifndef BRAID_BACKENDS_CUDA_CUDA_VENDOR_H
#define BRAID_BACKENDS_CUDA_CUDA_VENDOR_H

#include "backends/gpu/gpu_vendor.h"

gpu_result braid_cuda_add_kernel(const struct gpu_backend *gpu, const struct gpu_place *place,
                                 const struct backend_launch *launch, gpu_node *out_node,
                                 const void **out_slot);
gpu_result braid_cuda_set_kernel(const struct gpu_backend *gpu, gpu_executable executable,
                                 gpu_node node, const struct backend_launch *launch);
gpu_result braid_cuda_set_copy(const struct gpu_backend *gpu, gpu_executable executable,
                               gpu_node node, void *to, const void *from, size_t bytes,
                               const void **out_slot);
gpu_result braid_cuda_set_fill(const struct gpu_backend *gpu, gpu_executable executable,
                               gpu_node node, void *to, uint32_t value, uint32_t value_bytes,
                               size_t num_values, const void **out_slot);
gpu_result braid_cuda_add_copy(const struct gpu_backend *gpu, const struct gpu_place *place,
                               void *to, const void *from, size_t bytes, gpu_node *out_node,
                               const void **out_slot);
gpu_result braid_cuda_add_fill(const struct gpu_backend *gpu, const struct gpu_place *place,
                               void *to, uint32_t value, uint32_t value_bytes, size_t num_values,
                               gpu_node *out_node, const void **out_slot);
gpu_result braid_cuda_add_wait_value(const struct gpu_backend *gpu, const struct gpu_place *place,
                                     void *word, uint32_t value, gpu_node *out_node,
                                     const void **out_slot);
void braid_cuda_stream_cost_model(const struct gpu_backend *gpu, braid_cost_model *out_model);
void braid_cuda_graph_cost_model(const struct gpu_backend *gpu, braid_cost_model *out_model);

#endif
