// SPDX-License-Identifier: Apache-2.0
// Replicas: a buffer that is needed elsewhere has a transient buffer of its size there, and its
// ranges have ranges of that. The first place of a transient buffer has the buffer itself.
#include "plan/places/place_memory.h"

#include <stdio.h>

#include "base/error.h"
#include "graph/add.h"

enum { REPLICA_ALIGNMENT = 256 }; // as much as drivers give

braid_status braid_place_memory_create(braid_graph *graph, uint32_t num_places,
                                       struct place_memory *out_memory)
{
    size_t num = graph->resources.num;
    struct place_memory memory = { .graph = graph,
                                   .num_resources = (uint32_t)num,
                                   .num_places = num_places,
                                   .replicas = malloc((num * num_places + 1) * sizeof(uint32_t)) };
    if (!memory.replicas)
        return braid_error_no_memory("the replicas of a plan");
    for (size_t i = 0; i < num * num_places; i++)
        memory.replicas[i] = GRAPH_NONE;
    *out_memory = memory;
    return BRAID_OK;
}

void braid_place_memory_finish(struct place_memory *memory)
{
    free(memory->replicas);
    *memory = (struct place_memory){ 0 };
}

static struct graph_resource *resource_at(const braid_graph *graph, uint32_t index)
{
    return &((struct graph_resource *)graph->resources.items)[index];
}

uint32_t braid_place_home(const braid_graph *graph, uint32_t index)
{
    const struct graph_resource *resource = resource_at(graph, index);
    if (!resource->bytes)
        return GRAPH_EVERYWHERE;
    if (resource->alignment)
        return PLACE_NOWHERE;
    uint32_t owner = resource->num_versions ? resource->versioned : resource->buffer;
    return resource_at(graph, owner)->home;
}

static bool is_new(const struct place_memory *memory, uint32_t buffer)
{
    const uint32_t *row = &memory->replicas[(size_t)buffer * memory->num_places];
    for (uint32_t i = 0; i < memory->num_places; i++) {
        if (row[i] != GRAPH_NONE)
            return false;
    }
    return true;
}

static braid_status append(struct place_memory *memory, const char *name,
                           struct graph_resource resource, uint32_t *out_index)
{
    braid_resource handle;
    uint64_t version = memory->graph->version;
    braid_status status = braid_graph_append_resource(memory->graph, name, resource, &handle);
    memory->graph->version = version;
    *out_index = handle.index;
    return status;
}

static braid_status add_replica(struct place_memory *memory, uint32_t buffer, uint32_t place,
                                uint32_t *out_index)
{
    const struct graph_resource *whole = resource_at(memory->graph, buffer);
    struct graph_resource replica = {
        .buffer = GRAPH_NONE,
        .bytes = whole->bytes,
        .alignment = whole->alignment ? whole->alignment : REPLICA_ALIGNMENT,
        .home = place,
    };
    char name[256];
    snprintf(name, sizeof(name), "%.200s on device %u",
             braid_names_at(&memory->graph->names, whole->name), place);
    return append(memory, name, replica, out_index);
}

// Finds the resource that a buffer is there.
static braid_status find_whole(struct place_memory *memory, uint32_t buffer, uint32_t place,
                               uint32_t *out_index)
{
    uint32_t *slot = &memory->replicas[(size_t)buffer * memory->num_places + place];
    struct graph_resource *whole = resource_at(memory->graph, buffer);
    uint32_t home = braid_place_home(memory->graph, buffer);
    braid_status status = BRAID_OK;
    if (*slot != GRAPH_NONE) {
        *out_index = *slot;
        return BRAID_OK;
    }
    if (home == PLACE_NOWHERE && is_new(memory, buffer)) {
        whole->home = place;
        *slot = buffer;
    } else if (home == place || home == GRAPH_EVERYWHERE) {
        *slot = buffer;
    } else {
        status = add_replica(memory, buffer, place, slot);
    }
    if (status)
        *slot = GRAPH_NONE;
    *out_index = *slot;
    return status;
}

static braid_status add_range(struct place_memory *memory, uint32_t whole, uint64_t offset,
                              uint64_t bytes, uint32_t *out_index)
{
    struct graph_resource range = *resource_at(memory->graph, whole);
    range.buffer = whole;
    range.offset = offset;
    range.bytes = bytes;
    return append(memory, NULL, range, out_index);
}

braid_status braid_place_memory_at(struct place_memory *memory, uint32_t index, uint32_t place,
                                   uint32_t *out_resource)
{
    const struct graph_resource *resource = resource_at(memory->graph, index);
    uint32_t buffer = resource->buffer, whole;
    uint64_t offset = resource->offset, bytes = resource->bytes;
    if (!bytes) {
        *out_resource = index;
        return BRAID_OK;
    }
    braid_status status = find_whole(memory, buffer, place, &whole);
    if (status || index == buffer) {
        *out_resource = whole;
        return status;
    }
    uint32_t *slot = &memory->replicas[(size_t)index * memory->num_places + place];
    if (whole == buffer) {
        *slot = index;
        resource_at(memory->graph, index)->home = resource_at(memory->graph, buffer)->home;
    } else if (*slot == GRAPH_NONE) {
        status = add_range(memory, whole, offset, bytes, slot);
        if (status)
            *slot = GRAPH_NONE;
    }
    *out_resource = *slot;
    return status;
}

braid_status braid_place_memory_part(struct place_memory *memory, uint32_t buffer, uint64_t offset,
                                     uint64_t bytes, uint32_t place, uint32_t *out_resource)
{
    uint32_t whole;
    braid_status status = find_whole(memory, buffer, place, &whole);
    if (status || bytes == resource_at(memory->graph, buffer)->bytes) {
        *out_resource = whole;
        return status;
    }
    return add_range(memory, whole, offset, bytes, out_resource);
}
