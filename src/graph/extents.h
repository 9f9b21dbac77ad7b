// SPDX-License-Identifier: Apache-2.0
// Where the buffers lie that were declared with their addresses.
#ifndef BRAID_GRAPH_EXTENTS_H
#define BRAID_GRAPH_EXTENTS_H

#include "graph/graph.h"

struct extent {
    uintptr_t begin, last; // the last byte, so that it never overflows
    uint32_t buffer;
};

// By address.
struct extents {
    struct extent *items;
    uint32_t num, room;
};

// Errors: BRAID_NO_MEMORY.
braid_status braid_extents_create(const braid_graph *graph, struct extents *out_extents);
void braid_extents_finish(struct extents *extents);

// Adds the buffers among the resources from *num_seen on, and sets that to their number. Errors:
// BRAID_NO_MEMORY.
braid_status braid_extents_extend(const braid_graph *graph, struct extents *extents,
                                  uint32_t *num_seen);

// The first that does not end before the address, or `num`.
uint32_t braid_extents_find(const struct extents *extents, const void *address);

// Whether bytes that begin inside a buffer end beyond it, and beyond all buffers that follow it
// without a gap. Then *out_buffer is the last of these, and *out_beyond how many bytes that are.
bool braid_extents_overrun(const struct extents *extents, const void *address, uint64_t bytes,
                           uint32_t *out_buffer, uint64_t *out_beyond);

// The error for that, of an end of a node.
braid_status braid_extents_refuse(const char *node, const char *end, uint64_t bytes,
                                  uint64_t beyond, const char *buffer);

// BRAID_OK when no two buffers with known addresses share a byte.
// Errors: BRAID_INVALID_ARGUMENT (the message names both).
braid_status braid_graph_check_overlaps(const braid_graph *graph, const struct extents *extents);

// Compares the pointers that nodes were given with the buffers that they declare accesses to.
// Errors: BRAID_INVALID_ARGUMENT:
// - An argument of a kernel, or an end of a copy or fill, leads into a buffer to which the node
//   declares no access.
// - A copy or fill ends beyond a buffer.
braid_status braid_graph_check_pointers(const braid_graph *graph, const struct extents *extents);

// The first node with work that declares no access, or GRAPH_NONE. The accesses that Braid gives a
// node tell nothing about its others: those to its scratch, and those of a communication.
uint32_t braid_graph_find_undeclared(const braid_graph *graph);

#endif
