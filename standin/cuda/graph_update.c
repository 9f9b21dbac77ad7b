// SPDX-License-Identifier: Apache-2.0
// Entry points that change an executable graph: one node's parameters, or all from another graph.
#include "copy.h"
#include "entry.h"
#include "graph.h"
#include "graph_exec.h"
#include "graph_node.h"
#include "handles.h"

// Takes the work over. It must be of the kind that the node has. Expects the world's lock.
static CUresult replace(CUgraphExec exec, CUgraphNode node, struct work *work)
{
    CUresult result = work_check(work);
    CUgraphNode own = result == CUDA_SUCCESS ? graph_exec_writable(exec, node, &result) : NULL;
    if (own == NULL || own->work.kind != work->kind) {
        work_finish(work);
        return own == NULL ? result : CUDA_ERROR_INVALID_VALUE;
    }
    if (work->context == NULL)
        work->context = own->work.context;
    if (work->kind == WORK_KERNEL)
        work->kernel.attributes = own->work.kernel.attributes;
    work_finish(&own->work);
    own->work = *work;
    return CUDA_SUCCESS;
}

static CUresult set_kernel(CUgraphExec exec, CUgraphNode node, const struct launch_shape *shape)
{
    struct work work;
    world_lock();
    CUresult result = launch_prepare(shape, &work);
    if (result == CUDA_SUCCESS)
        result = replace(exec, node, &work);
    world_unlock();
    return result;
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS *params)
{
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (params == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    const struct launch_shape shape = node_shape_v2(params);
    return set_kernel(exec, node, &shape);
}

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (params == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    const struct launch_shape shape = node_shape_v1(params);
    return set_kernel(exec, node, &shape);
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_MEMCPY3D *copy, CUcontext context)
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
        result = replace(exec, node, &work);
    world_unlock();
    return result;
}

CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_MEMSET_NODE_PARAMS *fill, CUcontext context)
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
        result = replace(exec, node, &work);
    world_unlock();
    return result;
}

CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                      const CUDA_HOST_NODE_PARAMS *params)
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
    result = replace(exec, node, &work);
    world_unlock();
    return result;
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child)
{
    struct work work;
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    result = node_child_work(child, false, &work);
    if (result == CUDA_SUCCESS && handles_known(HANDLE_EXEC, exec))
        graph_exec_set_context(work.child, exec->context);
    if (result == CUDA_SUCCESS)
        result = replace(exec, node, &work);
    world_unlock();
    return result;
}

// The driver does it for these alone.
static bool can_be_disabled(CUgraphNode node)
{
    enum work_kind kind = node->work.kind;
    return kind == WORK_KERNEL || kind == WORK_COPY || kind == WORK_FILL;
}

CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned enabled)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    CUgraphNode own = graph_exec_writable(exec, node, &result);
    if (own != NULL) {
        result = can_be_disabled(own) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
        own->enabled = result == CUDA_SUCCESS ? enabled != 0 : own->enabled;
    }
    world_unlock();
    return result;
}

CUresult cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode node, unsigned *out_enabled)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    bool known = handles_known(HANDLE_EXEC, exec) && handles_known(HANDLE_NODE, node);
    CUgraphNode own = known ? graph_find(exec->plan, node) : NULL;
    if (own != NULL && out_enabled != NULL)
        *out_enabled = own->enabled;
    else
        result = CUDA_ERROR_INVALID_VALUE;
    world_unlock();
    return result;
}

static bool same_edges(CUgraphNode a, CUgraphNode b)
{
    if (a->num_before != b->num_before)
        return false;
    for (size_t i = 0; i < a->num_before; i++)
        if (a->before[i].from->index != b->before[i].from->index)
            return false;
    return true;
}

static CUgraphExecUpdateResultInfo compare(CUgraph plan, CUgraph graph)
{
    CUgraphExecUpdateResultInfo info = { .result = CU_GRAPH_EXEC_UPDATE_SUCCESS };
    if (plan->num_nodes != graph->num_nodes)
        info.result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    for (size_t i = 0; info.result == CU_GRAPH_EXEC_UPDATE_SUCCESS && i < graph->num_nodes; i++) {
        CUgraphNode node = graph->nodes[i];
        if (plan->nodes[i]->work.kind != node->work.kind)
            info.result = CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
        else if (!same_edges(plan->nodes[i], node))
            info.result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
        else
            continue;
        info.errorNode = node;
    }
    return info;
}

// The plan becomes a clone of the other graph, which must have the same nodes and edges in the
// same order. Nodes of the first graph go on naming those of the exec.
static CUresult update(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *out_info)
{
    if (!handles_known(HANDLE_EXEC, exec) || !handles_known(HANDLE_GRAPH, graph))
        return CUDA_ERROR_INVALID_VALUE;
    if (graph_has_conditions(graph) || graph_has_memory(graph))
        return CUDA_ERROR_NOT_SUPPORTED; // here alone; driver 580 does it for both
    *out_info = compare(exec->plan, graph);
    if (out_info->result != CU_GRAPH_EXEC_UPDATE_SUCCESS)
        return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    CUgraph clone = graph_clone(graph, false);
    if (clone == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    clone->family = exec->plan->family;
    for (size_t i = 0; i < clone->num_nodes; i++) {
        clone->nodes[i]->id = exec->plan->nodes[i]->id;
        clone->nodes[i]->enabled = exec->plan->nodes[i]->enabled;
    }
    graph_exec_set_context(clone, exec->context);
    graph_drop(exec->plan);
    exec->plan = clone;
    return CUDA_SUCCESS;
}

CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph,
                              CUgraphExecUpdateResultInfo *out_info)
{
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (out_info == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *out_info = (CUgraphExecUpdateResultInfo){ .result = CU_GRAPH_EXEC_UPDATE_ERROR };
    world_lock();
    result = update(exec, graph, out_info);
    world_unlock();
    return result;
}

CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *out_error_node,
                           CUgraphExecUpdateResult *out_result)
{
    CUgraphExecUpdateResultInfo info = { .result = CU_GRAPH_EXEC_UPDATE_ERROR };
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    result = update(exec, graph, &info);
    world_unlock();
    if (out_error_node != NULL)
        *out_error_node = info.errorNode;
    if (out_result != NULL)
        *out_result = info.result;
    return result;
}
