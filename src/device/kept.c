// SPDX-License-Identifier: Apache-2.0
// Things whose destroy call could not tell that the device is done with them: kept until it can.
#include "device/kept.h"

#include "base/error.h"
#include "device/device.h"

// Devices that could not be closed. Nobody looks at them again: that they are reachable tells them
// from what was forgotten.
static pthread_mutex_t abandoned_lock = PTHREAD_MUTEX_INITIALIZER;
static braid_device *abandoned; // guarded by abandoned_lock

void braid_device_keep(braid_device *device, struct kept *kept)
{
    pthread_mutex_lock(&device->lock);
    kept->next = device->kept;
    device->kept = kept;
    pthread_mutex_unlock(&device->lock);
}

static struct kept *take_all(braid_device *device)
{
    pthread_mutex_lock(&device->lock);
    struct kept *all = device->kept;
    device->kept = NULL;
    pthread_mutex_unlock(&device->lock);
    return all;
}

// False when something stays.
static bool free_idle(braid_device *device, bool drained)
{
    bool none_left = true;
    struct kept *kept = take_all(device);
    while (kept) {
        struct kept *next = kept->next;
        if (kept->is_idle(kept, drained)) {
            kept->free(kept);
        } else {
            braid_device_keep(device, kept);
            none_left = false;
        }
        kept = next;
    }
    return none_left;
}

void braid_device_free_kept(braid_device *device)
{
    (void)free_idle(device, false);
}

static bool drain(braid_device *device)
{
    struct backend *backend = device->backend;
    return !backend->ops->drain || backend->ops->drain(backend) == BRAID_OK;
}

static braid_status abandon(braid_device *device)
{
    pthread_mutex_lock(&abandoned_lock);
    device->next_abandoned = abandoned;
    abandoned = device;
    pthread_mutex_unlock(&abandoned_lock);
    return braid_error(BRAID_DEVICE_ERROR,
                       "%s is not closed but kept: its work cannot be told to have ended",
                       device->label);
}

braid_status braid_device_end_work(braid_device *device)
{
    return drain(device) && free_idle(device, true) ? BRAID_OK : abandon(device);
}

// A stream of the pools may have to be kept.
braid_status braid_device_finish_pools(braid_device *device)
{
    braid_device_empty_pools(device);
    return drain(device) ? BRAID_OK : abandon(device);
}
