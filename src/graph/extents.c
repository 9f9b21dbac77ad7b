// SPDX-License-Identifier: Apache-2.0
// Buffers by address: which one has a byte, and where the buffers end that bytes begin in.
#include "graph/extents.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"

static int compare_extents(const void *a, const void *b)
{
    const struct extent *left = a, *right = b;
    if (left->begin != right->begin)
        return left->begin < right->begin ? -1 : 1;
    return left->buffer < right->buffer ? -1 : left->buffer > right->buffer;
}

static bool has_extent(const struct graph_resource *resource, uint32_t index)
{
    return resource->buffer == index && resource->address;
}

braid_status braid_extents_create(const braid_graph *graph, struct extents *out_extents)
{
    const struct graph_resource *resources = graph->resources.items;
    uint32_t num = 0;
    for (uint32_t i = 0; i < graph->resources.num; i++)
        num += has_extent(&resources[i], i);
    struct extents extents = { .items = braid_allocate_zeroed(num, sizeof(*extents.items)) };
    if (!extents.items)
        return braid_error_no_memory("the extents of buffers");
    for (uint32_t i = 0; i < graph->resources.num; i++) {
        if (!has_extent(&resources[i], i))
            continue;
        uintptr_t begin = (uintptr_t)resources[i].address;
        extents.items[extents.num++] =
            (struct extent){ begin, begin + (resources[i].bytes - 1), i };
    }
    if (num)
        qsort(extents.items, num, sizeof(*extents.items), compare_extents);
    *out_extents = extents;
    return BRAID_OK;
}

void braid_extents_finish(struct extents *extents)
{
    free(extents->items);
    *extents = (struct extents){ 0 };
}

uint32_t braid_extents_find(const struct extents *extents, const void *address)
{
    uint32_t low = 0, high = extents->num;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (extents->items[middle].last < (uintptr_t)address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool braid_extents_overrun(const struct extents *extents, const void *address, uint64_t bytes,
                           uint32_t *out_buffer, uint64_t *out_beyond)
{
    const struct extent *items = extents->items;
    uint32_t i = braid_extents_find(extents, address);
    if (i == extents->num || items[i].begin > (uintptr_t)address)
        return false;
    while (i + 1 < extents->num && items[i + 1].begin - 1 == items[i].last)
        i++;
    uint64_t room = items[i].last - (uintptr_t)address + 1;
    *out_buffer = items[i].buffer;
    *out_beyond = bytes - room;
    return bytes > room;
}

braid_status braid_extents_refuse(const char *node, const char *end, uint64_t bytes,
                                  uint64_t beyond, const char *buffer)
{
    return braid_error_invalid("node %s: .%s: %llu bytes end %llu beyond buffer '%s': take fewer, "
                               "or declare the buffer as long as it is",
                               node, end, (unsigned long long)bytes, (unsigned long long)beyond,
                               buffer);
}
