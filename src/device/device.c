// SPDX-License-Identifier: Apache-2.0
// Finding, opening and closing devices.
#include "device/device.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

// Idle streams and events kept for the next exec; more than the widest plan needs is waste.
#define MAX_IDLE_STREAMS 128
#define MAX_IDLE_EVENTS 4096

braid_status braid_backend_query(const char *name, braid_backend_info *out_info)
{
    if (!name || !out_info)
        return braid_error_null("braid_backend_query", name ? "out_info" : "name");
    const struct backend_driver *driver = NULL;
    braid_status status = braid_device_find_driver("braid_backend_query", name, &driver);
    if (!status)
        status = braid_process_watch();
    if (status)
        return status;
    braid_backend_info info = { .name = driver->name };
    (void)braid_device_query(driver, &info.num_devices, info.reason, sizeof(info.reason));
    *out_info = info;
    return BRAID_OK;
}

braid_status braid_device_create(struct backend *backend, uint32_t ordinal,
                                 braid_device **out_device)
{
    braid_device *device = calloc(1, sizeof(*device));
    if (!device) {
        backend->ops->close(backend);
        return braid_error_no_memory("a device");
    }
    device->backend = backend;
    backend->failure = &device->failure;
    device->ordinal = ordinal;
    device->process = braid_process_number();
    snprintf(device->label, sizeof(device->label), "%s:%u", backend->ops->name, ordinal);
    pthread_mutex_init(&device->lock, NULL);
    device->streams.max_idle = MAX_IDLE_STREAMS;
    device->events.max_idle = MAX_IDLE_EVENTS;
    *out_device = device;
    return BRAID_OK;
}

static braid_status choose(const braid_device_options *options,
                           const struct backend_driver **out_driver)
{
    if (!options->context)
        return braid_device_choose(options->backend, out_driver);
    if (options->backend && strcmp(options->backend, "cuda") != 0)
        return braid_error_invalid("braid_device_open: a context is of cuda, and not of '%s'",
                                   options->backend);
    return braid_device_choose("cuda", out_driver);
}

braid_status braid_device_open(const braid_device_options *options, braid_device **out_device)
{
    static const braid_device_options defaults;
    if (!out_device)
        return braid_error_null("braid_device_open", "out_device");
    options = options ? options : &defaults;
    const struct backend_driver *driver = NULL;
    struct backend *backend = NULL;
    braid_device_info info = { .ordinal = options->ordinal };
    braid_status status = braid_process_watch();
    if (!status)
        status = choose(options, &driver);
    if (!status)
        status = driver->open(driver, options, &backend);
    if (status)
        return status;
    if (options->context)
        backend->ops->get_info(backend, &info);
    return braid_device_create(backend, info.ordinal, out_device);
}

void braid_device_empty_pools(braid_device *device)
{
    while (device->streams.idle.num) {
        braid_stream *stream = braid_pool_take(&device->streams);
        device->backend->ops->stream_destroy(device->backend, stream->backend);
        free(stream);
    }
    while (device->events.idle.num) {
        braid_event *event = braid_pool_take(&device->events);
        device->backend->ops->event_destroy(device->backend, event->backend);
        free(event);
    }
    braid_array_finish(&device->streams.idle);
    braid_array_finish(&device->events.idle);
}

void braid_device_hold(braid_device *device, uint64_t *count, int change)
{
    pthread_mutex_lock(&device->lock);
    if (change > 0 || *count > 0)
        *count = change > 0 ? *count + 1 : *count - 1;
    pthread_mutex_unlock(&device->lock);
}

void braid_device_count(braid_device *device, struct pool *pool, bool wrapped, int change)
{
    pthread_mutex_lock(&device->lock);
    if (wrapped) {
        pool->wrapped = change > 0 ? pool->wrapped + 1 : pool->wrapped - 1;
    } else if (change > 0) {
        pool->created++;
        pool->live++;
    } else {
        pool->live--;
    }
    pthread_mutex_unlock(&device->lock);
}
