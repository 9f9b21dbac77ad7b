// SPDX-License-Identifier: Apache-2.0
// The proof that the nodes which a plan leaves out may be left out.
#ifndef BRAID_VERIFY_LEFT_OUT_H
#define BRAID_VERIFY_LEFT_OUT_H

#include "graph/graph.h"

// `culled` is the graph that is planned instead of `graph`, or the same. Errors: BRAID_INTERNAL
// (the message names a node that is left out, and who needs it), BRAID_NO_MEMORY.
braid_status braid_verify_left_out(const braid_graph *graph, const braid_graph *culled);

#endif
