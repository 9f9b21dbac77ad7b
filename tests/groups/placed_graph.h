// SPDX-License-Identifier: Apache-2.0
// A random graph over buffers that lie on several devices, and what it computes, one node after the
// other on the host. What a missing copy leaves behind is another number.
#ifndef BRAID_TESTS_PLACED_GRAPH_H
#define BRAID_TESTS_PLACED_GRAPH_H

#include <braid/braid.h>

#include "support/random.h"

enum {
    PLACED_MOST_BUFFERS = 8,
    PLACED_WORDS = 64, // in a buffer; a range is half of one
    PLACED_MOST_NODES = 40,
    PLACED_NUM_PARTS = 3, // a buffer's: whole, first half, second half
};

enum placed_kind { PLACED_AXPY, PLACED_ADD, PLACED_CHANGE, PLACED_COPY, PLACED_FILL };

// A part of a buffer.
struct placed_part {
    uint32_t buffer, part;
};

struct placed_node {
    enum placed_kind kind;
    struct placed_part to, from, with;
    uint32_t factor, addend, place; // place: 0 where the planner chooses
    bool rests;                     // is disabled
    braid_node handle;
};

struct placed_model {
    uint32_t num_places, num_buffers, num_transients, num_nodes; // transients: the last buffers
    uint32_t homes[PLACED_MOST_BUFFERS];
    braid_resource buffers[PLACED_MOST_BUFFERS]; // in the graph that was built last
    struct placed_node nodes[PLACED_MOST_NODES];
};

// The first buffer is at home on place 0. `named` of a hundred nodes name their place.
void placed_model_make(struct placed_model *model, struct random *random, uint32_t num_places,
                       uint32_t named);

// Builds it over buffers at these addresses (none of transient ones).
void placed_model_build(struct placed_model *model, uint32_t *const *addresses, braid_graph *graph);

// One frame, in memory of the host: num_buffers * PLACED_WORDS.
void placed_model_run(const struct placed_model *model, uint32_t *words);

#endif
