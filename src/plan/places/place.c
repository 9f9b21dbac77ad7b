// SPDX-License-Identifier: Apache-2.0
// Makes candidates, plans the graph that each leads to, and takes the one whose plan is shortest.
#include "plan/places/place.h"

#include <string.h>

#include <braid/schedule.h>

#include "base/error.h"
#include "graph/graph.h"
#include "graph/placed.h"
#include "graph/regions.h"
#include "plan/places/place_build.h"
#include "plan/places/place_times.h"
#include "plan/plan_build.h"
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

// Makes a graph of the same nodes. Each loop or branch of the root is a bundle in it, with all
// nodes inside, and has their expected time. NULL: the graph has none, and serves itself. Errors:
// those of braid_schedule_create.
static braid_status create_units(const braid_graph *graph, const braid_schedule_options *options,
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

struct placing {
    const braid_graph *graph;
    const braid_schedule_options *options;
    braid_graph *units;
    struct plan_graph *plan;
    struct place_task task;
    uint8_t *place_of; // per unit, of the candidate at hand
    struct placed *best;
    uint64_t best_ns, one_place_ns;
};

// Plans the candidate at hand, and keeps it if it is the shortest so far.
static braid_status weigh(struct placing *placing, uint64_t *out_ns)
{
    struct placed *placed = NULL;
    braid_schedule *schedule = NULL;
    braid_schedule_info info = { 0 };
    braid_status status = braid_place_build(placing->graph, placing->plan, placing->options->places,
                                            placing->place_of, &placed);
    if (!status)
        status = braid_schedule_create_placed(placed, placing->options, &schedule);
    if (status) {
        braid_placed_release(placed);
        return status;
    }
    braid_schedule_get_info(schedule, &info);
    braid_schedule_destroy(schedule);
    *out_ns = info.makespan_ns;
    if (placing->best && *out_ns >= placing->best_ns) {
        braid_placed_release(placed);
        return BRAID_OK;
    }
    braid_placed_release(placing->best);
    placing->best = placed;
    placing->best_ns = *out_ns;
    return BRAID_OK;
}

// Every unit at one place; those that may not be there where they may. Whether all are there.
static bool put_all_on(struct placing *placing, uint32_t place)
{
    bool all = true;
    for (uint32_t unit = 0; unit < placing->plan->num_units; unit++) {
        uint64_t allowed = placing->task.allowed[unit];
        bool may = allowed >> place & 1;
        placing->place_of[unit] = (uint8_t)(may ? place : (uint32_t)__builtin_ctzll(allowed));
        all = all && may;
    }
    return all;
}

// Places with the same speed, links and memory would have the same plan, so one would be enough.
// The search does not compare places: it weighs each of the first eight.
static braid_status weigh_single_places(struct placing *placing)
{
    enum { MOST_WEIGHED = 8 };
    braid_status status = BRAID_OK;
    uint32_t num =
        placing->task.num_places < MOST_WEIGHED ? placing->task.num_places : MOST_WEIGHED;
    for (uint32_t place = 0; place < num && !status; place++) {
        uint64_t ns = 0;
        bool is_whole = put_all_on(placing, place);
        status = weigh(placing, &ns);
        if (!status && is_whole && (!placing->one_place_ns || ns < placing->one_place_ns))
            placing->one_place_ns = ns;
    }
    return status;
}

static braid_status weigh_listed(struct placing *placing)
{
    uint64_t ns;
    struct place_times times = { 0 };
    braid_status status = braid_place_times_create(&placing->task, &times);
    if (!status)
        status = braid_place_list(&times);
    if (!status) {
        memcpy(placing->place_of, times.place_of, placing->plan->num_units);
        status = weigh(placing, &ns);
    }
    braid_place_times_finish(&times);
    return status;
}

static braid_status begin(struct placing *placing)
{
    braid_status status = create_units(placing->graph, placing->options, &placing->units);
    const braid_graph *units = placing->units ? placing->units : placing->graph;
    if (!status)
        status = braid_plan_graph_create(units, &placing->plan);
    if (!status)
        status = braid_place_task_create(placing->graph, units, placing->plan, placing->options,
                                         &placing->task);
    if (status)
        return status;
    placing->place_of = braid_allocate_zeroed(placing->plan->num_units, 1);
    return placing->place_of ? BRAID_OK : braid_error_no_memory("the places of a plan");
}

braid_status braid_graph_place(const braid_graph *graph, const braid_schedule_options *options,
                               struct placed **out_placed)
{
    struct placing placing = { .graph = graph, .options = options };
    braid_status status = begin(&placing);
    if (!status)
        status = weigh_single_places(&placing);
    if (!status)
        status = weigh_listed(&placing);
    braid_place_task_finish(&placing.task);
    braid_plan_graph_release(placing.plan);
    braid_graph_destroy(placing.units);
    free(placing.place_of);
    if (status) {
        braid_placed_release(placing.best);
        return status;
    }
    placing.best->one_place_ns = placing.one_place_ns;
    *out_placed = placing.best;
    return BRAID_OK;
}
