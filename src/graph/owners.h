// SPDX-License-Identifier: Apache-2.0
// Tasks that all ranks add: their owners, and the transfers for them.
#ifndef BRAID_GRAPH_OWNERS_H
#define BRAID_GRAPH_OWNERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <braid/graph.h>

// How much a graph had of all that a transfer adds.
struct graph_mark {
    size_t nodes, edges, accesses, resources, works, communications, addresses, given, traps;
    uint64_t version;
};

struct owner_task {
    bool is_here;   // the caller is to add the node
    bool is_shared; // it accesses what has owners
    uint32_t rank;  // that runs it, where it is shared
    struct graph_mark mark;
};

// Adds a node of some kind, as `description`, a struct of the public interface, has it.
typedef braid_status graph_add(braid_graph *graph, const char *name, const void *description,
                               braid_node *out_node);

// Has `add` add the node, where it is this rank's. In a graph with communicators libbraid_ranks
// adds the transfers that the node needs on this rank before it. Behind it, libbraid_ranks notes
// which copies there are now; if `add` failed, it takes the transfers back.
// Errors: BRAID_INVALID_ARGUMENT, BRAID_NO_MEMORY, those of `add`.
braid_status braid_graph_add_task(braid_graph *graph, const char *name,
                                  const braid_node_options *options, graph_add *add,
                                  const void *description, braid_node *out_node);

#endif
