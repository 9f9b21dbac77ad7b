// SPDX-License-Identifier: Apache-2.0
// Entry points that tell what a node of a graph does.
#include <string.h>

#include "condition.h"
#include "copy.h"
#include "entry.h"
#include "graph.h"
#include "graph_memory.h"
#include "handles.h"
#include "launch.h"
#include "report.h"
#include "settings.h"

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
    // Driver 580 tells a library's kernel both ways: who makes a node of it again makes the
    // function.
    *out_params = (CUDA_KERNEL_NODE_PARAMS){ .func = call->function,
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
    if (result == CUDA_SUCCESS)
        memcpy(out_params, &params, sizeof(*out_params)); // the first members are the same
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

// Expects the world's lock.
static bool is_semaphore(CUgraphNode node, bool signals)
{
    return is(node, WORK_SEMAPHORE) && node->work.semaphore.signals == signals;
}

CUresult cuGraphExternalSemaphoresSignalNodeGetParams(CUgraphNode node,
                                                      CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *out_params)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    if (out_params != NULL && is_semaphore(node, true)) {
        node->signal = (CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS){ 0 };
        node->signal.params.fence.value = node->work.semaphore.value;
        *out_params =
            (CUDA_EXT_SEM_SIGNAL_NODE_PARAMS){ &node->work.semaphore.semaphore, &node->signal, 1 };
    } else {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    world_unlock();
    return result;
}

CUresult cuGraphExternalSemaphoresWaitNodeGetParams(CUgraphNode node,
                                                    CUDA_EXT_SEM_WAIT_NODE_PARAMS *out_params)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    if (out_params != NULL && is_semaphore(node, false)) {
        node->wait = (CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS){ 0 };
        node->wait.params.fence.value = node->work.semaphore.value;
        *out_params =
            (CUDA_EXT_SEM_WAIT_NODE_PARAMS){ &node->work.semaphore.semaphore, &node->wait, 1 };
    } else {
        result = CUDA_ERROR_INVALID_VALUE;
    }
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

enum { FIRST_WITH_PARAMS = 13020 };

static void get_fill_with_context(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS_v2 *out_params)
{
    CUDA_MEMSET_NODE_PARAMS params;
    get_fill(node, &params);
    memcpy(out_params, &params, sizeof(params)); // the first members are the same
    out_params->ctx = node->work.context;
}

static void get_conditional(CUgraphNode node, CUDA_CONDITIONAL_NODE_PARAMS *out_params)
{
    struct work *work = &node->work;
    *out_params = (CUDA_CONDITIONAL_NODE_PARAMS){
        .handle = condition_handle(work->conditional.condition),
        .type = work->conditional.is_loop ? CU_GRAPH_COND_TYPE_WHILE : CU_GRAPH_COND_TYPE_IF,
        .size = work->conditional.num_bodies,
        .phGraph_out = work->conditional.bodies,
        .ctx = work->context,
    };
}

// Expects the world's lock. The node is known.
static void get_params(CUgraphNode node, CUgraphNodeParams *out_params)
{
    const struct work *work = &node->work;
    *out_params = (CUgraphNodeParams){ .type = graph_node_type(work) };
    switch (out_params->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        get_kernel(node, &out_params->kernel);
        return;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        out_params->memcpy.copyCtx = work->context;
        get_copy(node, &out_params->memcpy.copyParams);
        return;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        get_fill_with_context(node, &out_params->memset);
        return;
    case CU_GRAPH_NODE_TYPE_HOST:
        get_host(node, &out_params->host);
        return;
    case CU_GRAPH_NODE_TYPE_GRAPH:
        out_params->graph.graph = work->child;
        return;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        out_params->eventWait.event = work->event;
        return;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        out_params->eventRecord.event = work->event;
        return;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        graph_memory_tell(node, &out_params->alloc);
        return;
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        out_params->free.dptr = (CUdeviceptr)(uintptr_t)work->reserved.memory;
        return;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        get_batch(node, &out_params->memOp);
        return;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        get_conditional(node, &out_params->conditional);
        return;
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT: // untold
    case CU_GRAPH_NODE_TYPE_EMPTY:
        return;
    }
}

// Drivers have it from 13.2 on.
CUresult cuGraphNodeGetParams(CUgraphNode node, CUgraphNodeParams *out_params)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (setting(SETTING_VERSION) < FIRST_WITH_PARAMS) {
        complain("%s called, which this version of the driver lacks", __func__);
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    world_lock();
    if (out_params != NULL && handles_known(HANDLE_NODE, node))
        get_params(node, out_params);
    else
        result = CUDA_ERROR_INVALID_VALUE;
    world_unlock();
    return result;
}
