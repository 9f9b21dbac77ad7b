// SPDX-License-Identifier: Apache-2.0
// Memory of a device: allocated for long, or in the order of a stream.
#include "base/error.h"
#include "device/device.h"

braid_status braid_memory_allocate(braid_device *device, braid_memory_kind kind, uint64_t bytes,
                                   void **out_memory)
{
    if (!device || !out_memory)
        return braid_error(BRAID_INVALID_ARGUMENT, "braid_memory_allocate: %s is NULL",
                           device ? "out_memory" : "device");
    braid_status status = braid_device_check("braid_memory_allocate", device);
    if (status)
        return status;
    if (bytes == 0 || (kind != BRAID_MEMORY_DEVICE && kind != BRAID_MEMORY_HOST))
        return braid_error(BRAID_INVALID_ARGUMENT,
                           "braid_memory_allocate: %llu bytes of memory kind %d",
                           (unsigned long long)bytes, (int)kind);
    status = device->backend->ops->allocate(device->backend, kind, bytes, out_memory);
    if (!status)
        braid_device_hold(device, &device->num_allocations, 1);
    return status;
}

void braid_memory_free(braid_device *device, braid_memory_kind kind, void *memory)
{
    if (!device_is_open(device) || device->group || !memory)
        return;
    device->backend->ops->release(device->backend, kind, memory);
    braid_device_hold(device, &device->num_allocations, -1);
}

braid_status braid_stream_allocate(braid_device *device, braid_stream *stream, uint64_t bytes,
                                   void **out_memory)
{
    braid_status status = braid_device_check_stream("braid_stream_allocate", device, stream);
    if (status)
        return status;
    if (!out_memory || bytes == 0)
        return braid_error(BRAID_INVALID_ARGUMENT, "braid_stream_allocate: %s",
                           out_memory ? "0 bytes" : "out_memory is NULL");
    const struct backend_ops *ops = device->backend->ops;
    if (!ops->stream_allocate)
        return braid_error(BRAID_UNSUPPORTED, "%s has no stream-ordered memory", device->label);
    status =
        ops->stream_allocate(device->backend, device_backend_stream(stream), bytes, out_memory);
    device_use_stream(stream);
    if (!status)
        braid_device_hold(device, &device->num_allocations, 1);
    return status;
}

// If the driver does not accept it, the memory is gone with the device.
static void free_of_failed(braid_device *device, braid_stream *stream, void *memory)
{
    struct error_attempt attempt;
    const struct backend_ops *ops = device->backend->ops;
    braid_error_begin_attempt(&attempt);
    if (ops->stream_free)
        (void)ops->stream_free(device->backend, device_backend_stream(stream), memory);
    braid_error_end_attempt(&attempt, BRAID_OK);
    braid_device_hold(device, &device->num_allocations, -1);
}

braid_status braid_stream_free(braid_device *device, braid_stream *stream, void *memory)
{
    braid_status status = braid_device_check_stream("braid_stream_free", device, stream);
    if (status == BRAID_DEVICE_ERROR && memory)
        free_of_failed(device, stream, memory);
    if (status || !memory)
        return status;
    const struct backend_ops *ops = device->backend->ops;
    if (!ops->stream_free)
        return braid_error(BRAID_UNSUPPORTED, "%s has no stream-ordered memory", device->label);
    status = ops->stream_free(device->backend, device_backend_stream(stream), memory);
    device_use_stream(stream);
    if (!status)
        braid_device_hold(device, &device->num_allocations, -1);
    return status;
}
