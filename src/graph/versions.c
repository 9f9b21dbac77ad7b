// SPDX-License-Identifier: Apache-2.0
// Declaring buffers of which frames have versions in turn.
#include <stdio.h>

#include "base/error.h"
#include "graph/add.h"

enum { MOST_VERSIONS = 16 };

static braid_status check_apart(const char *name, void *const *addresses, uint32_t num,
                                uint64_t bytes)
{
    for (uint32_t i = 0; i < num; i++) {
        uintptr_t begin = (uintptr_t)addresses[i];
        if (!begin || bytes - 1 > UINTPTR_MAX - begin)
            return braid_error_invalid("versioned buffer '%s': no %llu bytes at %p for version %u",
                                       name, (unsigned long long)bytes, addresses[i], i);
        for (uint32_t k = 0; k < i; k++) {
            uintptr_t other = (uintptr_t)addresses[k];
            if (begin < other + bytes && other < begin + bytes)
                return braid_error_invalid("versioned buffer '%s': versions %u and %u share bytes",
                                           name, k, i);
        }
    }
    return BRAID_OK;
}

static braid_status check_buffer(const char *name, void *const *addresses, uint32_t num_versions,
                                 uint64_t bytes)
{
    if (num_versions < 2 || num_versions > MOST_VERSIONS)
        return braid_error_invalid("versioned buffer '%s': %u versions, not 2 to %d", name,
                                   num_versions, MOST_VERSIONS);
    if (bytes == 0 || bytes > (uint64_t)1 << 48)
        return braid_error_invalid("versioned buffer '%s': %llu bytes, not 1 to 2^48", name,
                                   (unsigned long long)bytes);
    return addresses ? check_apart(name, addresses, num_versions, bytes) : BRAID_OK;
}

braid_status braid_graph_add_versioned_buffer(braid_graph *graph, const char *name,
                                              void *const *addresses, uint32_t num_versions,
                                              uint64_t bytes, braid_resource *out_resource)
{
    braid_status status =
        braid_graph_check_named("braid_graph_add_versioned_buffer", graph, name, out_resource);
    if (!status)
        status = check_buffer(name, addresses, num_versions, bytes);
    if (status)
        return status;
    if (!braid_array_reserve(&graph->versions, num_versions, sizeof(void *)))
        return braid_error_no_memory("a versioned buffer");
    const struct graph_resource resource = { .buffer = GRAPH_NONE,
                                             .bytes = bytes,
                                             .num_versions = num_versions,
                                             .first_version = (uint32_t)graph->versions.num,
                                             .versioned = (uint32_t)graph->resources.num };
    status = braid_graph_append_resource(graph, name, resource, out_resource);
    if (status)
        return status;
    void **versions = braid_array_append(&graph->versions, num_versions, sizeof(void *));
    for (uint32_t i = 0; i < num_versions; i++)
        versions[i] = addresses ? addresses[i] : NULL;
    return BRAID_OK;
}

// Two names of one memory would be two buffers inside a frame.
static bool find_named(const braid_graph *graph, uint32_t versioned, uint32_t frames_before,
                       braid_resource *out_resource)
{
    const struct graph_resource *resources = graph->resources.items;
    uint32_t i = resources[versioned].next_earlier;
    while (i && resources[i].frames_before != frames_before)
        i = resources[i].next_earlier;
    if (i)
        *out_resource = (braid_resource){ .index = i, .graph = graph->id };
    return i;
}

braid_status braid_graph_add_earlier_version(braid_graph *graph, braid_resource versioned,
                                             uint32_t frames_before, braid_resource *out_resource)
{
    if (!graph || !out_resource)
        return braid_error_null("braid_graph_add_earlier_version",
                                graph ? "out_resource" : "graph");
    const struct graph_resource *resources = graph->resources.items;
    if (versioned.graph != graph->id || versioned.index >= graph->resources.num ||
        resources[versioned.index].num_versions == 0 ||
        resources[versioned.index].frames_before != 0)
        return braid_error_invalid("braid_graph_add_earlier_version: resource %u of graph %u is "
                                   "not a versioned buffer of this graph",
                                   versioned.index, versioned.graph);
    struct graph_resource earlier = resources[versioned.index];
    const char *name = braid_names_at(&graph->names, earlier.name);
    if (frames_before == 0 || frames_before >= earlier.num_versions)
        return braid_error_invalid(
            "versioned buffer '%s' has %u versions: none of %u frames before", name,
            earlier.num_versions, frames_before);
    if (find_named(graph, versioned.index, frames_before, out_resource))
        return BRAID_OK;
    char text[256];
    snprintf(text, sizeof(text), "%.200s[-%u]", name, frames_before);
    earlier.buffer = GRAPH_NONE;
    earlier.frames_before = frames_before;
    braid_status status = braid_graph_append_resource(graph, text, earlier, out_resource);
    if (!status)
        ((struct graph_resource *)graph->resources.items)[versioned.index].next_earlier =
            out_resource->index;
    return status;
}
