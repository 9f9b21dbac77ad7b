// SPDX-License-Identifier: Apache-2.0
// The graph as it is planned: bundles contracted to units, every edge in flat arrays, acyclic.
#ifndef BRAID_EXEC_PLAN_GRAPH_H
#define BRAID_EXEC_PLAN_GRAPH_H

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
    uint32_t *hint_of; // per unit, 0: none; NULL without hints

    // Predecessors of unit i: pred_units[pred_first[i]] .. pred_first[i + 1]; likewise successors.
    // A pair may appear more than once. `pred_reasons` is NULL when all edges are PLAN_BY_EDGE.
    uint32_t *pred_first, *pred_units, *pred_reasons;
    uint32_t *succ_first, *succ_units;
    uint32_t *order; // units so that every edge goes forward; NULL: units stand so already

    struct graph_link *links; // edges from accesses, between nodes
    size_t num_links;
    struct graph_access *accesses; // as declared, with the range of each node; NULL without any
    uint32_t *access_first;        // num_nodes + 1
    uint32_t num_resources;
    struct graph_resource *resources; // `name` is an offset into names here too
    uint32_t *resource_names;         // full names, ranges included: offsets into names

    char *names;       // NUL-terminated strings
    uint32_t *name_of; // offsets into names; NULL: every node has the name at offset 0
    uint8_t *role_of;  // enum graph_role; NULL: all are GRAPH_MAIN
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

// The node that a unit is named after.
uint32_t braid_plan_main_of(const struct plan_graph *graph, uint32_t unit);
const char *braid_plan_node_name(const struct plan_graph *graph, uint32_t node);
const char *braid_plan_resource_name(const struct plan_graph *graph, uint32_t resource);

#endif
