// SPDX-License-Identifier: Apache-2.0
// The data of ranks in a graph with communicators: its operations, and the owners of buffers.
#ifndef BRAID_RANKS_RANK_GRAPH_H
#define BRAID_RANKS_RANK_GRAPH_H

#include "base/array.h"
#include "base/pointer_map.h"
#include "exec/exec.h"
#include "exec/exec_part.h"
#include "graph/graph.h"
#include "graph/graph_ranks.h"
#include "ranks/link.h"
#include "ranks/operation.h"

// Owns a buffer.
struct graph_owner {
    uint32_t communicator; // resource
    uint32_t rank;
    uint32_t first_copy; // in `copies`, from 1; 0: none
};

// Bytes that a rank beside the owner has as they are now. Known to both, and to nobody else.
struct graph_copy {
    uint64_t begin, end;
    uint32_t rank;
    uint32_t next; // the buffer's next one, or the next free one
};

struct rank_graph {
    struct graph_ranks base;
    struct array communications; // struct rank_description
    struct array owners;         // struct graph_owner
    struct array copies;         // struct graph_copy
    struct pointer_map owned;    // by the hash of each owned buffer's name, which of `owners`
    uint32_t free_copies;        // the first, from 1
};

static inline struct rank_graph *rank_graph_of(const braid_graph *graph)
{
    return (struct rank_graph *)graph->ranks;
}

static inline const struct rank_description *rank_graph_description(const braid_graph *graph,
                                                                    uint32_t post)
{
    const struct rank_description *all = rank_graph_of(graph)->communications.items;
    return &all[graph_work_of(graph, post)->post.description];
}

// communication.c: adds an operation; `key`: see rank_description.
braid_status braid_graph_append_communication(braid_graph *graph,
                                              const braid_communication *communication,
                                              uint64_t key, braid_node *out_node);

// owners.c: graph_ranks_ops.
braid_status braid_graph_begin_task(braid_graph *graph, const char *name,
                                    const braid_node_options *options, struct owner_task *out_task);
braid_status braid_graph_end_task(braid_graph *graph, const struct owner_task *task,
                                  const braid_node_options *options, braid_status status,
                                  braid_node *out_node);
// Checks a node that no other rank knows of: it may only read buffers that the rank owns. Errors:
// BRAID_INVALID_ARGUMENT.
braid_status braid_graph_check_own(const braid_graph *graph, const char *name,
                                   const braid_node_options *options);

// rank_exec.c: graph_ranks_ops.
braid_status braid_rank_make_exec(braid_exec *exec, const braid_graph *graph,
                                  const braid_exec_options *options, braid_status status);
void braid_rank_make_operations(braid_exec *exec, const braid_graph *graph);

// On a device an operation is at work from its post on, and the next one of its communicator begins
// behind its end. Ranks that send to each other must not wait for each other. So neighbouring sends
// and receives are queued as one group if none depends on another. They begin with the last post,
// and the end of each comes behind that. No operation of another communicator stands between them,
// so no two groups can wait for each other. Posts of a communicator share a lane, and have the
// operation's cost.
//
// The result is a clone with the same nodes; num_joined and joins_next are in its communications.
// Errors: BRAID_NO_MEMORY.
braid_status braid_graph_join(const braid_graph *graph, braid_graph **out_joined);

// The post that queues a post's operation: itself, or the last of those that it is joined with.
uint32_t braid_graph_queued_with(const braid_graph *graph, uint32_t post);

#endif
