// SPDX-License-Identifier: Apache-2.0
// Entry points that change the nodes of a graph.
#include "graph_node.h"

#include <string.h>

#include "context.h"
#include "copy.h"
#include "entry.h"
#include "graph.h"
#include "handles.h"
#include "module.h"

struct launch_shape node_shape_v1(const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
    return (struct launch_shape){
        .function = params->func,
        .grid = { params->gridDimX, params->gridDimY, params->gridDimZ },
        .block = { params->blockDimX, params->blockDimY, params->blockDimZ },
        .shared_bytes = params->sharedMemBytes,
        .params = params->kernelParams,
        .extra = params->extra,
    };
}

struct launch_shape node_shape_v2(const CUDA_KERNEL_NODE_PARAMS *params)
{
    return (struct launch_shape){
        .function = params->func != NULL ? params->func : (CUfunction)(void *)params->kern,
        .context = params->func != NULL ? NULL : params->ctx,
        .grid = { params->gridDimX, params->gridDimY, params->gridDimZ },
        .block = { params->blockDimX, params->blockDimY, params->blockDimZ },
        .shared_bytes = params->sharedMemBytes,
        .params = params->kernelParams,
        .extra = params->extra,
    };
}

CUresult node_set_context(struct work *work, CUcontext context)
{
    if (context == NULL)
        context = context_current();
    CUresult result = context_check(context);
    if (result == CUDA_SUCCESS)
        work->context = context;
    if (work->kind == WORK_COPY)
        work->copy.in_graph = true;
    return result;
}

// Event nodes belong to a launch, and a child's nodes have no launch of their own here.
CUresult node_child_work(CUgraph child, bool public, struct work *out_work)
{
    if (!handles_known(HANDLE_GRAPH, child))
        return CUDA_ERROR_INVALID_VALUE;
    if (graph_has_conditions(child) || graph_has_memory(child))
        return CUDA_ERROR_NOT_SUPPORTED;
    for (size_t i = 0; i < child->num_nodes; i++) {
        enum work_kind kind = child->nodes[i]->work.kind;
        if (kind == WORK_EVENT_RECORD || kind == WORK_EVENT_WAIT)
            return CUDA_ERROR_NOT_SUPPORTED;
    }
    CUgraph clone = graph_clone(child, public);
    if (clone == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    clone->is_child = true;
    *out_work = (struct work){ .kind = WORK_CHILD };
    out_work->child = clone;
    return CUDA_SUCCESS;
}

CUresult node_value_work(const CUstreamBatchMemOpParams *operation, struct work *out_work)
{
    if (operation->operation != CU_STREAM_MEM_OP_WAIT_VALUE_32 &&
        operation->operation != CU_STREAM_MEM_OP_WRITE_VALUE_32)
        return CUDA_ERROR_NOT_SUPPORTED;
    bool waits = operation->operation == CU_STREAM_MEM_OP_WAIT_VALUE_32;
    struct work work = { .kind = waits ? WORK_WAIT_VALUE : WORK_WRITE_VALUE };
    work.value.at = (void *)(uintptr_t)operation->waitValue.address;
    work.value.value = operation->waitValue.value;
    work.value.flags = operation->waitValue.flags;
    *out_work = work;
    return CUDA_SUCCESS;
}

static bool is_kernel(CUgraphNode node)
{
    return handles_known(HANDLE_NODE, node) && node->work.kind == WORK_KERNEL;
}

static CUresult set_kernel(CUgraphNode node, const struct launch_shape *shape)
{
    struct work work;
    world_lock();
    CUresult result = is_kernel(node) ? launch_prepare(shape, &work) : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS) {
        work.kernel.attributes = node->work.kernel.attributes;
        work_finish(&node->work);
        node->work = work;
    }
    world_unlock();
    return result;
}

CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    const struct launch_shape shape = node_shape_v1(params);
    return set_kernel(node, &shape);
}

CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params)
{
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    const struct launch_shape shape = node_shape_v2(params);
    return set_kernel(node, &shape);
}

CUresult cuGraphKernelNodeSetAttribute(CUgraphNode node, CUkernelNodeAttrID attribute,
                                       const CUkernelNodeAttrValue *value)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    result = is_kernel(node) ? launch_set_attribute(&node->work, attribute, value)
                             : CUDA_ERROR_INVALID_VALUE;
    world_unlock();
    return result;
}

CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    if (is_kernel(to) && is_kernel(from))
        to->work.kernel.attributes = from->work.kernel.attributes;
    else
        result = CUDA_ERROR_INVALID_VALUE;
    world_unlock();
    return result;
}
