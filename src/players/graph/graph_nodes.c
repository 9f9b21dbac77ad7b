// SPDX-License-Identifier: Apache-2.0
// Nodes of the driver's graph for work that is no kernel.
#include "players/graph/graph_nodes.h"

#include "backends/gpu/gpu_layouts.h"

static braid_status add_copy(const struct gpu_backend *gpu, const struct gpu_behind *behind,
                             const struct backend_task *task, gpu_node *out_node)
{
    const void *slot = NULL;
    gpu_result result = gpu->vendor->nodes->add_copy(gpu, behind, task->copy.to, task->copy.from,
                                                     task->copy.bytes, out_node, &slot);
    return braid_gpu_check_task(gpu, result, slot, task, NULL);
}

uint32_t braid_graph_cut_value(uint32_t value, uint32_t value_bytes)
{
    return value_bytes == 4 ? value : value & ((1u << (8 * value_bytes)) - 1);
}

static braid_status add_fill(const struct gpu_backend *gpu, const struct gpu_behind *behind,
                             const struct backend_task *task, gpu_node *out_node)
{
    uint32_t value = braid_graph_cut_value(task->fill.value, task->fill.value_bytes);
    const void *slot = NULL;
    gpu_result result =
        gpu->vendor->nodes->add_fill(gpu, behind, task->fill.to, value, task->fill.value_bytes,
                                     task->fill.num_values, out_node, &slot);
    return braid_gpu_check_task(gpu, result, slot, task, NULL);
}

static braid_status add_host(const struct gpu_backend *gpu, const struct gpu_behind *behind,
                             const struct backend_task *task, gpu_node *out_node)
{
    struct gpu_host_parameters parameters = { .call = task->host.call, .user = task->host.user };
    gpu_result result = gpu->api->graph_add_host(out_node, behind->graph, behind->after,
                                                 behind->num_after, &parameters);
    return braid_gpu_check_task(gpu, result, &gpu->api->graph_add_host, task, NULL);
}

braid_status braid_graph_add_empty_node(const struct gpu_backend *gpu,
                                        const struct gpu_behind *behind,
                                        const struct backend_task *task, gpu_node *out_node)
{
    gpu_result result =
        gpu->api->graph_add_empty(out_node, behind->graph, behind->after, behind->num_after);
    return braid_gpu_check_task(gpu, result, &gpu->api->graph_add_empty, task, NULL);
}

braid_status braid_graph_add_plain(struct gpu_backend *gpu, const struct gpu_behind *behind,
                                   const struct backend_task *task, gpu_node *out_node)
{
    if (task->detour)
        return braid_gpu_add_detour(gpu, *behind, task, out_node);
    if (task->kind == WORK_COPY)
        return add_copy(gpu, behind, task, out_node);
    if (task->kind == WORK_FILL)
        return add_fill(gpu, behind, task, out_node);
    if (task->kind == WORK_HOST)
        return add_host(gpu, behind, task, out_node);
    return braid_graph_add_empty_node(gpu, behind, task, out_node);
}
