// SPDX-License-Identifier: Apache-2.0
// Finds buffers that share bytes: accesses through one would not be ordered with those of the
// other.
#include "graph/overlaps.h"

#include <stdlib.h>

#include "base/error.h"

struct extent {
    uintptr_t begin, end; // end: of the last byte, so that it never overflows
    uint32_t buffer;
};

static int compare_extents(const void *a, const void *b)
{
    const struct extent *left = a, *right = b;
    if (left->begin != right->begin)
        return left->begin < right->begin ? -1 : 1;
    return left->buffer < right->buffer ? -1 : left->buffer > right->buffer;
}

static uint32_t list_extents(const braid_graph *graph, struct extent *extents)
{
    const struct graph_resource *resources = graph->resources.items;
    uint32_t num = 0;
    for (uint32_t i = 0; i < graph->resources.num; i++) {
        if (resources[i].buffer != i || !resources[i].address)
            continue;
        uintptr_t begin = (uintptr_t)resources[i].address;
        extents[num++] = (struct extent){ begin, begin + (resources[i].bytes - 1), i };
    }
    return num;
}

static braid_status refuse(const braid_graph *graph, uint32_t one, uint32_t other)
{
    const struct graph_resource *resources = graph->resources.items;
    uint32_t first = one < other ? one : other, second = one < other ? other : one;
    return braid_error(BRAID_INVALID_ARGUMENT,
                       "buffer '%s' shares bytes with buffer '%s', and two buffers never conflict: "
                       "declare one, and its parts with braid_graph_add_range",
                       braid_names_at(&graph->names, resources[second].name),
                       braid_names_at(&graph->names, resources[first].name));
}

braid_status braid_graph_check_overlaps(const braid_graph *graph)
{
    if (graph->resources.num == 0)
        return BRAID_OK;
    struct extent *extents = malloc(graph->resources.num * sizeof(*extents));
    if (!extents)
        return braid_error_no_memory("the extents of buffers");
    uint32_t num = list_extents(graph, extents);
    qsort(extents, num, sizeof(*extents), compare_extents);
    braid_status status = BRAID_OK;
    for (uint32_t i = 1; i < num && !status; i++) {
        if (extents[i].begin <= extents[i - 1].end)
            status = refuse(graph, extents[i - 1].buffer, extents[i].buffer);
    }
    free(extents);
    return status;
}
