// SPDX-License-Identifier: Apache-2.0
// A frame on the calling thread, node by node.
#ifndef BRAID_EXEC_AUDIT_WALK_H
#define BRAID_EXEC_AUDIT_WALK_H

#include "exec/exec.h"

struct audit_walk {
    const braid_exec *exec;
    // Of each node that works in this frame.
    braid_status (*run)(void *context, uint32_t node);
    void *context;
};

// Runs the nodes of a frame in issue order, in which each stands behind all that it waits for.
// Errors: those of `run`.
braid_status braid_audit_walk(const struct audit_walk *walk);

// Runs one node, and waits for its end. Errors: BRAID_NO_MEMORY, those of queue calls.
braid_status braid_audit_run_task(const braid_exec *exec, const struct backend_task *task);

#endif
