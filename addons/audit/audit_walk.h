// SPDX-License-Identifier: Apache-2.0
// A frame, node by node.
#ifndef BRAID_AUDIT_AUDIT_WALK_H
#define BRAID_AUDIT_AUDIT_WALK_H

#include "audit/audit_reach.h"

// Operations of a program that run nodes, in place of its issue order.
struct audit_order {
    uint32_t *ops; // indices
    uint32_t num;
};

// Iterations of a region in a frame.
struct audit_loop {
    uint64_t num, most;
};

struct audit_loops {
    struct audit_loop *items; // by audit_order_of
    uint32_t endless;         // the node of one that took more than its most, which ended the walk;
                              // GRAPH_NONE: there was none
};

struct audit_walk {
    const struct audit_reach *reach;
    const struct audit_order *orders; // the frame's, then each region's; NULL: in issue order
    struct audit_loops *loops;        // NULL: iterations have no limits of their own
    // Called for each node that works in this frame.
    braid_status (*run)(void *context, uint32_t node);
    void *context;
};

// Which of the orders is a program's.
static inline uint32_t audit_order_of(const struct program *program)
{
    return program->region == GRAPH_NONE ? 0 : program->region + 1;
}

// Runs the nodes of a frame. In issue order each stands behind all that it waits for. Errors: those
// of `run`, and those of reading conditions.
braid_status braid_audit_walk(const struct audit_walk *walk);

#endif
