// SPDX-License-Identifier: Apache-2.0
// Bundles: which nodes run together, and in which order inside.
#include "base/error.h"
#include "graph/links.h"

void braid_graph_units_finish(struct graph_units *units)
{
    braid_store_finish(&units->store);
    *units = (struct graph_units){ 0 };
}

// Numbers the main nodes in insertion order, or in the order that the graph says, and gives each
// bundle its number of members.
static uint32_t number_units(const braid_graph *graph, struct graph_units *units)
{
    const struct graph_node *nodes = graph_nodes(graph);
    uint32_t num_nodes = graph_num_nodes(graph);
    uint32_t num_units = 0;
    const uint32_t *sequence = graph->sequence.items;
    for (size_t i = 0; i < graph->sequence.num; i++)
        units->unit_of[sequence[i]] = num_units++;
    for (uint32_t i = 0; i < num_nodes && !sequence; i++) {
        if (nodes[i].role == GRAPH_MAIN)
            units->unit_of[i] = num_units++;
    }
    for (uint32_t i = 0; i < num_nodes; i++) {
        if (nodes[i].role != GRAPH_MAIN)
            units->unit_of[i] = units->unit_of[nodes[i].main];
        units->first_of[units->unit_of[i] + 1]++;
    }
    for (uint32_t u = 0; u < num_units; u++)
        units->first_of[u + 1] += units->first_of[u];
    return num_units;
}

// Fills in one role after the other. So inside a bundle preludes come before the main node and
// epilogues after it, each in the order of adding. `next` holds the next free place of each bundle.
static void place_members(const braid_graph *graph, struct graph_units *units, uint32_t *next)
{
    static const enum graph_role running_order[] = { GRAPH_PRELUDE, GRAPH_MAIN, GRAPH_EPILOGUE };
    const struct graph_node *nodes = graph_nodes(graph);
    uint32_t num_nodes = graph_num_nodes(graph);
    for (uint32_t u = 0; u < units->num_units; u++)
        next[u] = units->first_of[u];
    for (int role = 0; role < 3; role++) {
        for (uint32_t i = 0; i < num_nodes; i++) {
            if (nodes[i].role != running_order[role])
                continue;
            units->index_of[i] = next[units->unit_of[i]]++;
            units->members[units->index_of[i]] = i;
        }
    }
}

static void make_identity(uint32_t num_nodes, struct graph_units *units)
{
    units->num_units = num_nodes;
    for (uint32_t i = 0; i < num_nodes; i++)
        units->first_of[i] = units->members[i] = units->index_of[i] = units->unit_of[i] = i;
    units->first_of[num_nodes] = num_nodes;
}

static bool make_bundles(const braid_graph *graph, struct graph_units *units)
{
    units->num_units = number_units(graph, units);
    uint32_t *next = braid_allocate_zeroed(units->num_units, sizeof(*next));
    if (!next)
        return false;
    place_members(graph, units, next);
    free(next);
    return true;
}

braid_status braid_graph_find_units(const braid_graph *graph, struct graph_units *out_units)
{
    uint32_t num_nodes = graph_num_nodes(graph);
    struct graph_units units = { 0 };
    struct store *store = &units.store;
    units.first_of = braid_store_take(store, (size_t)num_nodes + 1, sizeof(uint32_t));
    units.members = braid_store_take(store, num_nodes, sizeof(uint32_t));
    units.index_of = braid_store_take(store, num_nodes, sizeof(uint32_t));
    units.unit_of = braid_store_take(store, num_nodes, sizeof(uint32_t));
    bool done = !store->failed;
    if (done && !graph_has_units(graph))
        make_identity(num_nodes, &units);
    else if (done)
        done = make_bundles(graph, &units);
    if (!done) {
        braid_graph_units_finish(&units);
        return braid_error_no_memory("the bundles of a graph");
    }
    *out_units = units;
    return BRAID_OK;
}
