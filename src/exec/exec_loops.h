// SPDX-License-Identifier: Apache-2.0
// The part that tells of iterations that could not be queued.
#ifndef BRAID_EXEC_EXEC_LOOPS_H
#define BRAID_EXEC_EXEC_LOOPS_H

#include <braid/exec.h>

// Does nothing if the graph has no loops. Errors: BRAID_NO_MEMORY.
braid_status braid_exec_add_loops(braid_exec *exec, const braid_graph *graph);

#endif
