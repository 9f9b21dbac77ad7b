// SPDX-License-Identifier: Apache-2.0
// The captured orders that an imported graph keeps.
//
// A captured order of two nodes stays unless both are proven and share no buffer that one of them
// writes. Nodes are numbered so that each captured edge leads to a higher number.
#ifndef BRAID_IMPORT_ORDERS_H
#define BRAID_IMPORT_ORDERS_H

#include "base/array.h"

#include <stdbool.h>
#include <stdint.h>

struct import_edge {
    uint32_t from, to;
};

struct import_access {
    uint32_t node, buffer;
    bool writes;
    bool reads;        // all uses but those of orders
    uint64_t from, to; // bytes of the buffer, until they have numbers of their own; 0, 0: all
};

// Nodes that stand one behind another: those of the graph itself, or of a body of a conditional
// node. Nodes of conditional nodes inside are among them.
struct import_region {
    uint32_t owner; // the conditional node; IMPORT_NONE: it is the graph itself
    uint32_t first, num;
};

#define IMPORT_NONE UINT32_MAX

struct import_order {
    uint32_t num_nodes, num_buffers;
    const bool *is_work;             // by node; others pass orders on, and need none
    const bool *proven;              // by node
    const struct import_edge *edges; // captured, in any order
    size_t num_edges;
    const struct import_access *accesses; // by node; those of unproven nodes may lack
    size_t num_accesses;
    uint64_t most_steps; // words and accesses that the search looks at, about; 0: any number
    // Weights by node on longest paths, of captured edges and of these; NULL: 1, or 0 without work.
    const uint32_t *length_captured, *length_kept;
    // For nodes with bodies; the first region is the graph itself. Edges stay in one region.
    const uint32_t *region; // by node: the innermost; NULL: there is one region
    const struct import_region *regions;
    size_t num_regions;
};

struct import_orders {
    struct array edges; // struct import_edge, by `to`: as few as keep all orders that stay
    struct array races; // struct import_edge: nodes that no captured order holds apart, from the
                        // lower one, which share a buffer that one of them writes
    uint64_t num_captured, num_kept;         // ordered pairs, of captured edges and of these
    uint32_t longest_captured, longest_kept; // nodes on a longest path
    bool is_cut;                             // it would have taken more steps: all else is unknown
};

// Finds the orders that stay, where no node has bodies. False: memory ran out.
bool braid_import_find_orders(const struct import_order *order, struct import_orders *out_orders);
// The same for any graph. A conditional node accesses all that nodes inside it do, and is proven if
// all of them are. On a path it is as long as its longest body.
bool braid_import_find_all_orders(const struct import_order *order,
                                  struct import_orders *out_orders);
void braid_import_orders_finish(struct import_orders *orders);

#endif
