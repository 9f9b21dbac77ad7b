// SPDX-License-Identifier: Apache-2.0
// A random graph together with what it computes: built for a device, and run node by node on the
// host for comparison. Every node mixes what it reads into what it writes, so a pair that runs in
// the wrong order, by an edge, an access or a bundle, gives other numbers.
#ifndef BRAID_TESTS_RANDOM_GRAPH_H
#define BRAID_TESTS_RANDOM_GRAPH_H

#include <braid/braid.h>

#include "support/random_choice.h"

enum {
    random_max_nodes = 48,
    random_max_words = 128, // a node's; all nodes' words are many enough to be fetched
    random_num_cells = 24,
    random_num_resources = 16,
};

enum random_kind {
    RANDOM_MIX,       // a kernel: reads outputs and cells, writes cells and its output
    RANDOM_HOST,      // the same on the host
    RANDOM_COPY,      // its output is the output of the one node before it
    RANDOM_QUEUE,     // the same, queued by the program
    RANDOM_COPY_CELL, // copies a cell
    RANDOM_FILL,      // its output is a constant
    RANDOM_EMPTY,
};

// Where a graph computes: on the device, or a copy of it for the comparison.
struct random_memory {
    uint64_t *cells;   // random_num_cells
    uint64_t *outputs; // random_max_nodes
    uint32_t *words;   // random_max_nodes * random_max_words
    uint32_t *frame;   // changes with every frame, so that nothing left over looks right
};

struct random_node {
    enum random_kind kind;
    uint32_t bundle;
    int role;                    // -1 prelude, 0 main, 1 epilogue
    struct random_choice chosen; // nodes by place in the sequence
    uint64_t salt, delay_ns;
    uint32_t words[random_max_words]; // as test_mix reads them
    uint32_t num_words;

    // The graph that was built has these.
    bool added;
    braid_node handle;
    const struct random_graph *graph;
    const struct random_memory *memory;
};

// Nodes stand in an order in which they may run: bundle by bundle, running order inside.
struct random_graph {
    struct random_node nodes[random_max_nodes];
    uint32_t num_nodes, num_bundles;
    bool shuffled;       // edges alone order it, so nodes are added in any order
    bool declares_words; // all nodes declare that they read all words, which orders nothing
};

struct random_limits {
    bool host_calls;  // host nodes can reach the memory
    bool queue_calls; // the mode under test takes queue calls
    bool moves;       // it takes copies and fills of the memory
};

void random_graph_make(struct random_graph *graph, struct random *random,
                       struct random_limits limits);

// Adds the nodes to an empty graph, to compute in `memory`. The random_graph must outlive execs.
void random_graph_build(struct random_graph *model, struct random *random,
                        const struct random_memory *memory, braid_graph *graph);

// All nodes' words, as random_memory.words must hold them.
void random_graph_words(const struct random_graph *graph, uint32_t *words);

// One frame, node by node, in memory of the host.
void random_graph_run(const struct random_graph *graph, const struct random_memory *memory);

#endif
