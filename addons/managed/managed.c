// SPDX-License-Identifier: Apache-2.0
// Prefetches of managed memory: queue calls that ask the driver to move pages.
#include <braid/managed.h>

#include <string.h>

#include "backends/gpu/gpu_backend.h"
#include "base/error.h"
#include "device/device.h"

static const char what[] = "a prefetch";

enum { HOST_DEVICE = -1 }; // CU_DEVICE_CPU and hipCpuDeviceId

// The call would end a capture: no driver has a node for it.
static braid_status check_capture(const struct gpu_backend *gpu, gpu_stream stream)
{
    int captures = 0;
    if (gpu->api->stream_is_capturing) {
        braid_status status = braid_gpu_check(gpu, gpu->api->stream_is_capturing(stream, &captures),
                                              &gpu->api->stream_is_capturing, what);
        if (status)
            return status;
    }
    return captures ? braid_error(BRAID_UNSUPPORTED,
                                  "braid_queue_prefetch: a driver graph has no prefetches")
                    : BRAID_OK;
}

// The driver's answer to other memory, and of a device whose pages do not move.
static bool is_refusal(gpu_result result)
{
    return result == GPU_INVALID_VALUE || result == GPU_INVALID_DEVICE ||
           result == GPU_NOT_SUPPORTED;
}

static braid_status queue(const braid_device *device, gpu_stream stream,
                          const braid_prefetch *prefetch)
{
    struct gpu_backend *gpu = gpu_from(device->backend);
    if (!gpu->api->memory_prefetch)
        return braid_error(BRAID_UNSUPPORTED, "braid_queue_prefetch: '%s' has no prefetches",
                           device->label);
    struct gpu_call call;
    braid_status status = braid_gpu_begin(&call, &gpu->base, what);
    if (status)
        return status;
    status = check_capture(gpu, stream);
    gpu_result result = GPU_SUCCESS;
    if (!status) {
        braid_gpu_note_stream(gpu, stream);
        result =
            gpu->api->memory_prefetch(prefetch->memory, prefetch->bytes,
                                      prefetch->to_host ? HOST_DEVICE : (int)gpu->device, stream);
    }
    braid_status ended = braid_gpu_end(&call, result, &gpu->api->memory_prefetch);
    return status ? status : is_refusal(result) ? BRAID_UNSUPPORTED : ended;
}

braid_status braid_queue_prefetch(braid_device *device, braid_stream *stream, void *user)
{
    const braid_prefetch *prefetch = user;
    if (!device || !prefetch || !prefetch->memory)
        return braid_error_null("braid_queue_prefetch", !device     ? "device"
                                                        : !prefetch ? "user"
                                                                    : "memory");
    if (!prefetch->bytes)
        return braid_error_invalid("braid_queue_prefetch: 0 bytes");
    braid_status status = braid_device_check("braid_queue_prefetch", device);
    if (status)
        return status;
    const char *backend = device->backend->ops->name;
    if (strcmp(backend, "cuda") != 0 && strcmp(backend, "hip") != 0)
        return BRAID_OK;
    stream = stream ? stream : braid_device_get_default_stream(device);
    return queue(device, braid_stream_get_handle(stream), prefetch);
}
