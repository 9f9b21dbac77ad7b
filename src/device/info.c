// SPDX-License-Identifier: Apache-2.0
// The description of a device, and the numbers of streams and events that Braid has made on it.
#include "base/text.h"
#include "device/group.h"

static void count_objects(const braid_device *device, braid_device_info *info)
{
    pthread_mutex_t *lock = (pthread_mutex_t *)&device->lock;
    pthread_mutex_lock(lock);
    info->streams_created = device->streams.created;
    info->streams_live = device->streams.live;
    info->streams_leased = device->streams.leased;
    info->events_created = device->events.created;
    info->events_live = device->events.live;
    info->events_leased = device->events.leased;
    pthread_mutex_unlock(lock);
}

braid_device_info braid_device_describe(const braid_device *device)
{
    braid_device_info info = { .backend = "" };
    if (device_is_open(device) && device->group) {
        braid_device_group_get_info(device->group, &info);
    } else if (device_is_open(device)) {
        device->backend->ops->get_info(device->backend, &info);
        const braid_device_info told = info;
        braid_text_copy(told.name, info.name, sizeof(info.name)); // files keep it as text
        info.backend = device->backend->ops->name;
        info.ordinal = device->ordinal;
        info.num_members = 1;
        count_objects(device, &info);
    }
    return info;
}
