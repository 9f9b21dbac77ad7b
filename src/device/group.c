// SPDX-License-Identifier: Apache-2.0
// Groups of devices: the conditions for one, and which members reach each other's memory.
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/host_memory.h"
#include "device/places.h"

static braid_status check_member(braid_device *const *members, size_t index)
{
    const braid_device *first = members[0], *device = members[index];
    if (!device)
        return braid_error_invalid("braid_device_open_group: member %zu is NULL", index);
    if (!device_is_open(device))
        return braid_error(BRAID_WRONG_STATE, "braid_device_open_group: member %zu (%s) was %s",
                           index, device->label,
                           device_is_here(device) ? "closed" : "opened before a fork");
    if (device->group)
        return braid_error_invalid("braid_device_open_group: member %zu (%s) is a group itself",
                                   index, device->label);
    braid_status status = braid_device_check("braid_device_open_group", device);
    if (status)
        return status;
    if (strcmp(device->backend->ops->name, first->backend->ops->name) != 0)
        return braid_error_invalid(
            "braid_device_open_group: member %zu is %s and member 0 is %s: a group has one backend",
            index, device->label, first->label);
    if (device->allocator != first->allocator)
        return braid_error_invalid("braid_device_open_group: member %zu (%s) has another allocator "
                                   "than member 0: a group has one",
                                   index, device->label);
    if (device != first && strcmp(device->backend->ops->name, "cpu") == 0)
        return braid_error_invalid("braid_device_open_group: member %zu is another device of the "
                                   "CPU: give the same one several times",
                                   index);
    return BRAID_OK;
}

static braid_status check_arguments(braid_device *const *members, size_t num_members,
                                    braid_device **out_group)
{
    if (!members || !out_group)
        return braid_error_null("braid_device_open_group", members ? "out_group" : "members");
    if (num_members == 0 || num_members > MOST_PLACES)
        return braid_error_invalid("braid_device_open_group: %zu members, not 1 to %d", num_members,
                                   MOST_PLACES);
    braid_status status = BRAID_OK;
    for (size_t i = 0; i < num_members && !status; i++)
        status = check_member(members, i);
    return status;
}

static braid_status find_reach(struct device_group *group, uint32_t from, uint32_t to)
{
    struct backend *backend = group->places.devices[from]->backend;
    bool reaches = group->places.devices[from] == group->places.devices[to];
    braid_status status = BRAID_OK;
    if (!reaches && backend->ops->reach)
        status = backend->ops->reach(backend, group->places.devices[to]->backend, &reaches);
    if (reaches)
        group->places.reaches[from] |= UINT64_C(1) << to;
    braid_place_link *link = &group->links[(size_t)from * group->places.num + to];
    if (!status && backend->ops->get_link)
        backend->ops->get_link(backend, group->places.devices[to]->backend, reaches, link);
    link->is_direct = reaches;
    return status;
}

static braid_status find_links(struct device_group *group)
{
    uint32_t num = group->places.num;
    braid_status status = BRAID_OK;
    group->links = braid_allocate_zeroed((size_t)num * num, sizeof(*group->links));
    if (!group->links)
        return braid_error_no_memory("a group of devices");
    for (uint32_t from = 0; from < num; from++) {
        for (uint32_t to = 0; to < num && !status; to++)
            status = find_reach(group, from, to);
    }
    return status;
}

// By the number of units, since nothing else is known of devices that differ.
static void find_speeds(struct device_group *group)
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

static void hold_device(braid_device *device, size_t count, int change)
{
    braid_device_hold(device, (uint64_t *)(void *)((char *)device + count), change);
}

void braid_places_hold(const struct places *places, size_t count, int change)
{
    for (uint32_t i = 0; i < places->num; i++) {
        if (!was_before(places, i))
            hold_device(places->devices[i], count, change);
    }
    if (places->group)
        hold_device(places->group, count, change);
}

struct places braid_device_places(braid_device *device)
{
    if (device->group)
        return device->group->places;
    return (struct places){ .num = 1, .devices = { device } };
}

void braid_device_group_get_info(const struct device_group *group, braid_device_info *out_info)
{
    const struct places *places = &group->places;
    *out_info = braid_device_describe(places->devices[0]);
    for (uint32_t i = 1; i < places->num; i++) {
        if (was_before(places, i))
            continue;
        const braid_device_info info = braid_device_describe(places->devices[i]);
        out_info->memory_bytes += info.memory_bytes;
        out_info->num_units += info.num_units;
        out_info->streams_created += info.streams_created;
        out_info->streams_live += info.streams_live;
        out_info->streams_leased += info.streams_leased;
        out_info->events_created += info.events_created;
        out_info->events_live += info.events_live;
        out_info->events_leased += info.events_leased;
    }
    out_info->num_members = places->num;
    out_info->place_model = &group->model.given;
}

void braid_device_group_free(struct device_group *group)
{
    struct places members = group->places;
    members.group = NULL;
    if (group->places.group)
        braid_places_hold(&members, offsetof(braid_device, num_groups), -1);
    braid_free(group->links);
    braid_free(group);
}

// On success the device owns the group.
static braid_status make_device(struct device_group *group, braid_device **out_group)
{
    braid_device *first = group->places.devices[0], *device = NULL;
    braid_status status = braid_device_create(first->backend, first->ordinal, &device);
    if (status)
        return status;
    snprintf(device->label, sizeof(device->label), "group of %u from %.15s", group->places.num,
             first->label);
    braid_places_hold(&group->places, offsetof(braid_device, num_groups), 1);
    group->places.group = device;
    device->group = group;
    *out_group = device;
    return BRAID_OK;
}

braid_status braid_device_open_group(braid_device *const *members, size_t num_members,
                                     braid_device **out_group)
{
    braid_status status = check_arguments(members, num_members, out_group);
    if (status)
        return status;
    DEVICE_MEMORY(members[0]);
    struct device_group *group = braid_allocate_zeroed(1, sizeof(*group));
    if (!group)
        return braid_error_no_memory("a group of devices");
    group->places.num = (uint32_t)num_members;
    memcpy(group->places.devices, members, num_members * sizeof(*members));
    find_speeds(group);
    status = find_links(group);
    group->model.given = (braid_place_model){ .num_places = group->places.num,
                                              .speeds = group->speeds,
                                              .links = group->links };
    if (!status)
        status = make_device(group, out_group);
    if (status)
        braid_device_group_free(group);
    return status;
}
