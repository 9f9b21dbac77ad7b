// SPDX-License-Identifier: Apache-2.0
// Gives nodes the addresses, and regions the conditions, of their places.
#include "plan/places/place_bind.h"

#include <string.h>

#include "base/error.h"
#include "graph/regions.h"

// Addresses of the node at hand: those that frames know, and those that it was given but which now
// are those of a replica.
static braid_status add_addresses(struct place_memory *memory, const struct array *list,
                                  size_t *next, uint32_t node, bool were_given)
{
    const struct graph_address *addresses = list->items;
    braid_graph *graph = memory->graph;
    braid_status status = BRAID_OK;
    for (; *next < list->num && addresses[*next].node == node && !status; ++*next) {
        struct graph_address address = addresses[*next];
        uint32_t resource = address.resource;
        status =
            braid_place_memory_at(memory, resource, placed_place(graph, node), &address.resource);
        if (status || (were_given && address.resource == resource))
            continue;
        if (!braid_array_put(&graph->addresses, &address, sizeof(address)))
            return braid_error_no_memory("the addresses of a plan");
    }
    return status;
}

braid_status braid_place_bind_addresses(struct place_memory *memory, const braid_graph *user,
                                        const struct array *of_copies)
{
    size_t next_known = 0, next_given = 0, num = of_copies->num;
    braid_graph *graph = memory->graph;
    braid_status status = BRAID_OK;
    graph->addresses.num = graph->given.num = 0;
    for (uint32_t node = 0; node < graph_num_nodes(user) && !status; node++) {
        status = add_addresses(memory, &user->addresses, &next_known, node, false);
        if (!status)
            status = add_addresses(memory, &user->given, &next_given, node, true);
    }
    if (status || !num)
        return status;
    void *slot = braid_array_append(&graph->addresses, num, sizeof(struct graph_address));
    if (!slot)
        return braid_error_no_memory("the addresses of a plan");
    memcpy(slot, of_copies->items, num * sizeof(struct graph_address));
    return BRAID_OK;
}

braid_status braid_place_bind_conditions(struct place_memory *memory)
{
    struct graph_region *regions = memory->graph->regions.items;
    const struct graph_node *nodes = graph_nodes(memory->graph);
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < memory->graph->regions.num && !status; i++) {
        uint32_t node = regions[i].node;
        if (!nodes[node].is_left_out && regions[i].condition != GRAPH_NONE)
            status =
                braid_place_memory_at(memory, regions[i].condition,
                                      placed_place(memory->graph, node), &regions[i].condition);
    }
    return status;
}
