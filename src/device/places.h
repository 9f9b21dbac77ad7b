// SPDX-License-Identifier: Apache-2.0
// The devices that something runs on, by place. Place 0 is kept apart by those who have only that.
#ifndef BRAID_DEVICE_PLACES_H
#define BRAID_DEVICE_PLACES_H

#include <braid/schedule.h>

#include "device/device.h"

enum { MOST_PLACES = 64 };

struct places {
    uint32_t num;
    braid_device *devices[MOST_PLACES]; // one may be there several times
    uint64_t reaches[MOST_PLACES];      // by itself, the memory of: a bit for each
    braid_device *group;                // whose members these are; NULL: of none
};

// `first` is the backend of place 0; `places` may be NULL where there is no other.
static inline struct backend *places_backend(const struct places *places, struct backend *first,
                                             uint32_t place)
{
    return place ? places->devices[place]->backend : first;
}

// The same for devices.
static inline braid_device *places_device(const struct places *places, braid_device *first,
                                          uint32_t place)
{
    return place ? places->devices[place] : first;
}

// Adds 1 or -1 to a count of objects that hold a device, once for each device and for the group.
// `count` is the offset of the number in braid_device.
void braid_places_hold(const struct places *places, size_t count, int change);

// The inside of a group of devices, which is a device itself.
struct device_group {
    struct places places;
    uint32_t speeds[MOST_PLACES];
    braid_place_link *links;                  // from * places.num + to
    SIZED_WITH_ROOM(braid_place_model) model; // describes these places
};

// The devices that an exec on this device runs on.
struct places braid_device_places(braid_device *device);

// The numbers of the first member, and the sums over the devices in it.
void braid_device_group_get_info(const struct device_group *group, braid_device_info *out_info);

// Lets go of the members, and frees the group.
void braid_device_group_free(struct device_group *group);

#endif
