// SPDX-License-Identifier: Apache-2.0
// The values of an exec's nodes: a master copy that setters write, and the changes that each frame
// slot has not taken yet. Where parameters go in it.
//
// A setter writes the master copy (tasks.h) and puts its node in front of a list, with a number
// that grows. A launch takes the nodes from the front whose number is higher than that of its slot.
// These are all that changed since the slot's last launch, each once.
#ifndef BRAID_EXEC_EXEC_PARAMS_H
#define BRAID_EXEC_EXEC_PARAMS_H

#include "base/store.h"
#include "graph/graph.h"
#include "tasks/frame.h"

struct exec_values {
    uint64_t now;                        // the number of the latest change
    uint64_t num_controls;               // how often the program wrote a control
    uint64_t *changed_at;                // by task: of its latest change; 0: it has not changed
    uint32_t *newer, *older;             // by task, and of the list's end: neighbours in the list
    const struct backend_task **changed; // room for what one launch hands to the player
};

// Bytes of a slot of the master copy that get another value.
struct value_edit {
    const unsigned char *from;
    uint64_t offset; // in the slot
    uint32_t slot;   // enum task_slot
    uint32_t node;   // whose they are
    uint32_t bytes;
};

// Makes values whose arrays are in the store. Errors: BRAID_NO_MEMORY.
braid_status braid_exec_values_create(uint32_t num_tasks, struct store *store,
                                      struct exec_values *out_values);

// Has each slot take the values of the node, and of the kernel that fetches for it, with its next
// launch.
void braid_exec_values_mark(struct exec_values *values, const struct tasks *tasks, uint32_t node);

// The bytes of a node's target (braid_target) that is no argument, without `from` and `bytes`.
struct value_edit braid_exec_edit_of(const struct tasks *tasks, uint32_t node, uint32_t target);

// Writes values, those of each node together, or refuses them all. The lock is held. It allocates
// nothing and calls no driver. Errors, which name the node: BRAID_INVALID_ARGUMENT (a value that
// the graph would not take), BRAID_UNSUPPORTED (the player says that it never takes it).
braid_status braid_exec_put_values(braid_exec *exec, const struct value_edit *edits, uint32_t num);

struct exec_params {
    uint32_t num;
    struct names names;
    uint32_t *name;          // each parameter's handle in names
    uint32_t *bytes;         // the size of its value
    uint32_t *first_use;     // num + 1: those of parameter p are first_use[p] .. [p + 1]
    struct value_edit *uses; // by parameter, then by node, then as declared; `from` is not set
    uint32_t *offsets;       // for each use: from where in the parameter
    struct store store;      // holds the arrays
};

// Errors: BRAID_NO_MEMORY.
braid_status braid_exec_params_create(const braid_graph *graph, const struct tasks *tasks,
                                      struct exec_params *out_params);
void braid_exec_params_finish(struct exec_params *params);

// Proves them: see braid_verify_params, as whose errors these are.
braid_status braid_exec_params_verify(const struct exec_params *params, const braid_graph *graph,
                                      const struct tasks *tasks, const struct frame *const *frames,
                                      uint32_t num_frames);

#endif
