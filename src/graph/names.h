// SPDX-License-Identifier: Apache-2.0
// Names of a graph's nodes and resources, kept in one array of characters.
#ifndef BRAID_GRAPH_NAMES_H
#define BRAID_GRAPH_NAMES_H

#include <string.h>

#include "graph/graph.h"

// Makes room for a copy of `name`; NULL needs none. False when memory or 32-bit offsets run out.
static inline bool braid_graph_reserve_name(braid_graph *graph, const char *name)
{
    if (!name)
        return true;
    size_t bytes = strlen(name) + 1;
    if (bytes > GRAPH_MAX_ITEMS - graph->names.num)
        return false;
    return braid_array_reserve(&graph->names, bytes, 1);
}

// Copies a name that was reserved for; returns its offset, GRAPH_NONE for NULL.
static inline uint32_t braid_graph_store_name(braid_graph *graph, const char *name)
{
    if (!name)
        return GRAPH_NONE;
    uint32_t offset = (uint32_t)graph->names.num;
    size_t bytes = strlen(name) + 1;
    memcpy(braid_array_append(&graph->names, bytes, 1), name, bytes);
    return offset;
}

#endif
