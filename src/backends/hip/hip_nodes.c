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

static gpu_result put_copy(const struct gpu_backend *gpu, const struct gpu_site *site,
                           const struct work_copy *copy, const void **out_slot)
{
    const struct gpu_behind *behind = &site->behind;
    *out_slot = &gpu->api->hip_executable_set_copy;
    if (site->executable)
        return gpu->api->hip_executable_set_copy(site->executable, *site->node, copy->to,
                                                 copy->from, copy->bytes, HIP_COPY_DEFAULT);
    *out_slot = &gpu->api->hip_graph_add_copy;
    return gpu->api->hip_graph_add_copy(site->node, behind->graph, behind->after, behind->num_after,
                                        copy->to, copy->from, copy->bytes, HIP_COPY_DEFAULT);
}

static gpu_result put_fill(const struct gpu_backend *gpu, const struct gpu_site *site,
                           const struct work_fill *fill, const void **out_slot)
{
    const struct gpu_behind *behind = &site->behind;
    const struct hip_fill_parameters parameters = {
        .to = fill->to,
        .value = fill->value,
        .value_bytes = fill->value_bytes,
        .width = fill->num_values,
        .height = 1,
    };
    *out_slot = &gpu->api->hip_executable_set_fill;
    if (site->executable)
        return gpu->api->hip_executable_set_fill(site->executable, *site->node, &parameters);
    *out_slot = &gpu->api->hip_graph_add_fill;
    return gpu->api->hip_graph_add_fill(site->node, behind->graph, behind->after, behind->num_after,
                                        &parameters);
}

const struct gpu_vendor_nodes braid_hip_nodes = {
    .add_kernel = add_kernel,
    .set_kernel = set_kernel,
    .put_copy = put_copy,
    .put_fill = put_fill,
};
