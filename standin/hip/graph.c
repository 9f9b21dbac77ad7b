// SPDX-License-Identifier: Apache-2.0
// Graphs and their nodes.
#include "parameters.h"

hipError_t hipGraphCreate(hipGraph_t *out_graph, unsigned flags)
{
    if (!out_graph || flags)
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_enter();
    return hip_finish(result ? result : cuda.cuGraphCreate((CUgraph *)out_graph, 0));
}

hipError_t hipGraphDestroy(hipGraph_t graph)
{
    if (!graph)
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_enter();
    return hip_finish(result ? result : cuda.cuGraphDestroy((CUgraph)graph));
}

hipError_t hipGraphClone(hipGraph_t *out_clone, hipGraph_t graph)
{
    if (!out_clone || !graph)
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_enter();
    return hip_finish(result ? result : cuda.cuGraphClone((CUgraph *)out_clone, (CUgraph)graph));
}

// Copies and fills name a context; it is the thread's current one, as cuda_enter left it.
static CUresult enter_and_get_context(CUcontext *out_context)
{
    CUresult result = cuda_enter();
    return result ? result : cuda.cuCtxGetCurrent(out_context);
}

hipError_t hipGraphAddEmptyNode(hipGraphNode_t *out_node, hipGraph_t graph,
                                const hipGraphNode_t *after, size_t num_after)
{
    if (!out_node || !graph)
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result = cuda.cuGraphAddEmptyNode((CUgraphNode *)out_node, (CUgraph)graph,
                                          (const CUgraphNode *)after, num_after);
    return hip_finish(result);
}

hipError_t hipGraphAddKernelNode(hipGraphNode_t *out_node, hipGraph_t graph,
                                 const hipGraphNode_t *after, size_t num_after,
                                 const hipKernelNodeParams *params)
{
    struct extra extra;
    CUDA_KERNEL_NODE_PARAMS_v1 kernel;
    if (!out_node || !graph || !params || !params->func ||
        !translate_kernel(params, &extra, &kernel))
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result = cuda.cuGraphAddKernelNode((CUgraphNode *)out_node, (CUgraph)graph,
                                           (const CUgraphNode *)after, num_after, &kernel);
    return hip_finish(result);
}

hipError_t hipGraphAddMemsetNode(hipGraphNode_t *out_node, hipGraph_t graph,
                                 const hipGraphNode_t *after, size_t num_after,
                                 const hipMemsetParams *params)
{
    if (!out_node || !graph || !params)
        return hip_fail(hipErrorInvalidValue);
    CUDA_MEMSET_NODE_PARAMS fill = translate_fill(params);
    CUcontext context;
    CUresult result = enter_and_get_context(&context);
    if (result == CUDA_SUCCESS)
        result = cuda.cuGraphAddMemsetNode((CUgraphNode *)out_node, (CUgraph)graph,
                                           (const CUgraphNode *)after, num_after, &fill, context);
    return hip_finish(result);
}

static hipError_t add_copy(hipGraphNode_t *out_node, hipGraph_t graph, const hipGraphNode_t *after,
                           size_t num_after, const CUDA_MEMCPY3D *copy)
{
    CUcontext context;
    CUresult result = enter_and_get_context(&context);
    if (result == CUDA_SUCCESS)
        result = cuda.cuGraphAddMemcpyNode((CUgraphNode *)out_node, (CUgraph)graph,
                                           (const CUgraphNode *)after, num_after, copy, context);
    return hip_finish(result);
}

hipError_t hipGraphAddMemcpyNode(hipGraphNode_t *out_node, hipGraph_t graph,
                                 const hipGraphNode_t *after, size_t num_after,
                                 const hipMemcpy3DParms *params)
{
    if (!out_node || !graph || !params || params->srcArray || params->dstArray)
        return hip_fail(hipErrorInvalidValue);
    CUDA_MEMCPY3D copy = translate_copy(params);
    return add_copy(out_node, graph, after, num_after, &copy);
}

hipError_t hipGraphAddMemcpyNode1D(hipGraphNode_t *out_node, hipGraph_t graph,
                                   const hipGraphNode_t *after, size_t num_after, void *to,
                                   const void *from, size_t num_bytes, hipMemcpyKind kind)
{
    if (!out_node || !graph || (unsigned)kind > (unsigned)hipMemcpyDefault)
        return hip_fail(hipErrorInvalidValue);
    CUDA_MEMCPY3D copy = linear_copy(to, from, num_bytes);
    return add_copy(out_node, graph, after, num_after, &copy);
}

hipError_t hipGraphAddHostNode(hipGraphNode_t *out_node, hipGraph_t graph,
                               const hipGraphNode_t *after, size_t num_after,
                               const hipHostNodeParams *params)
{
    if (!out_node || !graph || !params)
        return hip_fail(hipErrorInvalidValue);
    CUDA_HOST_NODE_PARAMS host = { .fn = params->fn, .userData = params->userData };
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result = cuda.cuGraphAddHostNode((CUgraphNode *)out_node, (CUgraph)graph,
                                         (const CUgraphNode *)after, num_after, &host);
    return hip_finish(result);
}

hipError_t hipGraphAddChildGraphNode(hipGraphNode_t *out_node, hipGraph_t graph,
                                     const hipGraphNode_t *after, size_t num_after,
                                     hipGraph_t child)
{
    if (!out_node || !graph || !child)
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result =
            cuda.cuGraphAddChildGraphNode((CUgraphNode *)out_node, (CUgraph)graph,
                                          (const CUgraphNode *)after, num_after, (CUgraph)child);
    return hip_finish(result);
}

hipError_t hipGraphAddEventRecordNode(hipGraphNode_t *out_node, hipGraph_t graph,
                                      const hipGraphNode_t *after, size_t num_after,
                                      hipEvent_t event)
{
    if (!out_node || !graph || !event)
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result =
            cuda.cuGraphAddEventRecordNode((CUgraphNode *)out_node, (CUgraph)graph,
                                           (const CUgraphNode *)after, num_after, (CUevent)event);
    return hip_finish(result);
}

hipError_t hipGraphAddEventWaitNode(hipGraphNode_t *out_node, hipGraph_t graph,
                                    const hipGraphNode_t *after, size_t num_after, hipEvent_t event)
{
    if (!out_node || !graph || !event)
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result =
            cuda.cuGraphAddEventWaitNode((CUgraphNode *)out_node, (CUgraph)graph,
                                         (const CUgraphNode *)after, num_after, (CUevent)event);
    return hip_finish(result);
}

hipError_t hipGraphAddDependencies(hipGraph_t graph, const hipGraphNode_t *from,
                                   const hipGraphNode_t *to, size_t count)
{
    if (!graph)
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result = cuda.cuGraphAddDependencies((CUgraph)graph, (const CUgraphNode *)from,
                                             (const CUgraphNode *)to, count);
    return hip_finish(result);
}

hipError_t hipGraphGetNodes(hipGraph_t graph, hipGraphNode_t *nodes, size_t *num_nodes)
{
    if (!graph || !num_nodes)
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result = cuda.cuGraphGetNodes((CUgraph)graph, (CUgraphNode *)nodes, num_nodes);
    return hip_finish(result);
}

hipError_t hipGraphGetRootNodes(hipGraph_t graph, hipGraphNode_t *nodes, size_t *num_nodes)
{
    if (!graph || !num_nodes)
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result = cuda.cuGraphGetRootNodes((CUgraph)graph, (CUgraphNode *)nodes, num_nodes);
    return hip_finish(result);
}

hipError_t hipGraphGetEdges(hipGraph_t graph, hipGraphNode_t *from, hipGraphNode_t *to,
                            size_t *num_edges)
{
    if (!graph || !num_edges)
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result =
            cuda.cuGraphGetEdges((CUgraph)graph, (CUgraphNode *)from, (CUgraphNode *)to, num_edges);
    return hip_finish(result);
}
