// SPDX-License-Identifier: Apache-2.0
// The arguments of a kernel node, each classified once.
#ifndef BRAID_GRAPH_ARGUMENTS_H
#define BRAID_GRAPH_ARGUMENTS_H

#include <stdint.h>

#include <braid/graph.h>

enum graph_argument_kind {
    GRAPH_ARGUMENT_BYTES,     // a value
    GRAPH_ARGUMENT_UNCHECKED, // a pointer that nothing orders
    GRAPH_ARGUMENT_ADDRESS,   // the address of a resource, and perhaps an access to it
    GRAPH_ARGUMENT_TRAP,      // the address of the frame's trap
};

struct graph_argument {
    enum graph_argument_kind kind;
    uint32_t mode;           // braid_access_mode, if the address is an access as well; or 0
    size_t bytes;            // that the kernel takes
    const void *data;        // as given
    braid_resource resource; // that an address with data is in
    const void *address;     // that address, once it is found; NULL: each frame has its own
};

// The arguments of one node, and its accesses with those of the arguments behind.
struct graph_arguments {
    struct graph_argument *items;
    braid_access *accesses;
    size_t num, num_accesses;
};

struct graph_argument braid_graph_classify_argument(const braid_arg *arg);

// Lists that the checks of any node refuse stay empty. `name` is the node's, for messages. The
// caller finishes the arguments, also after an error. Errors: BRAID_INVALID_ARGUMENT,
// BRAID_NO_MEMORY.
braid_status braid_graph_arguments_init(struct graph_arguments *arguments, const braid_graph *graph,
                                        const char *name, const braid_kernel_node *launch);
void braid_graph_arguments_finish(struct graph_arguments *arguments);

#endif
