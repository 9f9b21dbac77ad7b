// SPDX-License-Identifier: Apache-2.0
// The graph as it is planned: bundles contracted to units, every edge in flat arrays, acyclic.
#ifndef BRAID_PLAN_GRAPH_H
#define BRAID_PLAN_GRAPH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/graph.h"
#include "graph/links.h"

#define PLAN_NONE UINT32_MAX

// Why a unit comes after another: an index into links, or one of these.
#define PLAN_BY_EDGE (UINT32_MAX)     // an edge that the program added
#define PLAN_BY_HINT (UINT32_MAX - 1) // both have one lane hint, and the first was added first

// Names and roles, copied from the graph.
struct plan_names {
    char *text;            // NUL-terminated strings
    uint32_t *of_node;     // offsets into text; NULL: every node has the name at offset 0
    uint32_t *of_resource; // full names, with the bytes of ranges
};

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

    // Predecessors of unit i: pred_units[pred_first[i]] .. pred_first[i + 1]; likewise successors.
    // A pair may appear more than once. `pred_reasons` is NULL when all edges are PLAN_BY_EDGE.
    uint32_t *pred_first, *pred_units, *pred_reasons;
    uint32_t *succ_first, *succ_units;
    uint32_t *order; // units so that every edge goes forward; NULL: units stand so already

    struct graph_link *links; // edges from accesses, between nodes
    size_t num_links;
    struct graph_access *accesses; // as declared; NULL without any
    uint32_t *access_first;        // of each node in accesses; num_nodes + 1
    struct graph_resource *resources;
    uint32_t num_resources;
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

// The i-th unit in an order in which every edge goes forward.
static inline uint32_t plan_ordered_unit(const struct plan_graph *graph, uint32_t i)
{
    return graph->order ? graph->order[i] : i;
}

// Errors: BRAID_CYCLE (the message names its nodes), BRAID_INVALID_ARGUMENT (too many edges),
// BRAID_NO_MEMORY.
braid_status braid_plan_graph_create(const braid_graph *graph, struct plan_graph **out_plan);

// One more user; the last one to release it frees it. Takes NULL.
struct plan_graph *braid_plan_graph_share(struct plan_graph *plan);
void braid_plan_graph_release(struct plan_graph *plan);

// Names are never NULL and valid as long as the plan graph; a unit has that of its main node.
const char *braid_plan_node_name(const struct plan_graph *plan, uint32_t node);
const char *braid_plan_unit_name(const struct plan_graph *plan, uint32_t unit);
const char *braid_plan_resource_name(const struct plan_graph *plan, uint32_t resource);

#endif
