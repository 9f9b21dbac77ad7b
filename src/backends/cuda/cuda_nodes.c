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

// An early start is an edge, and a priority is a hint. A driver refuses attributes as invalid that
// it does not know.
static gpu_result set_attributes(const struct gpu_backend *gpu, gpu_node node,
                                 const struct backend_launch *launch)
{
    struct gpu_attribute attributes[GPU_MOST_ATTRIBUTES];
    uint32_t num = braid_gpu_list_attributes(gpu, launch, attributes);
    gpu_result result = GPU_SUCCESS;
    for (uint32_t i = 0; i < num && !result; i++) {
        const struct gpu_attribute *attribute = &attributes[i];
        if (attribute->id == GPU_LAUNCH_PROGRAMMATIC)
            continue;
        if (gpu->api->node_set_attribute)
            result = gpu->api->node_set_attribute(node, attribute->id, &attribute->value);
        else if (attribute->id != GPU_LAUNCH_PRIORITY)
            result = GPU_NOT_SUPPORTED;
    }
    return result == GPU_INVALID_VALUE ? GPU_NOT_SUPPORTED : result;
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
    struct backend_launch made = *launch;
    made.priority = launch->priority ? launch->priority : behind->priority;
    *out_slot = &gpu->api->node_set_attribute;
    return set_attributes(gpu, *out_node, &made);
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

static gpu_result put_copy(const struct gpu_backend *gpu, const struct gpu_site *site,
                           const struct work_copy *copy, const void **out_slot)
{
    const struct gpu_behind *behind = &site->behind;
    const struct cuda_copy_parameters parameters = {
        .from = copy_side(copy->from),
        .to = copy_side(copy->to),
        .width = copy->bytes,
        .height = 1,
        .depth = 1,
    };
    *out_slot = &gpu->api->executable_set_copy;
    if (site->executable)
        return gpu->api->executable_set_copy(site->executable, *site->node, &parameters,
                                             gpu->context);
    *out_slot = &gpu->api->graph_add_copy;
    return gpu->api->graph_add_copy(site->node, behind->graph, behind->after, behind->num_after,
                                    &parameters, gpu->context);
}

static const void *address_of(const struct cuda_copy_side *side)
{
    if (side->memory_type == GPU_MEMORY_HOST)
        return side->host;
    return side->array ? NULL : (const void *)(uintptr_t)side->device;
}

static gpu_result read_copy(const struct gpu_backend *gpu, gpu_node node, const void **out_to,
                            const void **out_from, const void **out_slot)
{
    struct cuda_copy_parameters parameters = { 0 };
    int type = 0;
    *out_to = *out_from = NULL;
    *out_slot = &gpu->api->node_type;
    gpu_result result = gpu->api->node_type(node, &type);
    if (result || type != GPU_NODE_COPY)
        return result;
    *out_slot = &gpu->api->node_copy;
    result = gpu->api->node_copy(node, &parameters);
    if (result)
        return result;
    *out_to = address_of(&parameters.to);
    *out_from = address_of(&parameters.from);
    return GPU_SUCCESS;
}

static gpu_result put_fill(const struct gpu_backend *gpu, const struct gpu_site *site,
                           const struct work_fill *fill, const void **out_slot)
{
    const struct gpu_behind *behind = &site->behind;
    const struct cuda_fill_parameters parameters = {
        .to = (uint64_t)(uintptr_t)fill->to,
        .value = fill->value,
        .value_bytes = fill->value_bytes,
        .width = fill->num_values,
        .height = 1,
    };
    *out_slot = &gpu->api->executable_set_fill;
    if (site->executable)
        return gpu->api->executable_set_fill(site->executable, *site->node, &parameters,
                                             gpu->context);
    *out_slot = &gpu->api->graph_add_fill;
    return gpu->api->graph_add_fill(site->node, behind->graph, behind->after, behind->num_after,
                                    &parameters, gpu->context);
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
    .put_copy = put_copy,
    .put_fill = put_fill,
    .read_copy = read_copy,
    .add_wait_value = add_wait_value,
    .add_conditional = add_conditional,
};
