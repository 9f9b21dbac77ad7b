// SPDX-License-Identifier: Apache-2.0
// Keeping replicas from frame to frame.
//
// They are filled by an exec of their own, which has a copy for each part: it is launched before a
// frame on the frame's stream, behind the ends of all frames before, which may still read them.
// Until it has ended, every launch on any stream is behind it.
#include "exec/exec_kept.h"

#include <stddef.h>

#include "base/array.h"
#include "base/error.h"
#include "base/inside.h"
#include "graph/placed.h"

enum { ALIGNMENT = 256 };

struct exec_kept {
    void **memory;    // by place
    braid_exec *fill; // its node i fills entry i
    bool *is_changed; // by entry: it is to be filled
    uint32_t num_changed;
    bool is_filling; // `fill` was launched, and is not known to have ended
};

static const struct graph_resource *resource_at(const braid_exec *exec, uint32_t index)
{
    return &((const struct graph_resource *)exec->placed->graph->resources.items)[index];
}

// Of one place. `memory` is NULL to count.
static uint64_t lay_out(braid_exec *exec, uint32_t place, unsigned char *memory)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < exec->placed->graph->resources.num; i++) {
        const struct graph_resource *resource = resource_at(exec, i);
        if (resource->num_versions != 1 || resource->buffer != i || resource->home != place)
            continue;
        if (memory)
            exec->tasks.version_memory[resource->first_version] = memory + bytes;
        bytes += (resource->bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    return bytes;
}

static braid_status allocate_at(braid_exec *exec, uint32_t place)
{
    const braid_device *device = exec->places.devices[place];
    struct backend *backend = device->backend;
    void **memory = &exec->kept_replicas->memory[place];
    uint64_t bytes = lay_out(exec, place, NULL);
    if (bytes == 0)
        return BRAID_OK;
    braid_status status = backend->ops->allocate(backend, BRAID_MEMORY_DEVICE, bytes, memory);
    if (status) {
        *memory = NULL;
        return braid_error(status, "the replicas of an exec on %s take %llu bytes: %s",
                           device->label, (unsigned long long)bytes, braid_error_message());
    }
    exec->version_bytes += bytes;
    exec->info.memory_bytes = exec->version_bytes;
    lay_out(exec, place, *memory);
    return BRAID_OK;
}

static braid_status add_copy(const braid_exec *exec, const struct placed_entry *entry,
                             braid_graph *graph)
{
    const char *from = resource_at(exec, entry->buffer)->address;
    uint32_t version = resource_at(exec, entry->resource)->first_version;
    const braid_copy copy = {
        .node = { .name = "a replica", .place = BRAID_PLACE(entry->from) },
        .to = (char *)exec->tasks.version_memory[version] + entry->offset,
        .from = from + entry->offset,
        .bytes = entry->bytes,
    };
    return braid_graph_add_copy(graph, &copy, NULL);
}

static braid_status make_fill(braid_exec *exec)
{
    const struct placed *placed = exec->placed;
    const braid_place_model model = { .num_places = placed->model.num_places,
                                      .speeds = placed->model.speeds,
                                      .links = placed->model.links };
    const braid_exec_options options = { .mode = BRAID_MODE_STREAMS, .plan.places = &model };
    braid_graph *graph = NULL;
    braid_status status = braid_graph_create(&graph);
    for (uint32_t i = 0; i < placed->num_entries && !status; i++)
        status = add_copy(exec, &placed->entries[i], graph);
    if (!status)
        status = braid_exec_create_on(&exec->places, graph, &options, &exec->kept_replicas->fill);
    braid_graph_destroy(graph);
    return status;
}

braid_status braid_exec_allocate_kept(braid_exec *exec)
{
    uint32_t num = exec->placed ? exec->placed->num_entries : 0;
    braid_status status = BRAID_OK;
    bool has_any = num > 0;
    for (uint32_t i = 0; exec->placed && i < exec->places.num; i++)
        has_any = has_any || lay_out(exec, i, NULL) > 0;
    if (!has_any)
        return BRAID_OK;
    struct exec_kept *kept = calloc(1, sizeof(*kept));
    exec->kept_replicas = kept;
    if (kept) {
        kept->memory = braid_allocate_zeroed(exec->places.num, sizeof(*kept->memory));
        kept->is_changed = braid_allocate_zeroed(num, sizeof(*kept->is_changed));
    }
    if (!kept || !kept->memory || !kept->is_changed)
        return braid_error_no_memory("the replicas of an exec");
    for (uint32_t i = 0; i < exec->places.num && !status; i++)
        status = allocate_at(exec, i);
    if (!status && num)
        status = make_fill(exec);
    for (uint32_t i = 0; i < num; i++)
        kept->is_changed[i] = true;
    kept->num_changed = num;
    return status;
}

void braid_exec_free_kept_replicas(braid_exec *exec)
{
    struct exec_kept *kept = exec->kept_replicas;
    if (!kept)
        return;
    if (kept->fill)
        braid_exec_free(kept->fill);
    for (uint32_t i = 0; kept->memory && i < exec->places.num; i++) {
        struct backend *backend = exec->places.devices[i]->backend;
        if (kept->memory[i])
            backend->ops->release(backend, BRAID_MEMORY_DEVICE, kept->memory[i]);
    }
    free(kept->memory);
    free(kept->is_changed);
    free(kept);
    exec->kept_replicas = NULL;
}

static braid_status wait_for(braid_exec *exec, braid_stream *stream, const braid_event *event)
{
    struct backend *backend = exec->device->backend;
    braid_status status =
        backend->ops->stream_wait(backend, device_backend_stream(stream), event->backend);
    device_use_stream(stream); // no frame on it begins where an earlier one did
    return status;
}

// Without the wait at the end of a launch: the lock of the exec that it fills for is held, too.
static braid_status launch_under_lock(braid_exec *fill, braid_stream *stream)
{
    pthread_mutex_lock(&fill->lock);
    braid_status status = braid_exec_launch_frames(fill, stream, 1, false);
    pthread_mutex_unlock(&fill->lock);
    return status;
}

braid_exec *braid_exec_get_fill(const braid_exec *exec)
{
    return exec->kept_replicas ? exec->kept_replicas->fill : NULL;
}

bool braid_exec_fill_is_unknown(const braid_exec *exec)
{
    const braid_exec *fill = braid_exec_get_fill(exec);
    return fill && atomic_load(&fill->ends) != EXEC_ENDS_KNOWN;
}

braid_status braid_exec_await_fill(braid_exec *exec)
{
    if (!braid_exec_fill_is_unknown(exec))
        return BRAID_OK;
    braid_exec *fill = exec->kept_replicas->fill;
    pthread_mutex_lock(&fill->lock);
    braid_status status = braid_exec_find_lost(fill, fill->lost_stream);
    pthread_mutex_unlock(&fill->lock);
    return status;
}

static braid_status launch_fill(braid_exec *exec, braid_stream *stream)
{
    struct exec_kept *kept = exec->kept_replicas;
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < exec->placed->num_entries && !status; i++) {
        const braid_node node = { .index = i, .graph = kept->fill->graph_id };
        status = braid_exec_set_enabled(kept->fill, node, kept->is_changed[i]);
    }
    for (uint32_t i = 0; i < exec->num_slots && !status; i++)
        status = wait_for(exec, stream, exec->slots[i].done);
    if (!status)
        status = launch_under_lock(kept->fill, stream);
    if (braid_exec_fill_is_unknown(exec))
        braid_exec_lose(exec, stream); // whose launch waits for it, without the lock
    if (status)
        return status;
    kept->is_filling = true;
    kept->num_changed = 0;
    for (uint32_t i = 0; i < exec->placed->num_entries; i++)
        kept->is_changed[i] = false;
    return BRAID_OK;
}

braid_status braid_exec_fill_kept(braid_exec *exec, braid_stream *stream)
{
    struct exec_kept *kept = exec->kept_replicas;
    struct backend *backend = exec->device->backend;
    if (!kept || !kept->fill)
        return BRAID_OK;
    if (kept->num_changed)
        return launch_fill(exec, stream);
    if (!kept->is_filling)
        return BRAID_OK;
    const braid_event *done = kept->fill->slots[0].done;
    braid_status status = backend->ops->event_query(backend, done->backend);
    kept->is_filling = status == BRAID_NOT_READY;
    return kept->is_filling ? wait_for(exec, stream, done) : status;
}

braid_status braid_exec_set_changed(braid_exec *exec, braid_resource buffer)
{
    if (!exec)
        return braid_error_null("braid_exec_set_changed", "exec");
    braid_status status = braid_inside_check("braid_exec_set_changed", exec);
    if (status)
        return status;
    if (buffer.graph != exec->graph_id ||
        (exec->placed && buffer.index >= exec->placed->graph->resources.num))
        return braid_error(BRAID_INVALID_ARGUMENT,
                           "braid_exec_set_changed: resource %u of graph %u is not a resource of "
                           "the exec's graph",
                           buffer.index, buffer.graph);
    struct exec_kept *kept = exec->kept_replicas;
    if (!kept)
        return BRAID_OK;
    pthread_mutex_lock(&exec->lock);
    uint32_t whole = resource_at(exec, buffer.index)->buffer;
    for (uint32_t i = 0; i < exec->placed->num_entries; i++) {
        if (exec->placed->entries[i].buffer != whole || kept->is_changed[i])
            continue;
        kept->is_changed[i] = true;
        kept->num_changed++;
    }
    pthread_mutex_unlock(&exec->lock);
    return BRAID_OK;
}
