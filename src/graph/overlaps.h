// SPDX-License-Identifier: Apache-2.0
// Whether the buffers of a graph are apart.
#ifndef BRAID_GRAPH_OVERLAPS_H
#define BRAID_GRAPH_OVERLAPS_H

#include "graph/extents.h"

// BRAID_OK when no two buffers with known addresses share a byte.
// Errors: BRAID_INVALID_ARGUMENT (the message names both).
braid_status braid_graph_check_overlaps(const braid_graph *graph, const struct extents *extents);

#endif
