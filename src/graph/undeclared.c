// SPDX-License-Identifier: Apache-2.0
// A node that may touch any memory, since the program declares no access of it.
#include "graph/undeclared.h"

// Behind those of the program (ranks/communication.c).
static uint32_t count_of_communication(const struct graph_node *node)
{
    return node->kind == WORK_POST ? 2 : node->kind == WORK_AWAIT ? 1 : 0;
}

static bool declares(const braid_graph *graph, const struct graph_node *node)
{
    const struct graph_access *accesses = graph->accesses.items;
    const uint32_t own = count_of_communication(node);
    for (uint32_t i = 0; i + own < node->num_accesses; i++) {
        const struct graph_access *access = &accesses[node->first_access + i];
        if (graph_resource_at(graph, access->resource)->scratch == GRAPH_NONE)
            return true;
    }
    return false;
}

uint32_t braid_graph_find_undeclared(const braid_graph *graph)
{
    for (uint32_t i = 0; i < graph_num_nodes(graph); i++) {
        const struct graph_node *node = &graph_nodes(graph)[i];
        if (node->kind != WORK_EMPTY && !declares(graph, node))
            return i;
    }
    return GRAPH_NONE;
}
