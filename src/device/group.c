// SPDX-License-Identifier: Apache-2.0
// Groups of devices: what may be one, and which of them reach each other's memory.
#include "device/group.h"

#include <string.h>

#include "base/error.h"

static bool is_cpu(const braid_device *device)
{
    return strcmp(device->backend->ops->name, "cpu") == 0;
}

static braid_status check_device(braid_device *const *devices, size_t index)
{
    const braid_device *first = devices[0], *device = devices[index];
    if (!device)
        return braid_error(BRAID_INVALID_ARGUMENT, "braid_device_group_create: device %zu is NULL",
                           index);
    if (!device_is_open(device))
        return braid_error(BRAID_INVALID_ARGUMENT,
                           "braid_device_group_create: device %zu (%s) was closed", index,
                           device->label);
    braid_status status = braid_device_check("braid_device_group_create", device);
    if (status)
        return status;
    if (strcmp(device->backend->ops->name, first->backend->ops->name) != 0)
        return braid_error(
            BRAID_INVALID_ARGUMENT,
            "braid_device_group_create: device %zu is %s and device 0 is %s: a group "
            "has one backend",
            index, device->label, first->label);
    if (is_cpu(device) && device != first)
        return braid_error(BRAID_INVALID_ARGUMENT,
                           "braid_device_group_create: device %zu is another device of the CPU: "
                           "give the same one several times",
                           index);
    return BRAID_OK;
}

static braid_status check_arguments(braid_device *const *devices, size_t num_devices,
                                    braid_device_group **out_group)
{
    if (!devices || !out_group)
        return braid_error_null("braid_device_group_create", devices ? "out_group" : "devices");
    if (num_devices == 0 || num_devices > MOST_PLACES)
        return braid_error(BRAID_INVALID_ARGUMENT,
                           "braid_device_group_create: %zu devices, not 1 to %d", num_devices,
                           MOST_PLACES);
    braid_status status = BRAID_OK;
    for (size_t i = 0; i < num_devices && !status; i++)
        status = check_device(devices, i);
    return status;
}

static braid_status find_reach(braid_device_group *group, uint32_t from, uint32_t to)
{
    struct backend *backend = group->places.devices[from]->backend;
    bool reaches = group->places.devices[from] == group->places.devices[to];
    braid_status status = BRAID_OK;
    if (!reaches && backend->ops->reach)
        status = backend->ops->reach(backend, group->places.devices[to]->backend, &reaches);
    if (reaches)
        group->places.reaches[from] |= UINT64_C(1) << to;
    if (!status && backend->ops->get_link)
        backend->ops->get_link(backend, group->places.devices[to]->backend, reaches,
                               &group->links[(size_t)from * group->places.num + to]);
    return status;
}

static braid_status find_links(braid_device_group *group)
{
    uint32_t num = group->places.num;
    braid_status status = BRAID_OK;
    group->links = calloc((size_t)num * num, sizeof(*group->links));
    if (!group->links)
        return braid_error_no_memory("a group of devices");
    for (uint32_t from = 0; from < num; from++) {
        for (uint32_t to = 0; to < num && !status; to++)
            status = find_reach(group, from, to);
    }
    return status;
}

// By the number of units, since nothing else is known of devices that differ.
static void find_speeds(braid_device_group *group)
{
    uint64_t first = 0;
    for (uint32_t i = 0; i < group->places.num; i++) {
        struct backend *backend = group->places.devices[i]->backend;
        braid_device_info info = { 0 };
        backend->ops->get_info(backend, &info);
        first = first ? first : info.num_units;
        group->speeds[i] =
            first && info.num_units ? (uint32_t)(1000 * info.num_units / first) : 1000;
    }
}

static bool was_before(const struct places *places, uint32_t index)
{
    for (uint32_t i = 0; i < index; i++) {
        if (places->devices[i] == places->devices[index])
            return true;
    }
    return false;
}

void braid_places_hold(const struct places *places, size_t count, int change)
{
    for (uint32_t i = 0; i < places->num; i++) {
        char *device = (char *)places->devices[i];
        if (!was_before(places, i))
            braid_device_hold(places->devices[i], (uint64_t *)(void *)(device + count), change);
    }
}

braid_status braid_device_group_create(braid_device *const *devices, size_t num_devices,
                                       braid_device_group **out_group)
{
    braid_status status = check_arguments(devices, num_devices, out_group);
    if (status)
        return status;
    braid_device_group *group = calloc(1, sizeof(*group));
    if (!group)
        return braid_error_no_memory("a group of devices");
    group->places.num = (uint32_t)num_devices;
    memcpy(group->places.devices, devices, num_devices * sizeof(*devices));
    find_speeds(group);
    status = find_links(group);
    if (status) {
        free(group->links);
        free(group);
        return status;
    }
    braid_places_hold(&group->places, offsetof(braid_device, num_groups), 1);
    *out_group = group;
    return BRAID_OK;
}

void braid_device_group_destroy(braid_device_group *group)
{
    if (!group)
        return;
    braid_places_hold(&group->places, offsetof(braid_device, num_groups), -1);
    free(group->links);
    free(group);
}

size_t braid_device_group_num_devices(const braid_device_group *group)
{
    return group ? group->places.num : 0;
}

braid_device *braid_device_group_device(const braid_device_group *group, size_t index)
{
    return group && index < group->places.num ? group->places.devices[index] : NULL;
}

bool braid_device_group_reaches(const braid_device_group *group, size_t from, size_t to)
{
    return group && from < group->places.num && to < group->places.num &&
           places_reach(&group->places, (uint32_t)from, (uint32_t)to);
}

void braid_device_group_get_place_model(const braid_device_group *group,
                                        braid_place_model *out_model)
{
    braid_place_model model = { 0 };
    if (group)
        model = (braid_place_model){ .num_places = group->places.num,
                                     .speeds = group->speeds,
                                     .links = group->links };
    if (out_model)
        *out_model = model;
}
