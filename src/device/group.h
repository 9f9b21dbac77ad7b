// SPDX-License-Identifier: Apache-2.0
// The inside of a group of devices, which is a device itself.
#ifndef BRAID_DEVICE_GROUP_H
#define BRAID_DEVICE_GROUP_H

#include <braid/schedule.h>

#include "device/places.h"

struct device_group {
    struct places places;
    uint32_t speeds[MOST_PLACES];
    braid_place_link *links; // from * places.num + to
    braid_place_model model; // describes these places
};

// The devices that an exec on this device runs on.
struct places braid_device_places(braid_device *device);

// The numbers of the first member, and the sums over the devices in it.
void braid_device_group_get_info(const struct device_group *group, braid_device_info *out_info);

// Lets go of the members, and frees the group.
void braid_device_group_free(struct device_group *group);

#endif
