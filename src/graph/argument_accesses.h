// SPDX-License-Identifier: Apache-2.0
// Arguments that are accesses as well, such as BRAID_IN(x), as the address and the access they
// mean.
#ifndef BRAID_GRAPH_ARGUMENT_ACCESSES_H
#define BRAID_GRAPH_ARGUMENT_ACCESSES_H

#include <braid/graph.h>

// The mode of an argument that is an access as well; 0: it is none.
static inline uint32_t graph_argument_access(const braid_arg *arg)
{
    const size_t mode = BRAID_ADDRESS_AND_ACCESS(0) - arg->bytes;
    return mode >= BRAID_READ && mode <= BRAID_ACCUMULATE ? (uint32_t)mode : 0;
}

// Whether an argument is the address of a resource.
static inline bool graph_argument_is_address(const braid_arg *arg)
{
    return arg->bytes == BRAID_ADDRESS_OF || graph_argument_access(arg);
}

static inline bool graph_argument_is_trap(const braid_arg *arg)
{
    return arg->bytes == BRAID_TRAP_ADDRESS;
}

// Points *launch to accesses with those of its arguments behind. The caller frees *out_accesses,
// which is NULL where there are none. Errors: BRAID_INVALID_ARGUMENT, BRAID_NO_MEMORY.
braid_status braid_graph_add_argument_accesses(const braid_graph *graph, const char *name,
                                               braid_kernel_node *launch,
                                               braid_access **out_accesses);

#endif
