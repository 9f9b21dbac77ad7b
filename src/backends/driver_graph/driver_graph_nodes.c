// SPDX-License-Identifier: Apache-2.0
// Nodes of the driver's graph for work that is no kernel.
#include "backends/driver_graph/driver_graph_nodes.h"

#include "backends/gpu/gpu_layouts.h"

// A node refuses the bits of a fill's value that its values have not, which a stream drops.
braid_status braid_driver_graph_put_memory_work(const struct gpu_backend *gpu,
                                                const struct gpu_site *site,
                                                const struct backend_task *task)
{
    const struct gpu_vendor_nodes *nodes = gpu->vendor->nodes;
    const void *slot = NULL;
    gpu_result result;
    if (task->kind == WORK_COPY) {
        result = nodes->put_copy(gpu, site, &task->copy, &slot);
    } else {
        struct work_fill fill = task->fill;
        fill.value &= UINT32_MAX >> (32 - 8 * fill.value_bytes);
        result = nodes->put_fill(gpu, site, &fill, &slot);
    }
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

braid_status braid_driver_graph_add_empty_node(const struct gpu_backend *gpu,
                                               const struct gpu_behind *behind,
                                               const struct backend_task *task, gpu_node *out_node)
{
    gpu_result result =
        gpu->api->graph_add_empty(out_node, behind->graph, behind->after, behind->num_after);
    return braid_gpu_check_task(gpu, result, &gpu->api->graph_add_empty, task, NULL);
}

braid_status braid_driver_graph_add_plain(struct gpu_backend *gpu, const struct gpu_behind *behind,
                                          const struct backend_task *task, gpu_node *out_node)
{
    if (task->detour)
        return braid_gpu_add_detour(gpu, *behind, task, out_node);
    const struct gpu_site site = { .behind = *behind, .node = out_node };
    if (task->kind == WORK_COPY || task->kind == WORK_FILL)
        return braid_driver_graph_put_memory_work(gpu, &site, task);
    if (task->kind == WORK_HOST)
        return add_host(gpu, behind, task, out_node);
    return braid_driver_graph_add_empty_node(gpu, behind, task, out_node);
}
