// SPDX-License-Identifier: Apache-2.0
// Proves that a placed graph has the loops and branches of the program. All nodes of one are on one
// device, and it reads its condition there.
#include "base/error.h"
#include "base/node_text.h"
#include "graph/regions.h"
#include "verify/verify_places.h"

static struct node_text name_of(const struct placed *placed, uint32_t node)
{
    return braid_node_text(node, braid_graph_name(placed->graph, node));
}

// The condition is the memory that the region's node reads instead of the program's.
static bool is_condition(const struct placed *placed, const braid_graph *program,
                         const struct graph_region *theirs, const struct graph_region *ours)
{
    const struct graph_node *node = &graph_nodes(program)[theirs->node];
    const struct graph_access *wanted = program->accesses.items;
    const struct graph_access *has = placed->graph->accesses.items;
    if (node->is_left_out || theirs->condition == GRAPH_NONE)
        return ours->condition == theirs->condition;
    for (uint32_t i = node->first_access; i < node->first_access + node->num_accesses; i++) {
        if (wanted[i].resource == theirs->condition)
            return has[i].resource == ours->condition;
    }
    return false;
}

static braid_status check_nodes(const struct placed *placed, const struct graph_region *region)
{
    uint32_t wanted = placed_place(placed->graph, region->node);
    for (uint32_t i = region->first; i < region->first + region->num; i++) {
        uint32_t place = placed_place(placed->graph, i);
        if (place != wanted)
            return braid_error(
                BRAID_INTERNAL,
                "the plan puts node %s on device %u, and node %s, which it is in, on device %u",
                name_of(placed, i).text, place, name_of(placed, region->node).text, wanted);
    }
    return BRAID_OK;
}

braid_status braid_verify_place_regions(const struct placed *placed, const braid_graph *program)
{
    const struct graph_region *theirs = graph_regions(program);
    const struct graph_region *ours = graph_regions(placed->graph);
    uint32_t num = (uint32_t)program->regions.num;
    bool right = placed->graph->regions.num == num;
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < num && right; i++)
        right = ours[i].node == theirs[i].node && ours[i].first == theirs[i].first &&
                ours[i].num == theirs[i].num && ours[i].around == theirs[i].around &&
                is_condition(placed, program, &theirs[i], &ours[i]);
    if (!right)
        return braid_error(BRAID_INTERNAL, "the plan has other loops or branches than the graph");
    for (uint32_t i = 0; i < num && !status; i++)
        status = check_nodes(placed, &theirs[i]);
    return status;
}
