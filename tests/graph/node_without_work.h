// SPDX-License-Identifier: Apache-2.0
// A node without work, with one access: all that tests of regions need of a node.
#ifndef BRAID_TESTS_GRAPH_NODE_WITHOUT_WORK_H
#define BRAID_TESTS_GRAPH_NODE_WITHOUT_WORK_H

#include "support/check.h"

#include <braid/graph.h>

static inline braid_node add_node(braid_graph *graph, const char *name, braid_resource resource,
                                  braid_access_mode mode)
{
    braid_node node;
    check_ok(braid_graph_add_empty(
        graph, &(braid_empty){ .node.name = name, BRAID_ACCESSES({ resource, mode }) }, &node));
    return node;
}

#endif
