// SPDX-License-Identifier: Apache-2.0
// What a node of a random graph stands behind, accesses and costs: the same for graphs of all
// tests, each of which adds nodes of its own kinds.
#ifndef BRAID_TESTS_RANDOM_CHOICE_H
#define BRAID_TESTS_RANDOM_CHOICE_H

#include <braid/graph.h>

#include "support/random.h"

enum { RANDOM_MOST_EDGES = 16, RANDOM_MOST_ACCESSES = 4 };

// What is 0 is left out.
struct random_shape {
    uint32_t least_edges, edges; // into a node, at least (but for repetitions) and at most
    uint32_t reach;              // how far before it they begin; 0: anywhere
    uint32_t far;                // percent that begin anywhere all the same
    bool repeats;                // a node may have one twice
    uint32_t accesses, num_resources, num_modes; // a node's, at most; BRAID_READ is half of them
    uint32_t hinted, num_hints;                  // percent of nodes
    uint32_t most_ns;                            // costs are 1 to this
};

// The options point into the rest, so it stays where it is.
struct random_choice {
    braid_node_options options;
    braid_node after[RANDOM_MOST_EDGES];
    braid_access accesses[RANDOM_MOST_ACCESSES];
};

// For the node behind `num` others. NULL for these, or for the resources: the choice has their
// indices alone.
void random_choose(struct random *random, const struct random_shape *shape, const braid_node *nodes,
                   uint32_t num, const braid_resource *resources, struct random_choice *out);

#endif
