// SPDX-License-Identifier: Apache-2.0
// Where targets of nodes stand in the master copy, and the parameters that go there.
#ifndef BRAID_EXEC_EXEC_PARAMS_H
#define BRAID_EXEC_EXEC_PARAMS_H

#include "base/store.h"
#include "exec/exec_values.h"
#include "graph/graph.h"
#include "program/frame.h"

// The bytes of a node's target (braid_target) that is no argument, without `from` and `bytes`.
struct value_edit braid_exec_edit_of(const struct tasks *tasks, uint32_t node, uint32_t target);

struct exec_params {
    uint32_t num;
    struct names names;
    uint32_t *name;          // of each parameter: place in names
    uint32_t *bytes;         // of its value
    uint32_t *first_use;     // num + 1: those of parameter p are first_use[p] .. [p + 1]
    struct value_edit *uses; // by parameter, then by node, then as declared; `from` is not set
    uint32_t *offsets;       // of each use: from where in the parameter
    struct store store;      // of the arrays
};

// Errors: BRAID_NO_MEMORY.
braid_status braid_exec_params_create(const braid_graph *graph, const struct tasks *tasks,
                                      struct exec_params *out_params);
void braid_exec_params_finish(struct exec_params *params);

// Proves them: see verify_params.h, as whose errors these are.
braid_status braid_exec_params_verify(const struct exec_params *params, const braid_graph *graph,
                                      const struct tasks *tasks, const struct frame *const *frames,
                                      uint32_t num_frames);

#endif
