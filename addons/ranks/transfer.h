// SPDX-License-Identifier: Apache-2.0
// A send or receive of memory that a rank owns.
#ifndef BRAID_RANKS_TRANSFER_H
#define BRAID_RANKS_TRANSFER_H

#include "graph/graph.h"

struct transfer {
    braid_resource communicator;
    braid_resource resource; // an owned buffer or a range of one
    uint32_t peer;
    bool receives;
};

// Errors: BRAID_INVALID_ARGUMENT (too large for one), BRAID_NO_MEMORY.
braid_status braid_graph_add_transfer(braid_graph *graph, const struct transfer *transfer);

// The key from which both ends of a transfer know its buffer and range; never 0.
uint64_t braid_transfer_key(const char *name, uint64_t offset, uint64_t bytes);

#endif
