// SPDX-License-Identifier: Apache-2.0
// Memory of a device, which knows the kind of each allocation by its address.
#include "base/error.h"
#include "device/device.h"

// The allocation counts from then on, until it has been released.
static bool note_allocation(braid_device *device, braid_memory_kind kind, const void *memory)
{
    pthread_mutex_lock(&device->lock);
    bool has_room = braid_pointer_map_reserve(&device->allocations);
    if (has_room) {
        braid_pointer_map_put(&device->allocations, memory, kind);
        device->num_allocations++;
    }
    pthread_mutex_unlock(&device->lock);
    return has_room;
}

// Another thread may be given the address as soon as it is released, so the device forgets it
// first. Returns the kind, or POINTER_MAP_NONE.
static uint32_t forget_allocation(braid_device *device, const void *memory)
{
    pthread_mutex_lock(&device->lock);
    uint32_t kind = braid_pointer_map_take(&device->allocations, memory);
    pthread_mutex_unlock(&device->lock);
    return kind;
}

static void note_unknown(const braid_device *device, const void *memory)
{
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    braid_error_end_noted(&attempt, braid_error_invalid("braid_memory_free: %p is no allocation of "
                                                        "%s, or was freed before",
                                                        memory, device->label));
}

braid_status braid_memory_allocate(braid_device *device, braid_memory_kind kind, uint64_t bytes,
                                   void **out_memory)
{
    DEVICE_MEMORY(device);
    if (!device || !out_memory)
        return braid_error_null("braid_memory_allocate", device ? "out_memory" : "device");
    braid_status status = braid_device_check("braid_memory_allocate", device);
    if (status)
        return status;
    if (bytes == 0 || (unsigned)kind > BRAID_MEMORY_MANAGED)
        return braid_error_invalid("braid_memory_allocate: %llu bytes of memory kind %d",
                                   (unsigned long long)bytes, (int)kind);
    void *memory = NULL;
    status = device->backend->ops->allocate(device->backend, kind, bytes, &memory);
    if (status)
        return status;
    if (!note_allocation(device, kind, memory)) {
        device->backend->ops->release(device->backend, kind, memory);
        return braid_error_no_memory("the address of an allocation");
    }
    *out_memory = memory;
    return BRAID_OK;
}

void braid_memory_free(braid_device *device, void *memory)
{
    DEVICE_MEMORY(device);
    if (!memory || !device || !device_is_here(device))
        return;
    uint32_t kind = device_is_open(device) ? forget_allocation(device, memory) : POINTER_MAP_NONE;
    if (kind == POINTER_MAP_NONE) {
        note_unknown(device, memory);
        return;
    }
    device->backend->ops->release(device->backend, (braid_memory_kind)kind, memory);
    braid_device_hold(device, &device->num_allocations, -1);
}
