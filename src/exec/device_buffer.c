// SPDX-License-Identifier: Apache-2.0
// Memory of a device that a graph has as a buffer, allocated, filled and declared by one call.
#include "base/error.h"
#include "base/inside.h"
#include "device/device.h"
#include "graph/add.h"

static const char function[] = "braid_graph_add_device_buffer";

static braid_status check_arguments(const braid_graph *graph, const braid_device *device,
                                    const char *name, uint64_t bytes, void **out_memory,
                                    const braid_resource *out_resource)
{
    if (!out_memory)
        return braid_error_null(function, "out_memory");
    braid_status status = braid_graph_check_named(function, graph, name, out_resource);
    if (!status && bytes == 0)
        status = braid_error_invalid("buffer '%s': its size is 0 bytes", name);
    if (!status)
        status = braid_device_check(function, device);
    return status ? status : braid_inside_check(function, NULL);
}

static braid_status upload(braid_device *device, void *to, const void *from, uint64_t bytes)
{
    const struct backend_task copy = {
        .kind = WORK_COPY,
        .name = "copy",
        .node = BACKEND_NO_NODE,
        .copy = { .to = to, .from = from, .bytes = bytes },
    };
    return braid_device_run_now(device, &copy);
}

braid_status braid_graph_add_device_buffer(braid_graph *graph, braid_device *device,
                                           const char *name, const void *content, uint64_t bytes,
                                           void **out_memory, braid_resource *out_resource)
{
    void *memory = NULL;
    braid_status status = check_arguments(graph, device, name, bytes, out_memory, out_resource);
    if (!status)
        status = braid_memory_allocate(device, BRAID_MEMORY_DEVICE, bytes, &memory);
    if (!status && content)
        status = upload(device, memory, content, bytes);
    if (!status) // last, so that a call that fails leaves the graph as it was
        status = braid_graph_add_buffer(graph, name, memory, bytes, out_resource);
    if (status)
        braid_memory_free(device, memory);
    else
        *out_memory = memory;
    return status;
}
