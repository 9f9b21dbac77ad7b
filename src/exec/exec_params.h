// SPDX-License-Identifier: Apache-2.0
// The parameters of an exec: for each, the bytes of frames that it goes to.
#ifndef BRAID_EXEC_EXEC_PARAMS_H
#define BRAID_EXEC_EXEC_PARAMS_H

#include "exec/exec_change.h"
#include "graph/graph.h"

// A value of a parameter for each frame of the next launch of several.
struct exec_param_rows {
    unsigned char *bytes;
    size_t num, room; // rows, and bytes that there is memory for
};

struct exec_params {
    uint32_t num;
    uint32_t *bytes;              // of each parameter's value
    uint32_t *first_use;          // num + 1: those of parameter p are first_use[p] .. [p + 1]
    struct exec_edit *uses;       // by parameter, then by node, then as declared; `from` is not set
    uint32_t *offsets;            // of each use: from where in the parameter
    struct exec_param_rows *rows; // by parameter
};

// Errors: BRAID_NO_MEMORY.
braid_status braid_exec_params_create(const braid_graph *graph, const struct tasks *tasks,
                                      struct exec_params *out_params);
void braid_exec_params_finish(struct exec_params *params);

#endif
