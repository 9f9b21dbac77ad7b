// SPDX-License-Identifier: Apache-2.0
// Entry points that read and change the nodes of a graph.
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
        .function = params->func,
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
CUresult node_child_work(CUgraph child, struct work *out_work)
{
    if (!handles_known(HANDLE_GRAPH, child))
        return CUDA_ERROR_INVALID_VALUE;
    if (graph_has_conditions(child))
        return CUDA_ERROR_NOT_SUPPORTED;
    for (size_t i = 0; i < child->num_nodes; i++) {
        enum work_kind kind = child->nodes[i]->work.kind;
        if (kind == WORK_EVENT_RECORD || kind == WORK_EVENT_WAIT)
            return CUDA_ERROR_NOT_SUPPORTED;
    }
    CUgraph clone = graph_clone(child, false);
    if (clone == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *out_work = (struct work){ .kind = WORK_CHILD };
    out_work->child = clone;
    return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *out_type)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    if (out_type != NULL && handles_known(HANDLE_NODE, node))
        *out_type = graph_node_type(&node->work);
    else
        result = CUDA_ERROR_INVALID_VALUE;
    world_unlock();
    return result;
}

static bool is_kernel(CUgraphNode node)
{
    return handles_known(HANDLE_NODE, node) && node->work.kind == WORK_KERNEL;
}

// Expects the world's lock.
static CUresult get_kernel(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *out_params)
{
    if (out_params == NULL || !is_kernel(node))
        return CUDA_ERROR_INVALID_VALUE;
    const struct kernel_call *call = &node->work.kernel;
    *out_params = (CUDA_KERNEL_NODE_PARAMS){ .func = call->function,
                                             .gridDimX = call->grid[0],
                                             .gridDimY = call->grid[1],
                                             .gridDimZ = call->grid[2],
                                             .blockDimX = call->block[0],
                                             .blockDimY = call->block[1],
                                             .blockDimZ = call->block[2],
                                             .sharedMemBytes = call->shared_bytes,
                                             .ctx = node->work.context };
    launch_tell_arguments(call, &out_params->kernelParams, &out_params->extra);
    return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *out_params)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    result = get_kernel(node, out_params);
    world_unlock();
    return result;
}

CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *out_params)
{
    CUDA_KERNEL_NODE_PARAMS params;
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (out_params == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    world_lock();
    result = get_kernel(node, &params);
    world_unlock();
    if (result == CUDA_SUCCESS)
        memcpy(out_params, &params, sizeof(*out_params)); // the first members are the same
    return result;
}

CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D *out_params)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    if (out_params != NULL && handles_known(HANDLE_NODE, node) && node->work.kind == WORK_COPY)
        copy_to_3d(&node->work.copy, out_params);
    else
        result = CUDA_ERROR_INVALID_VALUE;
    world_unlock();
    return result;
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

CUresult cuGraphKernelNodeGetAttribute(CUgraphNode node, CUkernelNodeAttrID attribute,
                                       CUkernelNodeAttrValue *out_value)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    result = is_kernel(node) ? launch_get_attribute(&node->work, attribute, out_value)
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
