// SPDX-License-Identifier: Apache-2.0
// The arguments of a kernel node that stands in its graph, as doors of code take them.
#ifndef BRAID_ACCESSES_ARGUMENT_H
#define BRAID_ACCESSES_ARGUMENT_H

#include "graph/code.h"
#include "graph/graph.h"

// Index num_args of the program is the address of the grid, if the launch reads it from memory.
struct code_argument braid_accesses_argument(const braid_graph *graph, uint32_t node,
                                             uint32_t index);
// Whether the program wants an argument not checked.
bool braid_accesses_is_unchecked(const braid_graph *graph, uint32_t node, uint32_t index);

#endif
