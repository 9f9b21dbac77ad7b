// SPDX-License-Identifier: Apache-2.0
// Streams: public ones, and those leased to execs.
#include "base/error.h"
#include "base/host_memory.h"
#include "base/inside.h"
#include "base/sized.h"
#include "device/device.h"
#include "device/places.h"

braid_status braid_device_check_stream(const char *function, const braid_device *device,
                                       const braid_stream *stream)
{
    if (stream->device == device)
        return BRAID_OK;
    return braid_error_invalid("%s: the stream is of another device (%s, not this %s)", function,
                               stream->device->label, device->label);
}

// For functions that know a device by its stream alone.
static braid_status check_stream(const char *function, const braid_stream *stream)
{
    if (stream)
        return braid_device_check(function, stream->device);
    return braid_error_invalid("%s: stream is NULL: braid_device_get_default_stream() gives the "
                               "default stream of a device",
                               function);
}

braid_stream *braid_device_get_default_stream(braid_device *device)
{
    if (!device_is_open(device))
        return NULL;
    return device->group ? &device->group->places.devices[0]->default_stream
                         : &device->default_stream;
}

static _Atomic uint64_t num_streams; // ever made

// Makes the object round a backend stream, which it owns from then on, also if this fails.
static braid_status make_stream(braid_device *device, struct backend_stream *backend,
                                braid_stream **out_stream)
{
    braid_stream *stream = braid_allocate(sizeof(*stream));
    if (!stream) {
        device->backend->ops->stream_destroy(device->backend, backend);
        return braid_error_no_memory("a stream");
    }
    *stream = (braid_stream){ .device = device, .backend = backend };
    atomic_init(&stream->uses, atomic_fetch_add(&num_streams, 1) << 32);
    atomic_init(&stream->exposed, backend->wrapped);
    braid_device_count(device, &device->streams, backend->wrapped, 1);
    *out_stream = stream;
    return BRAID_OK;
}

braid_status braid_stream_create_sized(braid_device *device, const braid_stream_options *options,
                                       braid_stream **out_stream, size_t size)
{
    DEVICE_MEMORY(device);
    braid_stream_options own;
    struct backend_stream *backend = NULL;
    braid_status status =
        braid_sized_take("braid_stream_create: options", options, size, &own, sizeof(own));
    if (!status && (!device || !out_stream))
        status = braid_error_null("braid_stream_create", device ? "out_stream" : "device");
    if (!status)
        status = braid_device_check("braid_stream_create", device);
    if (!status)
        status = device->backend->ops->stream_create(device->backend, own.priority, &backend);
    return status ? status : make_stream(device, backend, out_stream);
}

braid_status braid_stream_wrap(braid_device *device, void *handle, braid_stream **out_stream)
{
    DEVICE_MEMORY(device);
    if (!device || !out_stream)
        return braid_error_null("braid_stream_wrap", device ? "out_stream" : "device");
    braid_status status = braid_device_check("braid_stream_wrap", device);
    if (status)
        return status;
    if (!device->backend->ops->stream_wrap)
        return braid_error(BRAID_UNSUPPORTED, "%s has no streams of a driver to wrap",
                           device->label);
    struct backend_stream *backend = NULL;
    status = device->backend->ops->stream_wrap(device->backend, handle, &backend);
    if (status)
        return status;
    return make_stream(device, backend, out_stream);
}

void braid_stream_destroy(braid_stream *stream)
{
    DEVICE_MEMORY(stream ? stream->device : NULL);
    if (!stream || stream == &stream->device->default_stream || !device_is_here(stream->device) ||
        braid_inside_check("braid_stream_destroy", NULL))
        return;
    braid_device *device = stream->device;
    bool wrapped = stream->backend->wrapped;
    device->backend->ops->stream_destroy(device->backend, stream->backend);
    braid_free(stream);
    braid_device_count(device, &device->streams, wrapped, -1);
}

void *braid_stream_get_handle(braid_stream *stream)
{
    if (!stream || !device_is_open(stream->device))
        return NULL;
    struct backend *backend = stream->device->backend;
    if (!backend->ops->stream_handle)
        return stream;
    atomic_store_explicit(&stream->exposed, true, memory_order_relaxed);
    return backend->ops->stream_handle(backend, stream->backend);
}

braid_status braid_stream_wait(braid_stream *stream)
{
    DEVICE_MEMORY(stream ? stream->device : NULL);
    braid_status status = check_stream("braid_stream_wait", stream);
    if (!status)
        status = braid_inside_check("braid_stream_wait", NULL);
    if (status)
        return status;
    struct backend *backend = stream->device->backend;
    return backend->ops->stream_synchronize(backend, stream->backend);
}

braid_status braid_stream_query(braid_stream *stream)
{
    DEVICE_MEMORY(stream ? stream->device : NULL);
    braid_status status = check_stream("braid_stream_query", stream);
    if (status)
        return status;
    struct backend *backend = stream->device->backend;
    return backend->ops->stream_query(backend, stream->backend);
}

static braid_status submit(braid_stream *stream, struct backend_task task)
{
    struct backend *backend = stream->device->backend;
    braid_status status = backend->ops->submit(backend, stream->backend, &task);
    device_use_stream(stream);
    return status;
}

static braid_status move(const char *function, braid_stream *stream, struct backend_task task)
{
    const char *flaw = braid_work_flaw(task.kind, &task.work);
    return flaw ? braid_error_invalid("%s: %s", function, flaw) : submit(stream, task);
}

braid_status braid_stream_copy(braid_stream *stream, void *to, const void *from, uint64_t bytes)
{
    DEVICE_MEMORY(stream ? stream->device : NULL);
    braid_status status = check_stream("braid_stream_copy", stream);
    if (status)
        return status;
    if (!to || !from || bytes == 0)
        return braid_error_invalid("braid_stream_copy: %s", !to     ? "to is NULL"
                                                            : !from ? "from is NULL"
                                                                    : "0 bytes");
    return move("braid_stream_copy", stream,
                (struct backend_task){ .kind = WORK_COPY,
                                       .name = "copy",
                                       .node = BACKEND_NO_NODE,
                                       .copy = { .to = to, .from = from, .bytes = bytes } });
}

braid_status braid_stream_fill(braid_stream *stream, void *to, uint32_t value, uint32_t value_bytes,
                               uint64_t num_values)
{
    DEVICE_MEMORY(stream ? stream->device : NULL);
    braid_status status = check_stream("braid_stream_fill", stream);
    if (status)
        return status;
    if (!to)
        return braid_error_null("braid_stream_fill", "to");
    if (num_values == 0 || num_values > UINT64_MAX / 4)
        return braid_error_invalid("braid_stream_fill: %llu values to %p",
                                   (unsigned long long)num_values, to);
    value_bytes = value_bytes ? value_bytes : 1;
    if (value_bytes != 1 && value_bytes != 2 && value_bytes != 4)
        return braid_error_invalid("braid_stream_fill: value_bytes is %u, not 1, 2 or 4",
                                   value_bytes);
    return move("braid_stream_fill", stream,
                (struct backend_task){ .kind = WORK_FILL,
                                       .name = "fill",
                                       .node = BACKEND_NO_NODE,
                                       .fill = { .to = to,
                                                 .value = value,
                                                 .value_bytes = value_bytes,
                                                 .num_values = num_values } });
}

braid_status braid_stream_host_call(braid_stream *stream, braid_host_function *call, void *user)
{
    DEVICE_MEMORY(stream ? stream->device : NULL);
    braid_status status = check_stream("braid_stream_host_call", stream);
    if (status)
        return status;
    if (!call)
        return braid_error_null("braid_stream_host_call", "call");
    return submit(stream, (struct backend_task){ .kind = WORK_HOST,
                                                 .name = "host call",
                                                 .node = BACKEND_NO_NODE,
                                                 .host = { .call = call, .user = user } });
}

// With a priority the pool counts it, but has none to give.
static braid_status make_leased(braid_device *device, int32_t priority, braid_stream **out_stream)
{
    const braid_stream_options options = { .priority = priority };
    braid_stream *stream;
    braid_status status = braid_stream_create(device, &options, &stream);
    if (status)
        return status;
    stream->priority = priority;
    pthread_mutex_lock(&device->lock);
    bool added = braid_pool_add_leased(&device->streams);
    pthread_mutex_unlock(&device->lock);
    if (!added) {
        braid_stream_destroy(stream);
        return braid_error_no_memory("a stream");
    }
    *out_stream = stream;
    return BRAID_OK;
}

braid_status braid_device_lease_stream(braid_device *device, int32_t priority,
                                       braid_stream **out_stream)
{
    pthread_mutex_lock(&device->lock);
    braid_stream *stream = priority ? NULL : braid_pool_take(&device->streams);
    pthread_mutex_unlock(&device->lock);
    if (!stream)
        return make_leased(device, priority, out_stream);
    *out_stream = stream;
    return BRAID_OK;
}

void braid_device_return_stream(braid_device *device, braid_stream *stream)
{
    pthread_mutex_lock(&device->lock);
    bool kept = false;
    if (stream->priority)
        device->streams.leased--;
    else
        kept = braid_pool_put(&device->streams, stream);
    pthread_mutex_unlock(&device->lock);
    if (!kept)
        braid_stream_destroy(stream);
}

braid_status braid_device_run_now(braid_device *device, const struct backend_task *task)
{
    struct backend *backend = device->backend;
    braid_stream *stream = NULL;
    braid_status status = braid_device_lease_stream(device, 0, &stream);
    if (status)
        return status;
    status = backend->ops->submit(backend, stream->backend, task);
    if (!status)
        status = backend->ops->stream_synchronize(backend, stream->backend);
    braid_device_return_stream(device, stream);
    return status;
}
