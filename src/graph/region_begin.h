// SPDX-License-Identifier: Apache-2.0
// Beginning and ending a region, of any kind.
#ifndef BRAID_GRAPH_REGION_BEGIN_H
#define BRAID_GRAPH_REGION_BEGIN_H

#include <braid/region.h>

#include "graph/regions.h"

struct region_begin {
    enum work_kind kind;
    const char *name;
    const braid_node_options *options;
    braid_resource condition; // { 0 }: none
    uint64_t most, expected;
    bool tests_first;
};

// Adds the region's node and opens its body. Errors, which name the region: BRAID_INVALID_ARGUMENT,
// BRAID_UNSUPPORTED (a graph with communicators), BRAID_NO_MEMORY.
braid_status braid_graph_begin_region(braid_graph *graph, const struct region_begin *begin,
                                      braid_node *out_node);

// Ends a body, whose region stays among the open ones. Errors: BRAID_INVALID_ARGUMENT (it has no
// node).
braid_status braid_graph_end_body(braid_graph *graph, struct graph_region *open);

// Gives the node of a region the accesses of its bodies.
// `open` is the body added last; of a branch with two arms the first ends where it begins. Errors:
// BRAID_NO_MEMORY.
braid_status braid_graph_join_accesses(braid_graph *graph, const struct graph_region *open);

#endif
