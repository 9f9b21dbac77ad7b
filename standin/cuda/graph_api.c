// SPDX-License-Identifier: Apache-2.0
// Entry points that build graphs: create, clone, and add nodes of each kind.
#include "copy.h"
#include "entry.h"
#include "event.h"
#include "graph.h"
#include "graph_node.h"
#include "handles.h"
#include "launch.h"

CUresult cuGraphCreate(CUgraph *out_graph, unsigned flags)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (out_graph == NULL || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    world_lock();
    CUgraph graph = graph_create(true);
    world_unlock();
    if (graph == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *out_graph = graph;
    return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph graph)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    if (handles_known(HANDLE_GRAPH, graph) && !graph->is_body && !graph->is_child)
        graph_drop(graph);
    else
        result = CUDA_ERROR_INVALID_VALUE;
    world_unlock();
    return result;
}

CUresult cuGraphClone(CUgraph *out_graph, CUgraph graph)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    bool known = out_graph != NULL && handles_known(HANDLE_GRAPH, graph);
    bool has_more = known && (graph_has_conditions(graph) || graph_has_memory(graph));
    CUgraph clone = known && !has_more ? graph_clone(graph, true) : NULL;
    world_unlock();
    if (has_more)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (clone == NULL)
        return known ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
    *out_graph = clone;
    return CUDA_SUCCESS;
}

// The common end of every cuGraphAdd*Node: takes the work over. Expects the world's lock.
static CUresult add(CUgraphNode *out_node, CUgraph graph, const CUgraphNode *after,
                    size_t num_after, struct work *work)
{
    if (out_node == NULL || (after == NULL && num_after > 0) ||
        !handles_known(HANDLE_GRAPH, graph)) {
        work_finish(work);
        return CUDA_ERROR_INVALID_VALUE;
    }
    return graph_add(graph, work, after, NULL, num_after, out_node);
}

CUresult cuGraphAddEmptyNode(CUgraphNode *out_node, CUgraph graph, const CUgraphNode *after,
                             size_t num_after)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    struct work work = { .kind = WORK_EMPTY };
    world_lock();
    result = add(out_node, graph, after, num_after, &work);
    world_unlock();
    return result;
}

static CUresult add_kernel(CUgraphNode *out_node, CUgraph graph, const CUgraphNode *after,
                           size_t num_after, const struct launch_shape *shape)
{
    struct work work;
    world_lock();
    CUresult result = launch_prepare(shape, &work);
    if (result == CUDA_SUCCESS)
        result = add(out_node, graph, after, num_after, &work);
    world_unlock();
    return result;
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode *out_node, CUgraph graph, const CUgraphNode *after,
                                 size_t num_after, const CUDA_KERNEL_NODE_PARAMS *params)
{
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (params == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    const struct launch_shape shape = node_shape_v2(params);
    return add_kernel(out_node, graph, after, num_after, &shape);
}

CUresult cuGraphAddKernelNode(CUgraphNode *out_node, CUgraph graph, const CUgraphNode *after,
                              size_t num_after, const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (params == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    const struct launch_shape shape = node_shape_v1(params);
    return add_kernel(out_node, graph, after, num_after, &shape);
}

CUresult cuGraphAddMemcpyNode(CUgraphNode *out_node, CUgraph graph, const CUgraphNode *after,
                              size_t num_after, const CUDA_MEMCPY3D *copy, CUcontext context)
{
    struct work work;
    CUresult result = entry_begin(__func__);
    if (result == CUDA_SUCCESS)
        result = copy_from_3d(copy, &work);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    result = node_set_context(&work, context);
    if (result == CUDA_SUCCESS)
        result = add(out_node, graph, after, num_after, &work);
    world_unlock();
    return result;
}

CUresult cuGraphAddMemsetNode(CUgraphNode *out_node, CUgraph graph, const CUgraphNode *after,
                              size_t num_after, const CUDA_MEMSET_NODE_PARAMS *fill,
                              CUcontext context)
{
    struct work work;
    CUresult result = entry_begin(__func__);
    if (result == CUDA_SUCCESS)
        result = fill_from_node(fill, &work);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    result = node_set_context(&work, context);
    if (result == CUDA_SUCCESS)
        result = add(out_node, graph, after, num_after, &work);
    world_unlock();
    return result;
}

CUresult cuGraphAddHostNode(CUgraphNode *out_node, CUgraph graph, const CUgraphNode *after,
                            size_t num_after, const CUDA_HOST_NODE_PARAMS *params)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (params == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    struct work work = { .kind = WORK_HOST };
    work.host.call = params->fn;
    work.host.user = params->userData;
    world_lock();
    result = add(out_node, graph, after, num_after, &work);
    world_unlock();
    return result;
}

// The node has one operation, a wait or a write.
CUresult cuGraphAddBatchMemOpNode(CUgraphNode *out_node, CUgraph graph, const CUgraphNode *after,
                                  size_t num_after, const CUDA_BATCH_MEM_OP_NODE_PARAMS *params)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (params == NULL || params->count == 0 || params->paramArray == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    struct work work;
    result =
        params->count > 1 ? CUDA_ERROR_NOT_SUPPORTED : node_value_work(params->paramArray, &work);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    result = node_set_context(&work, params->ctx);
    if (result == CUDA_SUCCESS)
        result = add(out_node, graph, after, num_after, &work);
    world_unlock();
    return result;
}

CUresult cuGraphAddChildGraphNode(CUgraphNode *out_node, CUgraph graph, const CUgraphNode *after,
                                  size_t num_after, CUgraph child)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    struct work work;
    world_lock();
    result = node_child_work(child, true, &work);
    if (result == CUDA_SUCCESS)
        result = add(out_node, graph, after, num_after, &work);
    world_unlock();
    return result;
}

static CUresult add_event(const char *function, enum work_kind kind, CUgraphNode *out_node,
                          CUgraph graph, const CUgraphNode *after, size_t num_after, CUevent event)
{
    CUresult result = entry_begin(function);
    if (result != CUDA_SUCCESS)
        return result;
    struct work work = { .kind = kind };
    work.event = event;
    world_lock();
    result = handles_known(HANDLE_EVENT, event) ? add(out_node, graph, after, num_after, &work)
                                                : CUDA_ERROR_INVALID_VALUE;
    world_unlock();
    return result;
}

CUresult cuGraphAddEventRecordNode(CUgraphNode *out_node, CUgraph graph, const CUgraphNode *after,
                                   size_t num_after, CUevent event)
{
    return add_event(__func__, WORK_EVENT_RECORD, out_node, graph, after, num_after, event);
}

CUresult cuGraphAddEventWaitNode(CUgraphNode *out_node, CUgraph graph, const CUgraphNode *after,
                                 size_t num_after, CUevent event)
{
    return add_event(__func__, WORK_EVENT_WAIT, out_node, graph, after, num_after, event);
}

CUresult cuGraphDestroyNode(CUgraphNode node)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    if (!handles_known(HANDLE_NODE, node))
        result = CUDA_ERROR_INVALID_VALUE;
    else if (graph_has_memory(node->graph))
        result = CUDA_ERROR_NOT_SUPPORTED;
    else
        graph_remove(node);
    world_unlock();
    return result;
}
