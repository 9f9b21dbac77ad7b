// SPDX-License-Identifier: Apache-2.0
// Runs a frame in several orders that the graph allows, and finds nodes whose order its results
// depend on.
#ifndef BRAID_AUDIT_AUDIT_ORDERS_H
#define BRAID_AUDIT_AUDIT_ORDERS_H

#include <braid/audit.h>

#include "audit/audit_state.h"

enum { AUDIT_MOST_PAIRS = 16 }; // that an audit finds

struct audit_order_finding {
    braid_audit_kind kind;
    uint32_t node, other; // GRAPH_NONE: none
    struct audit_difference difference;
};

// Runs frames. Buffers have their contents of before behind it. `out_findings` has
// struct audit_order_finding, also if it fails. Errors: BRAID_NO_MEMORY, BRAID_IO_ERROR,
// BRAID_UNSUPPORTED (too many nodes), those of the nodes and of copies.
braid_status braid_audit_orders(const struct audit_reach *reach, struct array *out_findings);

// Tells of the nodes found.
void braid_audit_orders_report(const braid_graph *graph, const struct array *findings,
                               const braid_audit_options *options);

#endif
