// SPDX-License-Identifier: Apache-2.0
// Events: public ones, and those leased to execs.
#include "base/error.h"
#include "base/host_memory.h"
#include "base/inside.h"
#include "base/sized.h"
#include "device/device.h"

// Makes the object round a backend event, which it owns from then on, also if this fails.
static braid_status make_event(braid_device *device, struct backend_event *backend,
                               braid_event **out_event)
{
    braid_event *event = braid_allocate(sizeof(*event));
    if (!event) {
        device->backend->ops->event_destroy(device->backend, backend);
        return braid_error_no_memory("an event");
    }
    *event = (braid_event){ .device = device, .backend = backend };
    braid_device_count(device, &device->events, false, 1);
    *out_event = event;
    return BRAID_OK;
}

braid_status braid_event_create_sized(braid_device *device, const braid_event_options *options,
                                      braid_event **out_event, size_t size)
{
    DEVICE_MEMORY(device);
    braid_event_options own;
    struct backend_event *backend = NULL;
    braid_status status =
        braid_sized_take("braid_event_create: options", options, size, &own, sizeof(own));
    if (!status && (!device || !out_event))
        status = braid_error_null("braid_event_create", device ? "out_event" : "device");
    if (!status)
        status = braid_device_check("braid_event_create", device);
    if (!status)
        status = device->backend->ops->event_create(device->backend, own.timing, &backend);
    return status ? status : make_event(device, backend, out_event);
}

void braid_event_destroy(braid_event *event)
{
    DEVICE_MEMORY(event ? event->device : NULL);
    if (!event || !device_is_here(event->device))
        return;
    braid_device *device = event->device;
    device->backend->ops->event_destroy(device->backend, event->backend);
    braid_free(event);
    braid_device_count(device, &device->events, false, -1);
}

static braid_status check_event(const char *function, const braid_event *event)
{
    if (!event)
        return braid_error_invalid("%s: event is NULL", function);
    return braid_device_check(function, event->device);
}

braid_status braid_event_record(braid_event *event, braid_stream *stream)
{
    DEVICE_MEMORY(event ? event->device : NULL);
    braid_status status = check_event("braid_event_record", event);
    if (status)
        return status;
    stream = device_stream(event->device, stream);
    status = braid_device_check_stream("braid_event_record", event->device, stream);
    if (status)
        return status;
    struct backend *backend = event->device->backend;
    return backend->ops->event_record(backend, event->backend, stream->backend);
}

braid_status braid_stream_follow(braid_stream *stream, braid_event *event)
{
    DEVICE_MEMORY(event ? event->device : NULL);
    braid_status status = check_event("braid_stream_follow", event);
    if (status)
        return status;
    stream = device_stream(event->device, stream);
    status = braid_device_check_stream("braid_stream_follow", event->device, stream);
    if (status)
        return status;
    struct backend *backend = event->device->backend;
    status = backend->ops->stream_wait(backend, stream->backend, event->backend);
    device_use_stream(stream);
    return status;
}

braid_status braid_event_query(braid_event *event)
{
    DEVICE_MEMORY(event ? event->device : NULL);
    braid_status status = check_event("braid_event_query", event);
    if (status)
        return status;
    return event->device->backend->ops->event_query(event->device->backend, event->backend);
}

braid_status braid_event_wait(braid_event *event)
{
    DEVICE_MEMORY(event ? event->device : NULL);
    braid_status status = check_event("braid_event_wait", event);
    if (!status)
        status = braid_inside_check("braid_event_wait", NULL);
    if (status)
        return status;
    return event->device->backend->ops->event_synchronize(event->device->backend, event->backend);
}

braid_status braid_event_get_elapsed(braid_event *start, braid_event *end, uint64_t *out_ns)
{
    DEVICE_MEMORY(start ? start->device : NULL);
    if (!start || !end)
        return braid_error_null("braid_event_get_elapsed", start ? "end" : "start");
    if (!out_ns || start->device != end->device)
        return braid_error_invalid("braid_event_get_elapsed: %s",
                                   out_ns ? "the events are of two devices" : "out_ns is NULL");
    if (!start->backend->timing || !end->backend->timing)
        return braid_error(BRAID_UNSUPPORTED,
                           "braid_event_get_elapsed: an event was made without timing");
    braid_status status = braid_device_check("braid_event_get_elapsed", start->device);
    if (status)
        return status;
    struct backend *backend = start->device->backend;
    return backend->ops->event_elapsed(backend, start->backend, end->backend, out_ns);
}

braid_status braid_device_lease_event(braid_device *device, braid_event **out_event)
{
    pthread_mutex_lock(&device->lock);
    braid_event *event = braid_pool_take(&device->events);
    pthread_mutex_unlock(&device->lock);
    if (!event) {
        braid_status status = braid_event_create(device, NULL, &event);
        if (status)
            return status;
        pthread_mutex_lock(&device->lock);
        bool added = braid_pool_add_leased(&device->events);
        pthread_mutex_unlock(&device->lock);
        if (!added) {
            braid_event_destroy(event);
            return braid_error_no_memory("an event");
        }
    }
    *out_event = event;
    return BRAID_OK;
}

void braid_device_return_event(braid_device *device, braid_event *event)
{
    pthread_mutex_lock(&device->lock);
    bool kept = braid_pool_put(&device->events, event);
    pthread_mutex_unlock(&device->lock);
    if (!kept)
        braid_event_destroy(event);
}

// The count is never more than there are.
braid_status braid_device_create_timing_event(braid_device *device, braid_event **out_event)
{
    braid_status status =
        braid_event_create(device, &(braid_event_options){ .timing = true }, out_event);
    if (!status)
        braid_device_hold(device, &device->num_timing_events, 1);
    return status;
}

void braid_device_destroy_timing_event(braid_event *event)
{
    if (!event)
        return;
    braid_device_hold(event->device, &event->device->num_timing_events, -1);
    braid_event_destroy(event);
}
