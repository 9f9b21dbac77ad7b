// SPDX-License-Identifier: Apache-2.0
// CUDA's graph nodes: kernels with their attributes, copies and fills.
#include "backends/cuda/cuda_layouts.h"
#include "backends/cuda/cuda_vendor.h"
#include "backends/gpu/gpu_backend.h"

static struct cuda_kernel_parameters kernel_parameters(const struct backend_launch *launch)
{
    return (struct cuda_kernel_parameters){
        .function = gpu_kernel_from(launch->kernel)->function,
        .grid = { launch->grid.x, launch->grid.y, launch->grid.z },
        .block = { launch->block.x, launch->block.y, launch->block.z },
        .shared_bytes = launch->shared_bytes,
        .args = (void **)(uintptr_t)launch->args,
    };
}

static gpu_result set_cluster(const struct gpu_api *api, gpu_node node, braid_dim3 cluster)
{
    union gpu_attribute_value value = { { 0 } };
    if (cluster.x == 0)
        return GPU_SUCCESS;
    if (!api->node_set_attribute)
        return GPU_NOT_SUPPORTED;
    value.cluster.x = cluster.x;
    value.cluster.y = cluster.y;
    value.cluster.z = cluster.z;
    return api->node_set_attribute(node, GPU_LAUNCH_CLUSTER, &value);
}

static gpu_result set_priority(const struct gpu_backend *gpu, gpu_node node, int32_t priority)
{
    union gpu_attribute_value value = { { 0 } };
    if (priority == 0 || !gpu->api->node_set_attribute)
        return GPU_SUCCESS;
    value.priority = braid_gpu_clamp_priority(gpu, priority);
    return gpu->api->node_set_attribute(node, GPU_LAUNCH_PRIORITY, &value);
}

static gpu_result set_cooperative(const struct gpu_api *api, gpu_node node, bool cooperative)
{
    union gpu_attribute_value value = { { 0 } };
    if (!cooperative)
        return GPU_SUCCESS;
    if (!api->node_set_attribute)
        return GPU_NOT_SUPPORTED;
    value.cooperative = 1;
    return api->node_set_attribute(node, GPU_LAUNCH_COOPERATIVE, &value);
}

static gpu_result add_kernel(const struct gpu_backend *gpu, const struct gpu_behind *behind,
                             const struct backend_launch *launch, gpu_node *out_node,
                             const void **out_slot)
{
    struct cuda_kernel_parameters parameters = kernel_parameters(launch);
    *out_slot = &gpu->api->graph_add_kernel;
    gpu_result result = gpu->api->graph_add_kernel(out_node, behind->graph, behind->after,
                                                   behind->num_after, &parameters);
    if (result)
        return result;
    *out_slot = &gpu->api->node_set_attribute;
    result = set_cluster(gpu->api, *out_node, launch->cluster);
    if (!result)
        result = set_priority(gpu, *out_node, launch->priority);
    if (!result)
        result = set_cooperative(gpu->api, *out_node, launch->cooperative);
    return result;
}

static gpu_result set_kernel(const struct gpu_backend *gpu, gpu_executable executable,
                             gpu_node node, const struct backend_launch *launch)
{
    struct cuda_kernel_parameters parameters = kernel_parameters(launch);
    return gpu->api->executable_set_kernel(executable, node, &parameters);
}

// Pageable memory never comes here: see gpu_detour.c.
static struct cuda_copy_side copy_side(const void *memory)
{
    return (struct cuda_copy_side){ .memory_type = GPU_MEMORY_UNIFIED,
                                    .device = (uint64_t)(uintptr_t)memory };
}

static struct cuda_copy_parameters copy_parameters(void *to, const void *from, size_t bytes)
{
    return (struct cuda_copy_parameters){
        .from = copy_side(from),
        .to = copy_side(to),
        .width = bytes,
        .height = 1,
        .depth = 1,
    };
}

static gpu_result add_copy(const struct gpu_backend *gpu, const struct gpu_behind *behind, void *to,
                           const void *from, size_t bytes, gpu_node *out_node,
                           const void **out_slot)
{
    struct cuda_copy_parameters parameters = copy_parameters(to, from, bytes);
    *out_slot = &gpu->api->graph_add_copy;
    return gpu->api->graph_add_copy(out_node, behind->graph, behind->after, behind->num_after,
                                    &parameters, gpu->context);
}

static gpu_result set_copy(const struct gpu_backend *gpu, gpu_executable executable, gpu_node node,
                           void *to, const void *from, size_t bytes, const void **out_slot)
{
    struct cuda_copy_parameters parameters = copy_parameters(to, from, bytes);
    *out_slot = &gpu->api->executable_set_copy;
    return gpu->api->executable_set_copy(executable, node, &parameters, gpu->context);
}

static struct cuda_fill_parameters fill_parameters(void *to, uint32_t value, uint32_t value_bytes,
                                                   size_t num_values)
{
    return (struct cuda_fill_parameters){
        .to = (uint64_t)(uintptr_t)to,
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
    struct cuda_fill_parameters parameters = fill_parameters(to, value, value_bytes, num_values);
    *out_slot = &gpu->api->graph_add_fill;
    return gpu->api->graph_add_fill(out_node, behind->graph, behind->after, behind->num_after,
                                    &parameters, gpu->context);
}

static gpu_result set_fill(const struct gpu_backend *gpu, gpu_executable executable, gpu_node node,
                           void *to, uint32_t value, uint32_t value_bytes, size_t num_values,
                           const void **out_slot)
{
    struct cuda_fill_parameters parameters = fill_parameters(to, value, value_bytes, num_values);
    *out_slot = &gpu->api->executable_set_fill;
    return gpu->api->executable_set_fill(executable, node, &parameters, gpu->context);
}

static gpu_result add_wait_value(const struct gpu_backend *gpu, const struct gpu_behind *behind,
                                 void *word, uint32_t value, gpu_node *out_node,
                                 const void **out_slot)
{
    struct cuda_wait_value wait = { .operation = CUDA_WAIT_VALUE_32,
                                    .word = (uint64_t)(uintptr_t)word,
                                    .value = value,
                                    .flags = GPU_WAIT_FOR_AT_LEAST };
    const struct cuda_operation_parameters parameters = { .context = gpu->context,
                                                          .num = 1,
                                                          .operations = &wait };
    *out_slot = &gpu->api->graph_add_memory_operations;
    return gpu->api->graph_add_memory_operations(out_node, behind->graph, behind->after,
                                                 behind->num_after, &parameters);
}

static gpu_result add_conditional(const struct gpu_backend *gpu, const struct gpu_behind *behind,
                                  const struct gpu_conditional *conditional, gpu_node *out_node,
                                  gpu_graph *out_bodies, const void **out_slot)
{
    struct cuda_loop_parameters parameters = {
        .type = GPU_NODE_CONDITIONAL,
        .condition = conditional->condition,
        .condition_type = conditional->is_loop ? GPU_CONDITION_WHILE : GPU_CONDITION_IF,
        .num_bodies = conditional->num_bodies,
        .context = gpu->context,
    };
    *out_slot = &gpu->api->graph_add_node;
    gpu_result result = gpu->api->graph_add_node(out_node, behind->graph, behind->after, NULL,
                                                 behind->num_after, &parameters);
    for (uint32_t i = 0; i < conditional->num_bodies && result == GPU_SUCCESS; i++)
        out_bodies[i] = parameters.bodies[i];
    return result;
}

const struct gpu_vendor_nodes braid_cuda_nodes = {
    .add_kernel = add_kernel,
    .set_kernel = set_kernel,
    .add_copy = add_copy,
    .set_copy = set_copy,
    .add_fill = add_fill,
    .set_fill = set_fill,
    .add_wait_value = add_wait_value,
    .add_conditional = add_conditional,
};
