// SPDX-License-Identifier: Apache-2.0
// Executable graphs: instantiation, launch and changes between launches.
#include "parameters.h"

#include <stdlib.h>

// CUDA orders launches of one executable that are on different streams, AMD does not: it waits for
// the launch stream only. So there are two of them, which launches on different streams take in
// turn.
enum { NUM_TURNS = 2 };

struct hipGraphExec {
    CUgraphExec turns[NUM_TURNS];
    unsigned turn; // of the last launch
    hipStream_t stream;
};

static CUresult destroy_turns(hipGraphExec_t exec)
{
    CUresult first = CUDA_SUCCESS;
    for (int i = 0; i < NUM_TURNS; i++) {
        CUresult result = exec->turns[i] ? cuda.cuGraphExecDestroy(exec->turns[i]) : CUDA_SUCCESS;
        first = first ? first : result;
    }
    free(exec);
    return first;
}

hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t *out_exec, hipGraph_t graph,
                                        unsigned long long flags)
{
    if (!out_exec || !graph)
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_enter();
    if (result != CUDA_SUCCESS)
        return hip_finish(result);
    hipGraphExec_t exec = calloc(1, sizeof(*exec));
    if (!exec)
        return hip_fail(hipErrorOutOfMemory);
    for (int i = 0; i < NUM_TURNS && result == CUDA_SUCCESS; i++)
        result = cuda.cuGraphInstantiateWithFlags(&exec->turns[i], (CUgraph)graph, flags);
    if (result == CUDA_SUCCESS)
        *out_exec = exec;
    else
        (void)destroy_turns(exec);
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
    if (result != CUDA_SUCCESS)
        return hip_finish(result);
    if (exec->stream != stream)
        exec->turn = (exec->turn + 1) % NUM_TURNS;
    exec->stream = stream;
    return hip_finish(cuda.cuGraphLaunch(exec->turns[exec->turn], (CUstream)stream));
}

hipError_t hipGraphUpload(hipGraphExec_t exec, hipStream_t stream)
{
    if (!exec)
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_enter();
    for (int i = 0; i < NUM_TURNS && result == CUDA_SUCCESS; i++)
        result = cuda.cuGraphUpload(exec->turns[i], (CUstream)stream);
    return hip_finish(result);
}

hipError_t hipGraphExecDestroy(hipGraphExec_t exec)
{
    if (!exec)
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_enter();
    return hip_finish(result ? result : destroy_turns(exec));
}

hipError_t hipGraphExecUpdate(hipGraphExec_t exec, hipGraph_t graph, hipGraphNode_t *out_error_node,
                              hipGraphExecUpdateResult *out_result)
{
    if (!exec || !graph || !out_error_node || !out_result)
        return hip_fail(hipErrorInvalidValue);
    CUgraphNode error_node = NULL;
    CUgraphExecUpdateResult outcome = CU_GRAPH_EXEC_UPDATE_SUCCESS;
    CUresult result = cuda_enter();
    for (int i = 0; i < NUM_TURNS && result == CUDA_SUCCESS; i++)
        result = cuda.cuGraphExecUpdate(exec->turns[i], (CUgraph)graph, &error_node, &outcome);
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
    for (int i = 0; i < NUM_TURNS && result == CUDA_SUCCESS; i++)
        result = cuda.cuGraphExecKernelNodeSetParams(exec->turns[i], (CUgraphNode)node, &kernel);
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
    for (int i = 0; i < NUM_TURNS && result == CUDA_SUCCESS; i++)
        result =
            cuda.cuGraphExecMemsetNodeSetParams(exec->turns[i], (CUgraphNode)node, &fill, context);
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
    for (int i = 0; i < NUM_TURNS && result == CUDA_SUCCESS; i++)
        result =
            cuda.cuGraphExecMemcpyNodeSetParams(exec->turns[i], (CUgraphNode)node, &copy, context);
    return hip_finish(result);
}

hipError_t hipGraphExecHostNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node,
                                         const hipHostNodeParams *params)
{
    if (!exec || !node || !params)
        return hip_fail(hipErrorInvalidValue);
    CUDA_HOST_NODE_PARAMS host = { .fn = params->fn, .userData = params->userData };
    CUresult result = cuda_enter();
    for (int i = 0; i < NUM_TURNS && result == CUDA_SUCCESS; i++)
        result = cuda.cuGraphExecHostNodeSetParams(exec->turns[i], (CUgraphNode)node, &host);
    return hip_finish(result);
}

hipError_t hipGraphExecChildGraphNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node,
                                               hipGraph_t child)
{
    if (!exec || !node || !child)
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_enter();
    for (int i = 0; i < NUM_TURNS && result == CUDA_SUCCESS; i++)
        result = cuda.cuGraphExecChildGraphNodeSetParams(exec->turns[i], (CUgraphNode)node,
                                                         (CUgraph)child);
    return hip_finish(result);
}

hipError_t hipGraphNodeSetEnabled(hipGraphExec_t exec, hipGraphNode_t node, unsigned enabled)
{
    if (!exec || !node)
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_enter();
    for (int i = 0; i < NUM_TURNS && result == CUDA_SUCCESS; i++)
        result = cuda.cuGraphNodeSetEnabled(exec->turns[i], (CUgraphNode)node, enabled);
    return hip_finish(result);
}
