// SPDX-License-Identifier: Apache-2.0
// A graph with operations between ranks, as a device plays it.
#ifndef BRAID_RANKS_JOIN_H
#define BRAID_RANKS_JOIN_H

#include "graph/graph.h"

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
