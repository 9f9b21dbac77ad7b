// SPDX-License-Identifier: Apache-2.0
// Closing a device: refused while the program holds anything of it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/inside.h"
#include "device/device.h"
#include "device/kept.h"

// Adds ", 2 streams" to a list of what is left.
static void add_left(char *list, size_t size, uint64_t num, const char *what)
{
    size_t used = strlen(list);
    if (num)
        snprintf(list + used, size - used, "%s%llu %s%s", used ? ", " : "", (unsigned long long)num,
                 what, num == 1 ? "" : "s");
}

// Objects of a pool that the program has: neither idle nor leased to an exec.
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
    add_left(left, sizeof(left), num_public(&device->events), "event");
    add_left(left, sizeof(left), device->num_allocations, "allocation");
    add_left(left, sizeof(left), device->num_groups, "group");
    add_left(left, sizeof(left), device->num_links, "communicator of ranks");
    pthread_mutex_unlock(&device->lock);
    if (!left[0])
        return BRAID_OK;
    return braid_error(BRAID_BUSY, "%s stays open: the program still has %s of it", device->label,
                       left);
}

braid_status braid_device_close(braid_device *device)
{
    if (!device)
        return BRAID_OK;
    braid_status status = braid_inside_check("braid_device_close", NULL);
    if (!status)
        status = check_unused(device);
    if (!status)
        status = braid_device_finish_kept(device);
    if (status)
        return status;
    device->backend->ops->close(device->backend);
    pthread_mutex_destroy(&device->lock);
    free(device);
    return BRAID_OK;
}
