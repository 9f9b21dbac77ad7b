// SPDX-License-Identifier: Apache-2.0
// Addresses of resources that nodes are given: of buffers at once, of transient ones by each frame.
#ifndef BRAID_GRAPH_ADDRESSES_H
#define BRAID_GRAPH_ADDRESSES_H

#include "graph/graph.h"

// A resource whose address a node is given.
struct address_request {
    const char *node; // its name, for messages
    const char *what; // the address is for, likewise
    const braid_node_options *options;
    braid_resource resource;
    uint64_t bytes; // that the node takes from there on, or 0
};

// *out_address is NULL where frames are to find it. Errors: BRAID_INVALID_ARGUMENT.
braid_status braid_graph_find_address(const braid_graph *graph,
                                      const struct address_request *request,
                                      const void **out_address);

// The same of a member, which `what` names, that is given as an address or as a resource.
braid_status braid_graph_find_pointer(const braid_graph *graph,
                                      const struct address_request *request, const void *given,
                                      const void **out_address);

// Room for the addresses of one more node, and for its accesses with those to its scratch.
bool braid_graph_reserve_addresses(braid_graph *graph, const braid_node_options *options,
                                   size_t num);

// Notes that an operand of the node about to be added is the address of the resource. The address
// goes to the list for frames, or to the list of known ones. There is room.
void braid_graph_append_address(braid_graph *graph, uint32_t operand, braid_resource resource);

// Makes 8 bytes of an argument an address in a transient buffer. The node, a kernel's, was added
// last, and has an access to the buffer. Addresses come by their place. Errors: BRAID_NO_MEMORY.
braid_status braid_graph_add_address(braid_graph *graph, uint32_t argument, uint32_t offset,
                                     braid_resource buffer, uint64_t addend);

// The first entry of `list` (graph->addresses or graph->given) that is the node's, or where it
// would stand.
size_t braid_graph_first_address(const struct array *list, uint32_t node);

#endif
