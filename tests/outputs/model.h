// SPDX-License-Identifier: Apache-2.0
// Random graphs of calls over small buffers, with outputs: what they compute, and which nodes those
// need.
#ifndef BRAID_TESTS_OUTPUTS_MODEL_H
#define BRAID_TESTS_OUTPUTS_MODEL_H

#include <stdatomic.h>

#include "planner/plan_testing.h"

enum {
    MODEL_BYTES = 4,
    MODEL_BUFFERS = 5,
    MODEL_THINGS = MODEL_BUFFERS + 2, // the last two are locks, of one byte
    MODEL_NODES = 14,
    MODEL_OUTPUTS = 2,
};

struct model_part {
    uint32_t thing, first, num;
    braid_resource handle;
};

struct model;

struct model_node {
    struct model_part *parts[3];
    braid_access_mode modes[3];
    uint32_t num;
    bool is_empty, may_rest;
    uint32_t main;   // its bundle's
    uint32_t before; // an edge leads from it; MODEL_NODES: none
    bool is_needed;
    braid_node handle;
    braid_parameter enabled; // where it may rest
    struct model *model;
    atomic_uint num_runs;
};

struct model {
    struct model_part parts[2 * MODEL_THINGS];
    uint32_t num_parts, num_nodes;
    bool is_transient[MODEL_THINGS];
    struct model_node nodes[MODEL_NODES];
    struct model_part *outputs[MODEL_OUTPUTS];
    atomic_uint bytes[MODEL_THINGS][MODEL_BYTES];
};

// The same seed makes the same model. Calls of the graph compute in it, so it outlives execs.
braid_graph *model_graph(struct model *model, uint64_t seed);
void model_set_outputs(const struct model *model, braid_graph *graph);

// Says which nodes outputs need: goes back over the bytes of many frames.
void model_find_needed(struct model *model);

// Whether a node declares no result, so that nobody knows its effect.
bool model_has_effect(const struct model_node *node);

#endif
