// SPDX-License-Identifier: Apache-2.0
// Executable graphs: instantiation, launch and changes between launches.
#include "parameters.h"

hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t *out_exec, hipGraph_t graph,
                                        unsigned long long flags)
{
    if (!out_exec || !graph)
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result = cuda.cuGraphInstantiateWithFlags((CUgraphExec *)out_exec, (CUgraph)graph, flags);
    return hip_finish(result);
}

hipError_t hipGraphInstantiate(hipGraphExec_t *out_exec, hipGraph_t graph,
                               hipGraphNode_t *out_error_node, char *log, size_t log_bytes)
{
    if (out_error_node)
        *out_error_node = NULL;
    if (log && log_bytes)
        log[0] = '\0';
    return hipGraphInstantiateWithFlags(out_exec, graph, 0);
}

hipError_t hipGraphLaunch(hipGraphExec_t exec, hipStream_t stream)
{
    if (!exec)
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_enter();
    return hip_finish(result ? result : cuda.cuGraphLaunch((CUgraphExec)exec, (CUstream)stream));
}

hipError_t hipGraphUpload(hipGraphExec_t exec, hipStream_t stream)
{
    if (!exec)
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_enter();
    return hip_finish(result ? result : cuda.cuGraphUpload((CUgraphExec)exec, (CUstream)stream));
}

hipError_t hipGraphExecDestroy(hipGraphExec_t exec)
{
    if (!exec)
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_enter();
    return hip_finish(result ? result : cuda.cuGraphExecDestroy((CUgraphExec)exec));
}

hipError_t hipGraphExecUpdate(hipGraphExec_t exec, hipGraph_t graph, hipGraphNode_t *out_error_node,
                              hipGraphExecUpdateResult *out_result)
{
    if (!exec || !graph || !out_error_node || !out_result)
        return hip_fail(hipErrorInvalidValue);
    CUgraphNode error_node = NULL;
    CUgraphExecUpdateResult outcome = CU_GRAPH_EXEC_UPDATE_SUCCESS;
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result = cuda.cuGraphExecUpdate((CUgraphExec)exec, (CUgraph)graph, &error_node, &outcome);
    // CUDA has more outcomes, with higher numbers.
    bool known = (int)outcome <= (int)hipGraphExecUpdateErrorUnsupportedFunctionChange;
    *out_error_node = (hipGraphNode_t)error_node;
    *out_result = known ? (hipGraphExecUpdateResult)(int)outcome : hipGraphExecUpdateError;
    return hip_finish(result);
}

hipError_t hipGraphExecKernelNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node,
                                           const hipKernelNodeParams *params)
{
    struct extra extra;
    CUDA_KERNEL_NODE_PARAMS_v1 kernel;
    if (!exec || !node || !params || !translate_kernel(params, &extra, &kernel))
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result = cuda.cuGraphExecKernelNodeSetParams((CUgraphExec)exec, (CUgraphNode)node, &kernel);
    return hip_finish(result);
}

hipError_t hipGraphExecMemsetNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node,
                                           const hipMemsetParams *params)
{
    if (!exec || !node || !params)
        return hip_fail(hipErrorInvalidValue);
    CUDA_MEMSET_NODE_PARAMS fill = translate_fill(params);
    CUcontext context;
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result = cuda.cuCtxGetCurrent(&context);
    if (result == CUDA_SUCCESS)
        result = cuda.cuGraphExecMemsetNodeSetParams((CUgraphExec)exec, (CUgraphNode)node, &fill,
                                                     context);
    return hip_finish(result);
}

hipError_t hipGraphExecMemcpyNodeSetParams1D(hipGraphExec_t exec, hipGraphNode_t node, void *to,
                                             const void *from, size_t num_bytes, hipMemcpyKind kind)
{
    if (!exec || !node || (unsigned)kind > (unsigned)hipMemcpyDefault)
        return hip_fail(hipErrorInvalidValue);
    CUDA_MEMCPY3D copy = linear_copy(to, from, num_bytes);
    CUcontext context;
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result = cuda.cuCtxGetCurrent(&context);
    if (result == CUDA_SUCCESS)
        result = cuda.cuGraphExecMemcpyNodeSetParams((CUgraphExec)exec, (CUgraphNode)node, &copy,
                                                     context);
    return hip_finish(result);
}

hipError_t hipGraphExecHostNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node,
                                         const hipHostNodeParams *params)
{
    if (!exec || !node || !params)
        return hip_fail(hipErrorInvalidValue);
    CUDA_HOST_NODE_PARAMS host = { .fn = params->fn, .userData = params->userData };
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result = cuda.cuGraphExecHostNodeSetParams((CUgraphExec)exec, (CUgraphNode)node, &host);
    return hip_finish(result);
}

hipError_t hipGraphExecChildGraphNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node,
                                               hipGraph_t child)
{
    if (!exec || !node || !child)
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result = cuda.cuGraphExecChildGraphNodeSetParams((CUgraphExec)exec, (CUgraphNode)node,
                                                         (CUgraph)child);
    return hip_finish(result);
}
