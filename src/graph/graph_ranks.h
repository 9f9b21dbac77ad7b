// SPDX-License-Identifier: Apache-2.0
// The services of libbraid_ranks (addons/ranks) for graphs with communicators and for their execs.
//
// libbraid knows communications as two kinds of work, and nothing of their origin. A graph gets its
// table when its first communicator is added.
#ifndef BRAID_GRAPH_GRAPH_RANKS_H
#define BRAID_GRAPH_GRAPH_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <braid/exec.h>
#include <braid/graph.h>

// Tasks that all ranks add: their owners, and the transfers for them.

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

struct graph_ranks_ops {
    // Around adding a node: see braid_graph_add_task.
    braid_status (*begin_task)(braid_graph *graph, const char *name,
                               const braid_node_options *options, struct owner_task *out_task);
    braid_status (*end_task)(braid_graph *graph, const struct owner_task *task,
                             const braid_node_options *options, braid_status status,
                             braid_node *out_node);
    // Clones this for a graph that has all of the other but this. False: no memory, and the clone
    // has none.
    bool (*clone)(const braid_graph *graph, braid_graph *clone);
    void (*finish)(braid_graph *graph);
    // Makes an exec, as all ranks do together, or tells them of an error `status`, and returns it.
    // Errors: as braid_exec_create.
    braid_status (*make_exec)(braid_exec *exec, const braid_graph *graph,
                              const braid_exec_options *options, braid_status status);
    // Gives the exec's posts and awaits their operations, once its tasks are made.
    void (*make_operations)(braid_exec *exec, const braid_graph *graph);
};

// libbraid_ranks embeds it first.
struct graph_ranks {
    const struct graph_ranks_ops *ops;
    uint32_t rank; // the program's in the graph's first communicator
};

#endif
