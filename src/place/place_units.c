// SPDX-License-Identifier: Apache-2.0
// Loops and branches as bundles.
#include "place/place_units.h"

#include "graph/placed.h"
#include "graph/regions.h"
#include "plan/schedule.h"

static uint32_t outermost(const braid_graph *graph, uint32_t node)
{
    return braid_graph_lift(graph, node, GRAPH_NONE);
}

// Nodes inside stand behind their region's node.
static void bundle_nodes(const braid_graph *graph, braid_graph *units)
{
    struct graph_node *nodes = units->nodes.items;
    for (uint32_t i = 0; i < graph_num_nodes(graph); i++) {
        uint32_t main = outermost(graph, i);
        if (main == i)
            continue;
        units->num_bundled += nodes[i].role == GRAPH_MAIN;
        nodes[i].main = main;
        nodes[i].role = GRAPH_EPILOGUE;
    }
}

// Edges inside a region order nothing outside.
static void drop_inner_edges(const braid_graph *graph, braid_graph *units)
{
    struct graph_edge *edges = units->edges.items;
    size_t num = 0;
    for (size_t i = 0; i < units->edges.num; i++) {
        if (outermost(graph, edges[i].from) != outermost(graph, edges[i].to))
            edges[num++] = edges[i];
    }
    units->edges.num = num;
}

static braid_status find_costs(const braid_graph *graph, const braid_schedule_options *options,
                               braid_graph *units)
{
    braid_schedule_options alone = *options;
    alone.places = NULL;
    braid_schedule *schedule = NULL;
    braid_status status = braid_schedule_create_plain(graph, &alone, &schedule);
    for (uint32_t i = 0; i < graph->regions.num && !status; i++) {
        uint32_t node = graph_regions(graph)[i].node;
        ((struct graph_node *)units->nodes.items)[node].cost_ns = schedule->cost_ns[node];
    }
    braid_schedule_destroy(schedule);
    return status;
}

braid_status braid_place_units_create(const braid_graph *graph,
                                      const braid_schedule_options *options,
                                      braid_graph **out_units)
{
    braid_graph *units = NULL;
    *out_units = NULL;
    if (!graph->regions.num)
        return BRAID_OK;
    braid_status status = braid_graph_clone(graph, &units);
    if (!status)
        status = find_costs(graph, options, units); // which checks the graph
    if (status) {
        braid_graph_destroy(units);
        return status;
    }
    bundle_nodes(graph, units);
    drop_inner_edges(graph, units);
    braid_array_finish(&units->regions);
    units->regions = (struct array){ 0 };
    *out_units = units;
    return BRAID_OK;
}
