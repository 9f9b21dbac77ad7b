// SPDX-License-Identifier: Apache-2.0
// A number that tells a graph from others by its structure.
#include <braid/tune.h>

#include <string.h>

#include "base/hash.h"
#include "graph/regions.h"

// By bytes of fixed order, so that machines of either byte order agree.
static void add_number(uint64_t *digest, uint64_t number)
{
    for (int i = 0; i < 8; i++) {
        unsigned char byte = (unsigned char)(number >> (8 * i));
        *digest = hash_more(*digest, &byte, 1);
    }
}

static void add_node(uint64_t *digest, const braid_graph *graph, uint32_t index)
{
    const struct graph_node *node = &graph_nodes(graph)[index];
    const char *name = braid_graph_name(graph, index);
    add_number(digest, node->kind | (uint64_t)graph_node_blocks(graph, index) << 8);
    add_number(digest, node->role);
    add_number(digest, node->main);
    *digest = hash_more(*digest, name, strlen(name) + 1);
    add_number(digest, node->num_accesses);
    for (uint32_t i = 0; i < node->num_accesses; i++) {
        add_number(digest, graph_access_of(graph, node, i)->resource);
        add_number(digest, graph_access_of(graph, node, i)->mode);
    }
}

uint64_t braid_graph_get_digest(const braid_graph *graph)
{
    if (!graph)
        return 0;
    uint64_t digest = hash_of_nothing;
    const struct graph_edge *edges = graph_edges(graph);
    add_number(&digest, graph->nodes.num);
    for (uint32_t i = 0; i < graph->nodes.num; i++)
        add_node(&digest, graph, i);
    for (size_t i = 0; i < graph->regions.num; i++) {
        const struct graph_region *region = &graph_regions(graph)[i];
        const struct work_loop *loop = graph_loop(graph, region->node);
        add_number(&digest, region->node);
        add_number(&digest, region->num);
        add_number(&digest, region->condition);
        add_number(&digest, loop->most);
        add_number(&digest, loop->tests_first);
    }
    add_number(&digest, graph->edges.num);
    for (size_t i = 0; i < graph->edges.num; i++) {
        add_number(&digest, edges[i].from);
        add_number(&digest, edges[i].to);
    }
    return digest ? digest : 1;
}
