// SPDX-License-Identifier: Apache-2.0
// From the driver's node parameters to work, for graphs and for executable graphs alike.
#ifndef BRAID_STANDIN_GRAPH_NODE_H
#define BRAID_STANDIN_GRAPH_NODE_H

#include "launch.h"
#include "work.h"

struct launch_shape node_shape_v1(const CUDA_KERNEL_NODE_PARAMS_v1 *params);
struct launch_shape node_shape_v2(const CUDA_KERNEL_NODE_PARAMS *params);

// Both expect the world's lock. A context of NULL is the current one.
CUresult node_set_context(struct work *work, CUcontext context);
CUresult node_child_work(CUgraph child, bool public, struct work *out_work); // see work_clone
// The work of an operation on a value in memory, of those that are offered.
CUresult node_value_work(const CUstreamBatchMemOpParams *operation, struct work *out_work);

#endif
