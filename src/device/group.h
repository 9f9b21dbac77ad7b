// SPDX-License-Identifier: Apache-2.0
// The inside of a group of devices.
#ifndef BRAID_DEVICE_GROUP_INSIDE_H
#define BRAID_DEVICE_GROUP_INSIDE_H

#include <braid/device_group.h>

#include "device/places.h"

struct braid_device_group {
    struct places places;
    uint32_t speeds[MOST_PLACES];
    braid_place_link *links; // from * places.num + to
};

#endif
