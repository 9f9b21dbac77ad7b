// SPDX-License-Identifier: Apache-2.0
// Memory of a device.
#include "base/error.h"
#include "device/device.h"

braid_status braid_memory_allocate(braid_device *device, braid_memory_kind kind, uint64_t bytes,
                                   void **out_memory)
{
    if (!device || !out_memory)
        return braid_error_null("braid_memory_allocate", device ? "out_memory" : "device");
    braid_status status = braid_device_check("braid_memory_allocate", device);
    if (status)
        return status;
    if (bytes == 0 || (kind != BRAID_MEMORY_DEVICE && kind != BRAID_MEMORY_HOST))
        return braid_error_invalid("braid_memory_allocate: %llu bytes of memory kind %d",
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
