// SPDX-License-Identifier: Apache-2.0
// Declaring resources: buffers, ranges of buffers, named things, and buffers that have versions in
// turn.
#include <stdio.h>

#include "base/error.h"
#include "graph/add.h"

// ---- resources ----

braid_status braid_graph_append_resource(braid_graph *graph, const char *name,
                                         struct graph_resource resource,
                                         braid_resource *out_resource)
{
    if (graph->resources.num >= GRAPH_MAX_ITEMS)
        return braid_error_invalid("too many resources in one graph");
    if (!braid_array_reserve(&graph->resources, 1, sizeof(resource)) ||
        !braid_names_reserve(&graph->names, name))
        return braid_error_no_memory("a resource");
    uint32_t index = (uint32_t)graph->resources.num;
    resource.name = name ? braid_names_store(&graph->names, name) : resource.name;
    if (resource.buffer == GRAPH_NONE)
        resource.buffer = index;
    resource.scratch = GRAPH_NONE;
    struct graph_resource *slot = braid_array_append(&graph->resources, 1, sizeof(*slot));
    *slot = resource;
    graph->version++;
    *out_resource = (braid_resource){ .index = index, .graph = graph->id };
    return BRAID_OK;
}

braid_status braid_graph_check_named(const char *function, const braid_graph *graph,
                                     const char *name, const braid_resource *out_resource)
{
    if (!graph || !out_resource)
        return braid_error_null(function, graph ? "out_resource" : "graph");
    if (!name)
        return braid_error_null(function, "name");
    if (!*name)
        return braid_error_invalid("%s: a resource needs a name", function);
    return BRAID_OK;
}

braid_status braid_graph_add_buffer(braid_graph *graph, const char *name, const void *address,
                                    uint64_t bytes, braid_resource *out_resource)
{
    braid_status status =
        braid_graph_check_named("braid_graph_add_buffer", graph, name, out_resource);
    if (status)
        return status;
    if (bytes == 0)
        return braid_error_invalid("buffer '%s': its size is 0 bytes", name);
    if (bytes - 1 > UINTPTR_MAX - (uintptr_t)address)
        return braid_error_invalid("buffer '%s': %llu bytes at %p end beyond the address space",
                                   name, (unsigned long long)bytes, address);
    return braid_graph_append_resource(
        graph, name,
        (struct graph_resource){ .buffer = GRAPH_NONE, .address = address, .bytes = bytes },
        out_resource);
}

braid_status braid_graph_check_planned_bytes(const char *what, const char *name, uint64_t bytes)
{
    const uint64_t most = (uint64_t)1 << 48; // no machine has as much
    if (bytes > 0 && bytes <= most)
        return BRAID_OK;
    return braid_error_invalid("%s '%s': %llu bytes, not 1 to 2^48", what, name,
                               (unsigned long long)bytes);
}

// Checks memory that the plan chooses.
static braid_status check_planned(const char *what, const char *name, uint64_t bytes,
                                  uint64_t *alignment)
{
    braid_status status = braid_graph_check_planned_bytes(what, name, bytes);
    if (status)
        return status;
    if (*alignment == 0)
        *alignment = GRAPH_ALIGNMENT;
    if (*alignment > 65536 || (*alignment & (*alignment - 1)))
        return braid_error_invalid("%s '%s': its alignment %llu is not a power of two up to 65536",
                                   what, name, (unsigned long long)*alignment);
    return BRAID_OK;
}

static braid_status add_planned(const char *function, const char *what, braid_graph *graph,
                                const char *name, struct graph_resource resource,
                                braid_resource *out_resource)
{
    braid_status status = braid_graph_check_named(function, graph, name, out_resource);
    if (!status)
        status = check_planned(what, name, resource.bytes, &resource.alignment);
    return status ? status : braid_graph_append_resource(graph, name, resource, out_resource);
}

braid_status braid_graph_add_transient(braid_graph *graph, const char *name, uint64_t bytes,
                                       uint64_t alignment, braid_resource *out_resource)
{
    return add_planned(
        "braid_graph_add_transient", "transient", graph, name,
        (struct graph_resource){ .buffer = GRAPH_NONE, .bytes = bytes, .alignment = alignment },
        out_resource);
}

braid_status braid_graph_add_scratch(braid_graph *graph, const char *name, uint64_t bytes,
                                     uint64_t alignment, braid_resource *out_resource)
{
    return add_planned(
        "braid_graph_add_scratch", "scratch", graph, name,
        (struct graph_resource){
            .buffer = GRAPH_NONE, .bytes = bytes, .alignment = alignment, .is_scratch = true },
        out_resource);
}

braid_status braid_graph_add_resource(braid_graph *graph, const char *name,
                                      braid_resource *out_resource)
{
    braid_status status =
        braid_graph_check_named("braid_graph_add_resource", graph, name, out_resource);
    if (status)
        return status;
    return braid_graph_append_resource(graph, name, (struct graph_resource){ .buffer = GRAPH_NONE },
                                       out_resource);
}

enum { MOST_SLOTS = 1024 };

braid_status braid_graph_add_slots(braid_graph *graph, const char *name, uint32_t num_slots,
                                   braid_resource *out_resource)
{
    braid_status status =
        braid_graph_check_named("braid_graph_add_slots", graph, name, out_resource);
    if (status)
        return status;
    if (num_slots < 1 || num_slots > MOST_SLOTS)
        return braid_error_invalid("'%s': %u slots, not 1 to %d", name, num_slots, MOST_SLOTS);
    if (!braid_array_reserve(&graph->resources, num_slots, sizeof(struct graph_resource)))
        return braid_error_no_memory("slots");
    struct graph_resource slot = { .buffer = GRAPH_NONE,
                                   .num_slots = num_slots,
                                   .home = GRAPH_EVERYWHERE };
    braid_resource first, other;
    status = braid_graph_append_resource(graph, name, slot, &first);
    for (uint32_t i = 1; i < num_slots && !status; i++) {
        slot.name = graph_resource_at(graph, first.index)->name;
        slot.num_slots = 0;
        status = braid_graph_append_resource(graph, NULL, slot, &other);
    }
    if (!status)
        *out_resource = first;
    return status;
}

static braid_status check_own(const char *function, const braid_graph *graph,
                              braid_resource resource)
{
    if (resource.graph == graph->id && resource.index < graph->resources.num)
        return BRAID_OK;
    return braid_error_invalid("%s: resource %u of graph %u is not a resource of this graph",
                               function, resource.index, resource.graph);
}

braid_status braid_graph_add_range(braid_graph *graph, braid_resource buffer, uint64_t offset,
                                   uint64_t bytes, braid_resource *out_range)
{
    if (!graph || !out_range)
        return braid_error_null("braid_graph_add_range", graph ? "out_range" : "graph");
    braid_status status = check_own("braid_graph_add_range", graph, buffer);
    if (status)
        return status;
    const struct graph_resource *whole = graph_resource_at(graph, buffer.index);
    const char *name = braid_names_at(&graph->names, whole->name);
    const char *what = !whole->bytes                   ? "not a buffer"
                       : whole->is_scratch             ? "scratch"
                       : whole->num_versions           ? "versioned"
                       : whole->buffer != buffer.index ? "a range itself"
                                                       : NULL;
    if (what)
        return braid_error_invalid("'%s' is %s: ranges are of buffers", name, what);
    if (bytes == 0)
        return braid_error_invalid("buffer '%s': a range of 0 bytes at %llu", name,
                                   (unsigned long long)offset);
    if (offset > whole->bytes || bytes > whole->bytes - offset)
        return braid_error_invalid(
            "buffer '%s': a range of %llu bytes at %llu ends beyond its %llu bytes", name,
            (unsigned long long)bytes, (unsigned long long)offset,
            (unsigned long long)whole->bytes);
    struct graph_resource range = *whole;
    range.buffer = buffer.index;
    range.offset = offset;
    range.bytes = bytes;
    return braid_graph_append_resource(graph, NULL, range, out_range);
}

// Why it cannot be seen after a frame; NULL: it can.
static const char *why_no_output(const struct graph_resource *resource)
{
    return resource->is_scratch     ? "scratch"
           : resource->alignment    ? "a transient buffer"
           : resource->num_slots    ? "slots"
           : resource->communicator ? "a communicator"
                                    : NULL;
}

// Where a resource stands among the outputs, or would stand.
static size_t find_output(const braid_graph *graph, uint32_t resource)
{
    const uint32_t *outputs = graph->outputs.items;
    size_t i = 0;
    while (i < graph->outputs.num && outputs[i] < resource)
        i++;
    return i;
}

braid_status braid_graph_set_output(braid_graph *graph, braid_resource resource)
{
    if (!graph)
        return braid_error_null("braid_graph_set_output", "graph");
    braid_status status = check_own("braid_graph_set_output", graph, resource);
    if (status)
        return status;
    char name[256];
    const char *what = why_no_output(graph_resource_at(graph, resource.index));
    if (what)
        return braid_error_invalid(
            "'%s' is %s, which nobody can read after a frame",
            braid_graph_resource_name(graph, resource.index, name, sizeof(name)), what);
    if (graph->imported_places)
        return braid_error(BRAID_UNSUPPORTED,
                           "an imported graph has no outputs: nobody knows which "
                           "nodes they need");
    size_t at = find_output(graph, resource.index), num_behind = graph->outputs.num - at;
    if (num_behind && ((const uint32_t *)graph->outputs.items)[at] == resource.index)
        return BRAID_OK;
    if (!braid_array_append(&graph->outputs, 1, sizeof(uint32_t)))
        return braid_error_no_memory("an output");
    uint32_t *slot = (uint32_t *)graph->outputs.items + at;
    memmove(slot + 1, slot, num_behind * sizeof(*slot));
    *slot = resource.index;
    graph->version++;
    return BRAID_OK;
}

braid_status braid_graph_set_home(braid_graph *graph, braid_resource resource, uint32_t place)
{
    if (!graph)
        return braid_error_null("braid_graph_set_home", "graph");
    braid_status status = check_own("braid_graph_set_home", graph, resource);
    if (status)
        return status;
    struct graph_resource *home =
        &((struct graph_resource *)graph->resources.items)[resource.index];
    const char *name = braid_names_at(&graph->names, home->name);
    const char *what = home->is_scratch                 ? "scratch"
                       : home->alignment                ? "a transient buffer"
                       : home->buffer != resource.index ? "a range"
                       : home->frames_before            ? "an earlier version"
                       : home->num_slots                ? "slots"
                                                        : NULL;
    if (what)
        return braid_error_invalid("'%s' is %s, which has no home of its own", name, what);
    if (place != BRAID_EVERYWHERE && place > GRAPH_MOST_PLACES)
        return braid_error_invalid("'%s': its home is %u, not 1 to %d or BRAID_EVERYWHERE", name,
                                   place, GRAPH_MOST_PLACES);
    home->home = place == BRAID_EVERYWHERE ? GRAPH_EVERYWHERE
                 : place                   ? graph_place_index(place)
                                           : 0;
    graph->version++;
    return BRAID_OK;
}

// ---- versions ----

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
    braid_status status = braid_graph_check_planned_bytes("versioned buffer", name, bytes);
    return status || !addresses ? status : check_apart(name, addresses, num_versions, bytes);
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
