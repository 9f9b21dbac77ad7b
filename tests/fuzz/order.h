// SPDX-License-Identifier: Apache-2.0
// The order that a graph asks for, from the words of the headers alone, by brute force: every pair
// of nodes is looked at, and the relation is closed.
#ifndef BRAID_TESTS_FUZZ_ORDER_H
#define BRAID_TESTS_FUZZ_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include <braid/graph.h>

enum { order_max_nodes = 64, order_max_resources = 24, order_max_accesses = 3 };

enum order_kind { ORDER_KERNEL, ORDER_COPY, ORDER_FILL, ORDER_HOST, ORDER_QUEUE, ORDER_EMPTY };
enum order_role { ORDER_PRELUDE, ORDER_MAIN, ORDER_EPILOGUE };

struct order_access {
    uint32_t resource;
    braid_access_mode mode;
};

struct order_node {
    enum order_kind kind;
    enum order_role role;
    uint32_t main; // itself, unless it is a prelude or epilogue
    uint32_t hint;
    uint64_t after; // explicit edges into it, a bit a node
    struct order_access accesses[order_max_accesses];
    uint32_t num_accesses;
};

// A part of a buffer, from `offset`; a named resource is a buffer of one byte.
struct order_resource {
    uint32_t buffer;
    bool is_buffer; // ranges may be taken of it
    uint64_t offset, bytes;
    uintptr_t address; // a buffer's; 0: not known
};

struct order_graph {
    struct order_node nodes[order_max_nodes];
    uint32_t num_nodes;
    struct order_resource resources[order_max_resources];
    uint32_t num_resources;
};

enum order_cycle {
    ORDER_NO_CYCLE,
    ORDER_BUNDLE_CYCLE, // only if bundles are taken as a whole: whether they are is not promised
    ORDER_NODE_CYCLE,
};

struct order {
    uint64_t before[order_max_nodes];   // all that must have ended when the node starts
    uint64_t bundles[order_max_nodes];  // at main nodes: those whose bundles stand before theirs
    uint32_t sequence[order_max_nodes]; // bundle by bundle, in running order inside
    enum order_cycle cycle;
};

// Whether a node of a frame stands before one of the next, by what both access.
bool order_holds_between_frames(const struct order_graph *graph, uint32_t earlier, uint32_t later);

void order_find(const struct order_graph *graph, struct order *out_order);

// Two buffers with addresses that overlap: planning refuses them.
bool order_buffers_overlap(const struct order_graph *graph);

#endif
