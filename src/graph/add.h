// SPDX-License-Identifier: Apache-2.0
// The steps that adding any kind of node has in common: check, make room, append.
#ifndef BRAID_GRAPH_ADD_H
#define BRAID_GRAPH_ADD_H

#include <stdint.h>

#include <braid/graph.h>

#include "graph/graph.h"

enum { GRAPH_ALIGNMENT = 256 }; // for memory that the plan chooses, where the program says nothing

// Messages call the node `name`. Errors: BRAID_INVALID_ARGUMENT.
braid_status braid_graph_check_node(const braid_graph *graph, const char *name,
                                    const braid_node_options *options);

// Checks only the accesses of these. Errors: BRAID_INVALID_ARGUMENT.
braid_status braid_graph_check_accesses(const braid_graph *graph, const char *name,
                                        const braid_node_options *options);

// Errors: BRAID_NO_MEMORY.
braid_status braid_graph_reserve_node(braid_graph *graph, const char *name,
                                      const braid_node_options *options);

// Checks the common arguments of functions that declare resources. Errors: BRAID_INVALID_ARGUMENT.
braid_status braid_graph_check_named(const char *function, const braid_graph *graph,
                                     const char *name, const braid_resource *out_resource);
// Checks the size of memory that the plan chooses; `what` it is. Errors: BRAID_INVALID_ARGUMENT.
braid_status braid_graph_check_planned_bytes(const char *what, const char *name, uint64_t bytes);
// A NULL name: that of `resource`. Errors: BRAID_INVALID_ARGUMENT (too many), BRAID_NO_MEMORY.
braid_status braid_graph_append_resource(braid_graph *graph, const char *name,
                                         struct graph_resource resource,
                                         braid_resource *out_resource);

// Cannot fail after braid_graph_check_node and braid_graph_reserve_node.
void braid_graph_append_node(braid_graph *graph, enum work_kind kind, uint32_t payload,
                             const braid_node_options *options, braid_node *out_node);

// The fault of an argument, such as "is NULL"; "": there is none. Whether the graph has its
// resource is another question.
struct argument_fault {
    char text[64];
};

struct argument_fault braid_graph_find_fault(const braid_arg *arg);

#endif
