// SPDX-License-Identifier: Apache-2.0
// Random graphs, and chains, of kernels that look whether what they run after has run, for tests of
// islands.
#ifndef BRAID_TESTS_GPU_ISLAND_GRAPH_H
#define BRAID_TESTS_GPU_ISLAND_GRAPH_H

#include <braid/braid.h>

enum { ISLAND_NODES = 40 };

// Kernels with source, one of three and one of two arguments: the counters of all nodes, the
// node's number, and 8 bytes. The last asks which launch it is.
extern const braid_kernel island_note, island_other, island_outsider;

// Asked by each of these kernels, of a node's number, before it counts: it does not where this says
// so. NULL: all count.
extern bool (*island_fails)(unsigned node);

struct island_graph {
    uint64_t seed;
    bool has_outsiders; // some nodes have no source
    bool has_accesses;  // that say the same, so that frames may overlap
    uint32_t most_before;
    uint32_t most_blocks; // a node's, at random; 0: one
    uint32_t threads;     // a block's; 0: one
    uint64_t cost_ns;     // each node's; 0: 2000
    braid_graph *graph;
    braid_node nodes[ISLAND_NODES];
    uint32_t num_outsiders;
    unsigned *ran;
};

// Each node after at most two earlier ones, or most_before of them. The counters are on the device.
// The test owns what is made.
void island_graph_make(struct island_graph *made, braid_device *device);
// After so many frames that have ended: every node ran in each, and behind what it runs after.
void island_graph_check(const struct island_graph *made, unsigned num_frames);

// "link a" to "link e", which count in `ran`. There is another place for that.
enum { ISLAND_CHAIN = 5 };
struct island_chain {
    braid_device *device;
    braid_graph *graph;
    braid_node nodes[ISLAND_CHAIN];
    unsigned *ran, *other;
};

// On a device of its own.
void island_chain_make(struct island_chain *chain, const braid_kernel *middle);

#endif
