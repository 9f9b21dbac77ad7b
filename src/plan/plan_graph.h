// SPDX-License-Identifier: Apache-2.0
// The graph as it is planned: every edge between nodes in flat arrays, acyclic; bundles as units.
#ifndef BRAID_PLAN_GRAPH_H
#define BRAID_PLAN_GRAPH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/code.h"
#include "graph/graph.h"
#include "graph/links.h"

struct plan_names {
    char *text;            // NUL-terminated strings
    uint32_t *of_node;     // offsets into text; NULL: every node has the name at offset 0
    uint32_t *of_resource; // full names, with the bytes of ranges
    uint32_t *of_change;   // what of each node changes, by parameters; NULL: nothing of any
};

// Why a node's cost was not given, if so: the filled-in cost is a guess, or nothing in the node
// takes time.
enum plan_unknown { PLAN_GIVEN, PLAN_GUESSED, PLAN_NOTHING };

#define PLAN_NONE GRAPH_NONE

// Why a node comes after another: an index into links, or one of these.
#define PLAN_BY_EDGE (UINT32_MAX)     // an edge that the program added
#define PLAN_BY_HINT (UINT32_MAX - 1) // both have one lane hint, and the first was added first

// A unit is a main node with its preludes and epilogues. It is placed as a whole: on one lane, with
// nothing of another unit between. Edges, waits and times are those of its nodes. The graph in
// which units are contracted has no cycle, so that units can always be issued one after another.
//
// It keeps no pointer into the graph it was made from, so it may outlive that. Ten million nameless
// nodes without bundles, hints and accesses cost nothing here but their edges.
// Thread-safety: read only once made; the count of users is atomic.
struct plan_graph {
    atomic_uint num_users;
    uint32_t num_nodes;
    uint32_t num_units;
    uint32_t num_edges;

    // units.first_of, members and unit_of are NULL where no node is bundled: unit i is then node i.
    struct graph_units units;
    uint32_t *main_of;     // per unit its main node; NULL without bundles
    uint32_t *hint_of;     // per unit, 0: none; NULL without hints
    uint32_t *hint_before; // per unit the unit before it with its hint, or PLAN_NONE; likewise
    uint8_t *place_of;     // per unit; NULL: there is one place
    uint32_t num_places;

    // Predecessors of node i: pred_nodes[pred_first[i]] .. pred_first[i + 1]; likewise successors.
    // A pair may appear more than once. `pred_reasons` is NULL when all edges are PLAN_BY_EDGE. The
    // order inside a unit has no edges: plan_member_before tells it.
    uint32_t *pred_first, *pred_nodes, *pred_reasons;
    uint32_t *succ_first, *succ_nodes;
    uint32_t *order; // nodes so that every edge goes forward, those of a unit one after another;
                     // NULL: nodes stand so already

    struct graph_link *links; // edges from accesses, between nodes
    size_t num_links;
    struct graph_access *accesses; // as declared; NULL without any
    uint32_t *access_first;        // each node's first in accesses; num_nodes + 1
    struct graph_resource *resources;
    uint32_t num_resources;
    bool *left_out; // by node: no output needs it; NULL: all stay
    struct code_remarks code_remarks;
    struct plan_names names;
};

// Members of a unit in running order, and the unit of a node, with or without bundles.
static inline uint32_t plan_unit_size(const struct plan_graph *graph, uint32_t unit)
{
    return graph->units.first_of ? graph->units.first_of[unit + 1] - graph->units.first_of[unit]
                                 : 1;
}

static inline uint32_t plan_unit_member(const struct plan_graph *graph, uint32_t unit, uint32_t i)
{
    return graph->units.members ? graph->units.members[graph->units.first_of[unit] + i] : unit + i;
}

static inline uint32_t plan_unit_of(const struct plan_graph *graph, uint32_t node)
{
    return graph->units.unit_of ? graph->units.unit_of[node] : node;
}

static inline uint32_t plan_main_of(const struct plan_graph *graph, uint32_t unit)
{
    return graph->main_of ? graph->main_of[unit] : unit;
}

static inline uint32_t plan_place_of_unit(const struct plan_graph *graph, uint32_t unit)
{
    return graph->place_of ? graph->place_of[unit] : 0;
}

static inline uint32_t plan_place_of(const struct plan_graph *graph, uint32_t node)
{
    return graph->place_of ? graph->place_of[plan_unit_of(graph, node)] : 0;
}

// The node that runs right before or after a node in its unit, or PLAN_NONE.
static inline uint32_t plan_member_before(const struct plan_graph *graph, uint32_t node)
{
    return graph->units.members ? graph_member_before(&graph->units, node) : PLAN_NONE;
}

static inline uint32_t plan_member_after(const struct plan_graph *graph, uint32_t node)
{
    return graph->units.members ? graph_member_after(&graph->units, node) : PLAN_NONE;
}

static inline uint32_t plan_first_member(const struct plan_graph *graph, uint32_t unit)
{
    return plan_unit_member(graph, unit, 0);
}

static inline uint32_t plan_last_member(const struct plan_graph *graph, uint32_t unit)
{
    return plan_unit_member(graph, unit, plan_unit_size(graph, unit) - 1);
}

// How many edges lead to the nodes of a unit.
static inline uint32_t plan_num_preds(const struct plan_graph *graph, uint32_t unit)
{
    uint32_t num = 0;
    for (uint32_t i = 0; i < plan_unit_size(graph, unit); i++) {
        uint32_t node = plan_unit_member(graph, unit, i);
        num += graph->pred_first[node + 1] - graph->pred_first[node];
    }
    return num;
}

// The i-th node in an order in which every edge goes forward.
static inline uint32_t plan_ordered_node(const struct plan_graph *graph, uint32_t i)
{
    return graph->order ? graph->order[i] : i;
}

// One more user; the last one to release it frees it. Takes NULL.
struct plan_graph *braid_plan_graph_share(struct plan_graph *plan);
void braid_plan_graph_release(struct plan_graph *plan);

// Names are never NULL and valid as long as the plan graph; a unit has that of its main node.
const char *braid_plan_node_name(const struct plan_graph *plan, uint32_t node);
const char *braid_plan_unit_name(const struct plan_graph *plan, uint32_t unit);
const char *braid_plan_node_changes(const struct plan_graph *plan, uint32_t node); // "": nothing
const char *braid_plan_resource_name(const struct plan_graph *plan, uint32_t resource);

// The checks of a graph that come before, once. Errors: BRAID_INVALID_ARGUMENT, BRAID_WRONG_STATE,
// BRAID_NO_MEMORY.
braid_status braid_plan_graph_check(const braid_graph *graph);

// Errors: BRAID_CYCLE (the message names its nodes), BRAID_INVALID_ARGUMENT (too many edges),
// BRAID_NO_MEMORY.
braid_status braid_plan_graph_create(const braid_graph *graph, struct plan_graph **out_plan);

#endif
