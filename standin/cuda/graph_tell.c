// SPDX-License-Identifier: Apache-2.0
// Entry points that tell what a node of a graph does.
#include <string.h>

#include "copy.h"
#include "entry.h"
#include "graph.h"
#include "handles.h"
#include "launch.h"

static bool is(CUgraphNode node, enum work_kind kind)
{
    return handles_known(HANDLE_NODE, node) && node->work.kind == kind;
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

// Expects the world's lock.
static CUresult get_kernel(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *out_params)
{
    if (out_params == NULL || !is(node, WORK_KERNEL))
        return CUDA_ERROR_INVALID_VALUE;
    const struct kernel_call *call = &node->work.kernel;
    *out_params = (CUDA_KERNEL_NODE_PARAMS){ .func = call->kernel != NULL ? NULL : call->function,
                                             .kern = call->kernel,
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
    if (result == CUDA_SUCCESS) {
        memcpy(out_params, &params, sizeof(*out_params)); // the first members are the same
        out_params->func = node->work.kernel.function;    // no member can name a kernel
    }
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
    result = is(node, WORK_KERNEL) ? launch_get_attribute(&node->work, attribute, out_value)
                                   : CUDA_ERROR_INVALID_VALUE;
    world_unlock();
    return result;
}

// Expects the world's lock.
static CUresult get_copy(CUgraphNode node, CUDA_MEMCPY3D *out_params)
{
    if (out_params == NULL || !is(node, WORK_COPY))
        return CUDA_ERROR_INVALID_VALUE;
    copy_to_3d(&node->work.copy, out_params);
    return CUDA_SUCCESS;
}

CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D *out_params)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    result = get_copy(node, out_params);
    world_unlock();
    return result;
}

// Expects the world's lock.
static CUresult get_fill(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *out_params)
{
    if (out_params == NULL || !is(node, WORK_FILL))
        return CUDA_ERROR_INVALID_VALUE;
    const struct fill *fill = &node->work.fill;
    *out_params = (CUDA_MEMSET_NODE_PARAMS){ .dst = (CUdeviceptr)(uintptr_t)fill->to,
                                             .pitch = fill->pitch,
                                             .value = fill->value,
                                             .elementSize = fill->element_bytes,
                                             .width = fill->width,
                                             .height = fill->height };
    return CUDA_SUCCESS;
}

CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *out_params)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    result = get_fill(node, out_params);
    world_unlock();
    return result;
}

// Expects the world's lock.
static CUresult get_host(CUgraphNode node, CUDA_HOST_NODE_PARAMS *out_params)
{
    if (out_params == NULL || !is(node, WORK_HOST))
        return CUDA_ERROR_INVALID_VALUE;
    *out_params = (CUDA_HOST_NODE_PARAMS){ node->work.host.call, node->work.host.user };
    return CUDA_SUCCESS;
}

CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS *out_params)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    result = get_host(node, out_params);
    world_unlock();
    return result;
}

// Expects the world's lock. The node owns the operation that is told.
static CUresult get_batch(CUgraphNode node, CUDA_BATCH_MEM_OP_NODE_PARAMS *out_params)
{
    bool waits = is(node, WORK_WAIT_VALUE);
    if (out_params == NULL || (!waits && !is(node, WORK_WRITE_VALUE)))
        return CUDA_ERROR_INVALID_VALUE;
    unsigned operation = waits ? CU_STREAM_MEM_OP_WAIT_VALUE_32 : CU_STREAM_MEM_OP_WRITE_VALUE_32;
    node->operation = (CUstreamBatchMemOpParams){ .pad = { 0 } };
    node->operation.waitValue.operation = operation;
    node->operation.waitValue.address = (CUdeviceptr)(uintptr_t)node->work.value.at;
    node->operation.waitValue.value = node->work.value.value;
    node->operation.waitValue.flags = node->work.value.flags;
    *out_params = (CUDA_BATCH_MEM_OP_NODE_PARAMS){ .ctx = node->work.context,
                                                   .count = 1,
                                                   .paramArray = &node->operation };
    return CUDA_SUCCESS;
}

CUresult cuGraphBatchMemOpNodeGetParams(CUgraphNode node, CUDA_BATCH_MEM_OP_NODE_PARAMS *out_params)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    result = get_batch(node, out_params);
    world_unlock();
    return result;
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *out_graph)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    if (out_graph != NULL && is(node, WORK_CHILD))
        *out_graph = node->work.child;
    else
        result = CUDA_ERROR_INVALID_VALUE;
    world_unlock();
    return result;
}

static CUresult get_event(const char *function, CUgraphNode node, enum work_kind kind,
                          CUevent *out_event)
{
    CUresult result = entry_begin(function);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    if (out_event != NULL && is(node, kind))
        *out_event = node->work.event;
    else
        result = CUDA_ERROR_INVALID_VALUE;
    world_unlock();
    return result;
}

CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent *out_event)
{
    return get_event(__func__, node, WORK_EVENT_RECORD, out_event);
}

CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent *out_event)
{
    return get_event(__func__, node, WORK_EVENT_WAIT, out_event);
}
