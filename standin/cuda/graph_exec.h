// SPDX-License-Identifier: Apache-2.0
// Executable graphs: a private clone of a graph, replaced as a whole when it changes.
#ifndef BRAID_STANDIN_GRAPH_EXEC_H
#define BRAID_STANDIN_GRAPH_EXEC_H

#include "cuda_abi.h"
#include "graph.h"

// Guarded by the world's lock.
struct CUgraphExec_st {
    CUgraph plan; // shared with launches in flight; never changed while they are
    CUcontext context;
    unsigned long long flags;
    struct ticket *latest; // launches of one exec follow each other
    CUgraphExec next;      // in the list of those that allocate or free memory
};

// Both expect the world's lock.

// A node of the plan that may be changed: when launches in flight share the plan, the exec gets
// a clone of its own first. NULL: no such node; or no memory.
CUgraphNode graph_exec_writable(CUgraphExec exec, CUgraphNode node, CUresult *out_error);
void graph_exec_set_context(CUgraph graph, CUcontext context); // where a node has none

#endif
