// SPDX-License-Identifier: Apache-2.0
// Queue calls as graphs: the work that they queue is captured.
#include "backends/driver_graph/driver_graph_capture.h"

#include <stdio.h>

#include "base/array.h"
#include "base/error.h"
#include "base/host_memory.h"
#include "base/inside.h"
#include "base/node_text.h"

// If the driver could not capture a call, that is BRAID_UNSUPPORTED, with any result of the call.
// It can still run on streams, and may have noticed the driver's error itself.
static braid_status refuse(const struct gpu_backend *gpu, const struct backend_task *task,
                           gpu_result result, braid_status call_status)
{
    char detail[512] = "the call cannot be captured";
    if (call_status)
        snprintf(detail, sizeof(detail), "the call cannot be captured: %s",
                 braid_error_get_message());
    braid_gpu_check_task(gpu, result, &gpu->api->capture_end, task, detail);
    return BRAID_UNSUPPORTED;
}

static braid_status check_end(const struct gpu_backend *gpu, const struct backend_task *task,
                              const void *memory)
{
    enum gpu_memory_kind kind = GPU_ELSEWHERE;
    const void *slot = NULL;
    gpu_result result = memory ? gpu->vendor->find_memory(gpu, memory, &kind, &slot) : GPU_SUCCESS;
    if (result || kind != GPU_PAGEABLE)
        return braid_gpu_check_task(gpu, result, slot, task, NULL);
    return braid_error(BRAID_UNSUPPORTED,
                       "node %s copies host memory that the driver does not know: a driver graph "
                       "would keep its address, and copy at each launch",
                       braid_node_text(task->node, task->name).text);
}

// On a stream the driver may be done with pageable memory when the call returns, so that it may be
// the call's own.
static braid_status check_nodes(const struct gpu_backend *gpu, const struct backend_task *task,
                                const gpu_node *nodes, size_t num)
{
    braid_status status = BRAID_OK;
    for (size_t i = 0; i < num && !status; i++) {
        const void *to, *from, *slot;
        gpu_result result = gpu->vendor->nodes->read_copy(gpu, nodes[i], &to, &from, &slot);
        status = braid_gpu_check_task(gpu, result, slot, task, NULL);
        if (!status)
            status = check_end(gpu, task, to);
        if (!status)
            status = check_end(gpu, task, from);
    }
    return status;
}

static braid_status check_copies(const struct gpu_backend *gpu, const struct backend_task *task,
                                 gpu_graph graph)
{
    const struct gpu_api *api = gpu->api;
    size_t num = 0;
    gpu_result result = api->graph_nodes(graph, NULL, &num);
    if (result || !num)
        return braid_gpu_check_task(gpu, result, &api->graph_nodes, task, NULL);
    gpu_node *nodes = braid_allocate_zeroed(num, sizeof(*nodes));
    if (!nodes)
        return braid_error_no_memory("a captured graph");
    result = api->graph_nodes(graph, nodes, &num);
    braid_status status = result ? braid_gpu_check_task(gpu, result, &api->graph_nodes, task, NULL)
                                 : check_nodes(gpu, task, nodes, num);
    braid_free(nodes);
    return status;
}

void braid_driver_graph_free_captured(const struct gpu_backend *gpu, gpu_graph graph)
{
    braid_gpu_check_freed(gpu, gpu->api->graph_destroy(graph), &gpu->api->graph_destroy,
                          "destruction of a captured graph");
}

// Makes the call on a capturing stream. The capture is always ended, even if the call fails.
braid_status braid_driver_graph_capture(const struct stage *stage, const struct backend_task *task,
                                        gpu_stream capture_stream, gpu_graph *out_graph)
{
    const struct gpu_backend *gpu = gpu_from(stage->device->backend);
    struct gpu_stream stream = { .base = { .wrapped = true }, .handle = capture_stream };
    gpu_result result = gpu->api->capture_begin(stream.handle, GPU_CAPTURE_THREAD_LOCAL);
    if (result)
        return braid_gpu_check_task(gpu, result, &gpu->api->capture_begin, task, NULL);
    braid_stream wrapper = { .device = stage->device, .backend = &stream.base };
    struct inside inside; // an exec is not launched into this capture: see addons/export
    braid_inside_begin(&inside, "a queue call", stage->device);
    braid_status status = task->kind == WORK_POST
                              ? braid_gpu_post(stream.handle, task)
                              : braid_player_queue_call(wrapper.device, task, &wrapper);
    braid_inside_end(&inside);
    gpu_graph graph = NULL;
    result = gpu->api->capture_end(stream.handle, &graph);
    if (!status && !result && task->kind == WORK_QUEUE)
        status = check_copies(gpu, task, graph);
    if ((status || result) && graph)
        braid_driver_graph_free_captured(gpu, graph);
    if (result)
        return refuse(gpu, task, result, status);
    if (!status)
        *out_graph = graph;
    return status;
}

braid_status braid_driver_graph_add_captured(const struct stage *stage,
                                             const struct gpu_behind *behind,
                                             const struct backend_task *task,
                                             gpu_stream capture_stream, gpu_node *out_node)
{
    const struct gpu_backend *gpu = gpu_from(stage->device->backend);
    gpu_graph child = NULL;
    braid_status status = braid_driver_graph_capture(stage, task, capture_stream, &child);
    if (status)
        return status;
    // The node keeps a copy of the child.
    gpu_result result =
        gpu->api->graph_add_child(out_node, behind->graph, behind->after, behind->num_after, child);
    braid_driver_graph_free_captured(gpu, child);
    return braid_gpu_check_task(gpu, result, &gpu->api->graph_add_child, task, NULL);
}
