// SPDX-License-Identifier: Apache-2.0
// Finds buffers that share bytes: accesses through one would not be ordered with those of the
// other.
#include "graph/extents.h"

#include "base/error.h"

static braid_status refuse(const braid_graph *graph, uint32_t one, uint32_t other)
{
    uint32_t first = one < other ? one : other, second = one < other ? other : one;
    return braid_error_invalid(
        "buffer '%s' shares bytes with buffer '%s', and two buffers never conflict: declare one, "
        "and its parts with braid_graph_add_range",
        braid_names_at(&graph->names, graph_resource_at(graph, second)->name),
        braid_names_at(&graph->names, graph_resource_at(graph, first)->name));
}

braid_status braid_graph_check_overlaps(const braid_graph *graph, const struct extents *extents)
{
    const struct extent *items = extents->items;
    for (uint32_t i = 1; i < extents->num; i++) {
        if (items[i].begin <= items[i - 1].last)
            return refuse(graph, items[i - 1].buffer, items[i].buffer);
    }
    return BRAID_OK;
}
