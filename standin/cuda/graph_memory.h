// SPDX-License-Identifier: Apache-2.0
// Nodes that allocate and free memory: the address is fixed from the start, and may be that of an
// earlier allocation of the graph that is freed before.
#ifndef BRAID_STANDIN_GRAPH_MEMORY_H
#define BRAID_STANDIN_GRAPH_MEMORY_H

#include "graph.h"

// All of these expect the world's lock.

// Become nodes of the capture that the stream takes part in. Of no bytes, driver 580 makes no node,
// and leaves the address alone.
CUresult graph_memory_capture_allocation(CUstream stream, CUdevice device, size_t bytes,
                                         CUdeviceptr *out_memory);
CUresult graph_memory_capture_free(CUstream stream, void *memory);

// Before a launch of the plan: what an earlier launch has left allocated is freed, or an error; and
// what the plan frees of other graphs must be allocated. Afterwards: notes what is allocated now.
CUresult graph_memory_begin_launch(CUgraph plan, bool auto_free, CUstream stream);
void graph_memory_end_launch(CUgraph plan);

void graph_memory_tell(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *out_params);

#endif
