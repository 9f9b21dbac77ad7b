// SPDX-License-Identifier: Apache-2.0
// Compares the pointers that nodes were given with the buffers that they declare accesses to.
#ifndef BRAID_GRAPH_POINTERS_H
#define BRAID_GRAPH_POINTERS_H

#include "graph/extents.h"

// Errors: BRAID_INVALID_ARGUMENT:
// - An argument of a kernel, or an end of a copy or fill, leads into a buffer to which the node
//   declares no access.
// - A copy or fill ends beyond a buffer.
braid_status braid_graph_check_pointers(const braid_graph *graph, const struct extents *extents);

#endif
