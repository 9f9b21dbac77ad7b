// SPDX-License-Identifier: Apache-2.0
// The launch of a kernel node that stands in its graph, as doors of code take it.
#ifndef BRAID_ACCESSES_LAUNCH_H
#define BRAID_ACCESSES_LAUNCH_H

#include "base/node_text.h"
#include "graph/code.h"

struct accesses_launch {
    struct code_launch base; // points into the rest
    struct node_text name;
    struct code_argument *args;
};

// Errors: BRAID_NO_MEMORY.
braid_status braid_accesses_take_launch(const braid_graph *graph, uint32_t node,
                                        struct accesses_launch *out_launch);
void braid_accesses_launch_finish(struct accesses_launch *launch);

#endif
