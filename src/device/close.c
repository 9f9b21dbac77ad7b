// SPDX-License-Identifier: Apache-2.0
// Describing a device, and closing it: refused while the program holds anything of it, and known
// for some time after.
//
// So no object outlives its device, and only the device's own handle can be used after it. Of the
// devices closed last the shell stays, so that such a call is refused and reads no freed memory.
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/host_memory.h"
#include "base/inside.h"
#include "device/device.h"
#include "device/places.h"

// ---- the description ----

// The description of a device, and the numbers of streams and events that Braid has made on it.

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
    braid_device_info info = { .name = "", .backend = "" };
    if (device_is_open(device) && device->group) {
        braid_device_group_get_info(device->group, &info);
    } else if (device_is_open(device)) {
        device->backend->ops->get_info(device->backend, &info);
        info.name = device->name;
        info.backend = device->backend->ops->name;
        info.ordinal = device->ordinal;
        info.num_members = 1;
        count_objects(device, &info);
    }
    return info;
}

// ---- closing ----

enum { NUM_REMEMBERED = 64 };

static pthread_mutex_t remembered_lock = PTHREAD_MUTEX_INITIALIZER;
static braid_device *remembered[NUM_REMEMBERED]; // guarded by remembered_lock, as is the next place
static size_t next_remembered;

static void remember(braid_device *device)
{
    pthread_mutex_lock(&remembered_lock);
    braid_device *oldest = remembered[next_remembered];
    remembered[next_remembered] = device;
    next_remembered = (next_remembered + 1) % NUM_REMEMBERED;
    pthread_mutex_unlock(&remembered_lock);
    braid_free(oldest);
}

braid_status braid_device_check_open(const char *function, const braid_device *device)
{
    if (device_is_open(device))
        return BRAID_OK;
    if (!device)
        return braid_error_null(function, "device");
    if (!device_is_here(device))
        return braid_error(BRAID_WRONG_STATE,
                           "%s: the device (%s) was opened before a fork, by another "
                           "process: open one in this process",
                           function, device->label);
    return braid_error(BRAID_WRONG_STATE, "%s: the device (%s) was closed", function,
                       device->label);
}

braid_status braid_device_check(const char *function, const braid_device *device)
{
    braid_status status = braid_device_check_open(function, device);
    if (!status && device->group)
        status = braid_error_invalid("%s: the device (%s) is a group: give a member", function,
                                     device->label);
    if (status || !failure_is_noted(&device->failure))
        return status;
    return braid_error(BRAID_DEVICE_ERROR, "%s: %s failed before: %.600s", function, device->label,
                       device->failure.message);
}

braid_status braid_device_fail(braid_device *device)
{
    braid_failure_note(&device->failure);
    return BRAID_DEVICE_ERROR;
}

// Adds an item such as ", 2 streams" to the list of objects that are left.
static void add_left(char *list, size_t size, uint64_t num, const char *what)
{
    size_t used = strlen(list);
    if (num)
        snprintf(list + used, size - used, "%s%llu %s%s", used ? ", " : "", (unsigned long long)num,
                 what, num == 1 ? "" : "s");
}

// Objects of a pool that the program has: neither idle nor an exec's.
static uint64_t num_public(const struct pool *pool)
{
    return pool->live - pool->leased - pool->idle.num + pool->wrapped;
}

static braid_status check_unused(braid_device *device)
{
    char left[160] = "";
    pthread_mutex_lock(&device->lock);
    add_left(left, sizeof(left), device->num_execs, "exec");
    add_left(left, sizeof(left), num_public(&device->streams), "stream");
    add_left(left, sizeof(left), num_public(&device->events) - device->num_timing_events, "event");
    add_left(left, sizeof(left), device->num_allocations, "allocation");
    add_left(left, sizeof(left), device->num_groups, "group");
    add_left(left, sizeof(left), device->num_links, "communicator of ranks");
    pthread_mutex_unlock(&device->lock);
    if (!left[0])
        return BRAID_OK;
    return braid_error(BRAID_IN_USE, "%s stays open: the program still has %s of it", device->label,
                       left);
}

static void finish(braid_device *device)
{
    if (device->group) {
        braid_device_group_free(device->group);
    } else {
        braid_device_empty_pools(device);
        device->backend->ops->close(device->backend);
    }
    braid_pointer_map_finish(&device->allocations);
    if (!device->group) // whose members hold it
        braid_host_allocator_let_go(device->allocator);
    device->allocator = NULL;
    pthread_mutex_destroy(&device->lock);
    remember(device);
}

braid_status braid_device_close(braid_device *device)
{
    if (!device || !device_is_here(device))
        return BRAID_OK;
    braid_status status = braid_device_check_open("braid_device_close", device);
    if (!status)
        status = braid_inside_check("braid_device_close", NULL);
    if (!status)
        status = check_unused(device);
    if (status)
        return status;
    if (atomic_exchange(&device->is_closed, true)) // by another thread, meanwhile
        return braid_device_check_open("braid_device_close", device);
    finish(device);
    return BRAID_OK;
}
