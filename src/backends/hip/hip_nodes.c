// SPDX-License-Identifier: Apache-2.0
// HIP's graph nodes: kernels, copies and fills.
#include "backends/gpu/gpu_backend.h"
#include "backends/hip/hip_layouts.h"
#include "backends/hip/hip_vendor.h"

static struct hip_kernel_parameters kernel_parameters(const struct backend_launch *launch)
{
    return (struct hip_kernel_parameters){
        .function = gpu_kernel_from(launch->kernel)->function,
        .grid = { launch->grid.x, launch->grid.y, launch->grid.z },
        .block = { launch->block.x, launch->block.y, launch->block.z },
        .shared_bytes = launch->shared_bytes,
        .args = (void **)(uintptr_t)launch->args,
    };
}

// HIP has no room for a priority, which is a hint, and no clusters.
static gpu_result add_kernel(const struct gpu_backend *gpu, const struct gpu_behind *behind,
                             const struct backend_launch *launch, gpu_node *out_node,
                             const void **out_slot)
{
    *out_slot = &gpu->api->graph_add_kernel;
    if (launch->cluster.x != 0)
        return GPU_NOT_SUPPORTED;
    struct hip_kernel_parameters parameters = kernel_parameters(launch);
    return gpu->api->graph_add_kernel(out_node, behind->graph, behind->after, behind->num_after,
                                      &parameters);
}

static gpu_result set_kernel(const struct gpu_backend *gpu, gpu_executable executable,
                             gpu_node node, const struct backend_launch *launch)
{
    struct hip_kernel_parameters parameters = kernel_parameters(launch);
    return gpu->api->executable_set_kernel(executable, node, &parameters);
}

static gpu_result add_copy(const struct gpu_backend *gpu, const struct gpu_behind *behind, void *to,
                           const void *from, size_t bytes, gpu_node *out_node,
                           const void **out_slot)
{
    *out_slot = &gpu->api->hip_graph_add_copy;
    return gpu->api->hip_graph_add_copy(out_node, behind->graph, behind->after, behind->num_after,
                                        to, from, bytes, HIP_COPY_DEFAULT);
}

static gpu_result set_copy(const struct gpu_backend *gpu, gpu_executable executable, gpu_node node,
                           void *to, const void *from, size_t bytes, const void **out_slot)
{
    *out_slot = &gpu->api->hip_executable_set_copy;
    return gpu->api->hip_executable_set_copy(executable, node, to, from, bytes, HIP_COPY_DEFAULT);
}

static struct hip_fill_parameters fill_parameters(void *to, uint32_t value, uint32_t value_bytes,
                                                  size_t num_values)
{
    return (struct hip_fill_parameters){
        .to = to,
        .value = value,
        .value_bytes = value_bytes,
        .width = num_values,
        .height = 1,
    };
}

static gpu_result add_fill(const struct gpu_backend *gpu, const struct gpu_behind *behind, void *to,
                           uint32_t value, uint32_t value_bytes, size_t num_values,
                           gpu_node *out_node, const void **out_slot)
{
    struct hip_fill_parameters parameters = fill_parameters(to, value, value_bytes, num_values);
    *out_slot = &gpu->api->hip_graph_add_fill;
    return gpu->api->hip_graph_add_fill(out_node, behind->graph, behind->after, behind->num_after,
                                        &parameters);
}

static gpu_result set_fill(const struct gpu_backend *gpu, gpu_executable executable, gpu_node node,
                           void *to, uint32_t value, uint32_t value_bytes, size_t num_values,
                           const void **out_slot)
{
    struct hip_fill_parameters parameters = fill_parameters(to, value, value_bytes, num_values);
    *out_slot = &gpu->api->hip_executable_set_fill;
    return gpu->api->hip_executable_set_fill(executable, node, &parameters);
}

const struct gpu_vendor_nodes braid_hip_nodes = {
    .add_kernel = add_kernel,
    .set_kernel = set_kernel,
    .add_copy = add_copy,
    .set_copy = set_copy,
    .add_fill = add_fill,
    .set_fill = set_fill,
};
