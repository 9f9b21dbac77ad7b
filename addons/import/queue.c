// SPDX-License-Identifier: Apache-2.0
// Captured nodes that no kind of Braid's nodes does: the driver queues each by a call of its own.
#include <braid/stream.h>

#include "base/error.h"
#include "device/device.h"
#include "import/import.h"

static braid_status queue_fill(const struct gpu_backend *gpu,
                               const struct cuda_fill_parameters *fill, gpu_stream stream)
{
    const struct gpu_api *api = gpu->api;
    void *to = (void *)(uintptr_t)fill->to; // NOLINT
    if (fill->value_bytes == 1)
        return braid_gpu_check(gpu,
                               api->fill_rows8(to, fill->pitch, (unsigned char)fill->value,
                                               fill->width, fill->height, stream),
                               &api->fill_rows8, "a fill of rows");
    if (fill->value_bytes == 2)
        return braid_gpu_check(gpu,
                               api->fill_rows16(to, fill->pitch, (unsigned short)fill->value,
                                                fill->width, fill->height, stream),
                               &api->fill_rows16, "a fill of rows");
    return braid_gpu_check(
        gpu, api->fill_rows32(to, fill->pitch, fill->value, fill->width, fill->height, stream),
        &api->fill_rows32, "a fill of rows");
}

// Under capture the event stays the program's, and becomes a node again.
static braid_status queue_event(const struct gpu_backend *gpu, const struct captured_node *node,
                                gpu_stream stream)
{
    const struct gpu_api *api = gpu->api;
    int captures = 0;
    braid_status status = braid_gpu_check(gpu, api->stream_is_capturing(stream, &captures),
                                          &api->stream_is_capturing, "an event");
    const unsigned flags = captures ? GPU_EVENT_EXTERNAL : 0;
    if (status)
        return status;
    if (node->type == GPU_NODE_RECORD)
        return braid_gpu_check(gpu, api->event_record_with(node->event, stream, flags),
                               &api->event_record_with, "a record of an event");
    return braid_gpu_check(gpu, api->stream_wait(stream, node->event, flags), &api->stream_wait,
                           "a wait for an event");
}

static braid_status queue_semaphores(const struct gpu_backend *gpu,
                                     const struct captured_node *node, gpu_stream stream)
{
    const struct gpu_api *api = gpu->api;
    const struct cuda_semaphore_parameters *of = &node->semaphores.told;
    if (node->type == GPU_NODE_SIGNAL)
        return braid_gpu_check(gpu,
                               api->semaphore_signal(of->semaphores, of->values, of->num, stream),
                               &api->semaphore_signal, "a signal of a semaphore");
    return braid_gpu_check(gpu, api->semaphore_wait(of->semaphores, of->values, of->num, stream),
                           &api->semaphore_wait, "a wait for a semaphore");
}

bool braid_import_awaits(const struct captured_node *node)
{
    bool waits = node->type == GPU_NODE_AWAIT;
    for (uint32_t i = 0; node->type == GPU_NODE_OPERATIONS && i < node->batch.num; i++)
        waits = waits || node->batch.operations[i].operation == CUDA_WAIT_VALUE_32 ||
                node->batch.operations[i].operation == CUDA_WAIT_VALUE_64;
    return waits;
}

braid_status braid_import_queue(braid_device *device, braid_stream *stream, void *user)
{
    const struct captured_node *node = user;
    if (!braid_import_has_cuda(device))
        return braid_error(BRAID_UNSUPPORTED, "a captured %s needs a CUDA device, not %s",
                           braid_captured_kind(node->type), device->label);
    const struct gpu_backend *gpu = gpu_from(device->backend);
    const gpu_stream handle = braid_stream_get_handle(stream);
    if (node->type == GPU_NODE_COPY)
        return braid_gpu_check(gpu, gpu->api->copy_rows(&node->copy, handle), &gpu->api->copy_rows,
                               "a copy of rows");
    if (node->type == GPU_NODE_OPERATIONS)
        return braid_gpu_check(gpu,
                               gpu->api->stream_operations(handle, node->batch.num,
                                                           node->batch.operations,
                                                           node->batch.flags),
                               &gpu->api->stream_operations, "a batch of memory operations");
    if (node->type == GPU_NODE_SIGNAL || node->type == GPU_NODE_AWAIT)
        return queue_semaphores(gpu, node, handle);
    return node->type == GPU_NODE_FILL ? queue_fill(gpu, &node->fill, handle)
                                       : queue_event(gpu, node, handle);
}
