// SPDX-License-Identifier: Apache-2.0
// Tasks that all ranks add: who runs one, and what is sent for it.
#ifndef BRAID_GRAPH_OWNERS_H
#define BRAID_GRAPH_OWNERS_H

#include "graph/graph.h"

// How much a graph had of all that a transfer adds.
struct graph_mark {
    size_t nodes, edges, accesses, resources, works, communications, addresses, given;
    uint64_t version;
};

struct owner_task {
    bool is_here;   // the caller is to add the node
    bool is_shared; // it accesses what has owners
    uint32_t rank;  // that runs it, where it is shared
    struct graph_mark mark;
};

// Before a node is added, whatever its kind: adds the transfers that it needs on this rank.
// Errors: BRAID_INVALID_ARGUMENT, BRAID_NO_MEMORY.
braid_status braid_graph_begin_task(braid_graph *graph, const char *name,
                                    const braid_node_options *options, struct owner_task *out_task);

// After that: notes what copies there are now, or takes the transfers back if it has failed, whose
// status it returns.
braid_status braid_graph_end_task(braid_graph *graph, const struct owner_task *task,
                                  const braid_node_options *options, braid_status status,
                                  braid_node *out_node);

// Adds a node of some kind, as `description`, a struct of the public interface, has it.
typedef braid_status graph_add(braid_graph *graph, const char *name, const void *description,
                               braid_node *out_node);

// Between the two has `add` add the node, where it is this rank's.
static inline braid_status graph_add_task(braid_graph *graph, const char *name,
                                          const braid_node_options *options, graph_add *add,
                                          const void *description, braid_node *out_node)
{
    struct owner_task task;
    braid_status status = braid_graph_begin_task(graph, name, options, &task);
    if (status)
        return status;
    if (task.is_here)
        status = add(graph, name, description, out_node);
    return braid_graph_end_task(graph, &task, options, status, out_node);
}

// Of what no rank but this one knows: it may only read what the rank owns.
// Errors: BRAID_INVALID_ARGUMENT.
braid_status braid_graph_check_own(const braid_graph *graph, const char *name,
                                   const braid_node_options *options);

#endif
