// SPDX-License-Identifier: Apache-2.0
// Plans inside CUDA graphs of the program (docs/book/from-cuda-graphs.md).
#ifndef BRAID_EXPORT_H
#define BRAID_EXPORT_H

#include <braid/exec.h>
#include <braid/status.h>

#ifdef __cplusplus
extern "C" {
#endif

// Makes the driver's graph of the exec's plan, a CUgraph, with the values set so far. The program
// adds it to graphs of its own, or instantiates and launches it. The graph belongs to the exec, and
// so does the memory of its nodes: the exec is destroyed after all executables that have it. The
// program changes nothing of the graph.
// Errors: BRAID_UNSUPPORTED (docs/book/from-cuda-graphs.md lists the reasons), BRAID_NO_MEMORY,
// BRAID_DEVICE_ERROR. The status of a queue call.
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_make_cuda_graph(braid_exec *exec,
                                                                   void **out_graph);

#ifdef __cplusplus
}
#endif

#endif
