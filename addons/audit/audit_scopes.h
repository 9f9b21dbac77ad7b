// SPDX-License-Identifier: Apache-2.0
// The frame and each region that it plays, with the order of units that the graph asks for.
//
// Inside a region units have orders of their own. From outside the region is one node, which runs
// as a whole.
#ifndef BRAID_AUDIT_AUDIT_SCOPES_H
#define BRAID_AUDIT_AUDIT_SCOPES_H

#include "audit/audit_poset.h"
#include "audit/audit_walk.h"
#include "graph/regions.h"

// Elements are the units that run, in the order in which they were added.
struct audit_scope {
    const struct program *program; // NULL: no frame plays it
    uint32_t num;
    uint32_t *units;          // by element
    struct audit_poset poset; // orders the elements
    uint32_t *first, *last;   // two orders of elements
    uint32_t *trial;          // an order between them
};

struct audit_scopes {
    const braid_exec *exec;
    struct audit_scope *items; // as audit_order_of has them
    uint32_t num;
    uint32_t *element_of;       // by unit, in its scope; AUDIT_NO_ELEMENT: it does not run
    uint32_t *op_of;            // by node, in its program; likewise
    struct audit_order *orders; // by scope
};

static inline const struct plan_graph *audit_scopes_plan(const struct audit_scopes *scopes)
{
    return scopes->exec->schedule->graph;
}

static inline uint32_t audit_scope_of(const braid_graph *graph, uint32_t node)
{
    uint32_t region = braid_graph_region_of(graph, node);
    return region == GRAPH_NONE ? 0 : region + 1;
}

// `graph` is the one that the exec plays. Errors: BRAID_NO_MEMORY; BRAID_UNSUPPORTED (over
// AUDIT_MOST_ELEMENTS units in one scope).
braid_status braid_audit_scopes_create(const braid_graph *graph, const braid_exec *exec,
                                       struct audit_scopes *out_scopes);
void braid_audit_scopes_finish(struct audit_scopes *scopes);

// audit_scopes_order.c: puts the units of each scope in the order that the graph asks for. Errors:
// BRAID_NO_MEMORY.
braid_status braid_audit_scopes_order(struct audit_scopes *scopes, const braid_graph *graph);

// Gives the walk an order of the first `num` elements of a scope.
void braid_audit_scopes_use(struct audit_scopes *scopes, uint32_t scope, const uint32_t *order,
                            uint32_t num);

#endif
