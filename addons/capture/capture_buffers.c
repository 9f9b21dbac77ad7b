// SPDX-License-Identifier: Apache-2.0
// The resources of a capture, and the contents of buffers whose memory outlives the frame.
#include "base/error.h"
#include "capture/capture.h"

// As in the file.
enum { KIND_NAME, KIND_BUFFER, KIND_TRANSIENT, KIND_RANGE };

enum { STAGING_BYTES = 1 << 20 };

static uint32_t kind_of(const struct capture *capture, uint32_t resource)
{
    const struct graph_resource *declared = graph_resource_at(capture->graph, resource);
    if (!declared->bytes || declared->is_scratch)
        return KIND_NAME;
    if (declared->buffer != resource)
        return KIND_RANGE;
    return declared->alignment ? KIND_TRANSIENT : KIND_BUFFER;
}

// That of a versioned buffer is the next frame's.
const unsigned char *braid_capture_memory_of(const struct capture *capture, uint32_t resource)
{
    const struct graph_resource *declared = graph_resource_at(capture->graph, resource);
    uint32_t num = declared->num_versions;
    if (!num)
        return declared->address;
    uint64_t frame = capture->exec->frames.num_launched + num - declared->frames_before;
    return capture->exec->tasks.version_memory[declared->first_version + frame % num];
}

braid_status braid_capture_check_resources(const struct capture *capture)
{
    char buffer[160];
    for (uint32_t i = 0; i < capture->graph->resources.num; i++) {
        if (kind_of(capture, i) == KIND_BUFFER && !braid_capture_memory_of(capture, i))
            return braid_error(
                BRAID_UNSUPPORTED,
                "a capture cannot find the contents of buffer '%s', which was declared without its "
                "address",
                braid_graph_resource_name(capture->graph, i, buffer, sizeof(buffer)));
    }
    return BRAID_OK;
}

// Finds the buffer whose memory ends where this buffer begins, so that copies may span both; else
// this one.
static uint32_t buffer_of(const struct capture *capture, uint32_t resource)
{
    const struct graph_resource *declared = graph_resource_at(capture->graph, resource);
    const struct extents *extents = &capture->exec->extents;
    bool has_address = kind_of(capture, resource) == KIND_BUFFER && declared->address;
    uint32_t i = has_address ? braid_extents_find(extents, declared->address) : 0;
    return i && extents->items[i - 1].last + 1 == (uintptr_t)declared->address
               ? extents->items[i - 1].buffer
               : declared->buffer;
}

// Scratch may have grown since.
static uint64_t bytes_of(const struct capture *capture, uint32_t resource)
{
    const braid_graph *grown = capture->exec->memory.scratch_graph;
    return graph_resource_at(grown ? grown : capture->graph, resource)->bytes;
}

void braid_capture_put_resources(struct capture *capture)
{
    struct capture_file *file = &capture->file;
    braid_capture_begin_section(file, "RSRC");
    braid_capture_put_number(file, capture->graph->resources.num, 4);
    for (uint32_t i = 0; i < capture->graph->resources.num; i++) {
        const struct graph_resource *declared = graph_resource_at(capture->graph, i);
        braid_capture_put_text(file, braid_names_at(&capture->graph->names, declared->name));
        braid_capture_put_number(file, kind_of(capture, i), 1);
        braid_capture_put_number(file, buffer_of(capture, i), 4);
        braid_capture_put_number(file, declared->offset, 8);
        braid_capture_put_number(file, bytes_of(capture, i), 8);
        braid_capture_put_number(file, declared->alignment, 4);
    }
    braid_capture_end_section(file);
}

static braid_status put_content(struct capture *capture, uint32_t resource)
{
    const unsigned char *memory = braid_capture_memory_of(capture, resource);
    uint64_t bytes = graph_resource_at(capture->graph, resource)->bytes;
    braid_device *device = capture->exec->device;
    braid_status status = BRAID_OK;
    braid_capture_put_size(&capture->file, bytes);
    if (!capture->file.stream) {
        braid_capture_put(&capture->file, NULL, bytes);
        return BRAID_OK;
    }
    for (uint64_t at = 0; at < bytes && !status; at += STAGING_BYTES) {
        uint64_t num = bytes - at < STAGING_BYTES ? bytes - at : STAGING_BYTES;
        status = braid_stream_copy(device, capture->stream, capture->staging, memory + at, num);
        if (!status)
            status = braid_stream_synchronize(device, capture->stream);
        if (!status)
            braid_capture_put(&capture->file, capture->staging, num);
    }
    return status;
}

// A copy to memory that the driver does not know ends before it returns, or with its stream.
static braid_status prepare(struct capture *capture)
{
    capture->staging = malloc(STAGING_BYTES);
    return capture->staging ? braid_device_lease_stream(capture->exec->device, 0, &capture->stream)
                            : braid_error_no_memory("a capture");
}

braid_status braid_capture_put_contents(struct capture *capture)
{
    braid_status status = capture->file.stream ? prepare(capture) : BRAID_OK;
    braid_capture_begin_section(&capture->file, "DATA");
    for (uint32_t i = 0; i < capture->graph->resources.num && !status; i++) {
        if (kind_of(capture, i) == KIND_BUFFER)
            status = put_content(capture, i);
    }
    braid_capture_end_section(&capture->file);
    if (capture->stream)
        braid_device_return_stream(capture->exec->device, capture->stream);
    free(capture->staging);
    return status;
}
