// SPDX-License-Identifier: Apache-2.0
// Sizes and offsets that the stand-in's types share with the vendor's: one list, compiled once
// with either header, and compared (abi_matches_cuda_h.c).
#ifndef BRAID_STANDIN_ABI_FACTS_H
#define BRAID_STANDIN_ABI_FACTS_H

#include <stddef.h>

struct abi_fact {
    const char *text;
    size_t value;
};

extern const struct abi_fact abi_facts_ours[], abi_facts_theirs[];
extern const size_t abi_num_facts_ours, abi_num_facts_theirs;

#define ABI_SIZES(X)                                                                               \
    X(CUresult)                                                                                    \
    X(CUdevice)                                                                                    \
    X(CUdeviceptr)                                                                                 \
    X(CUuuid)                                                                                      \
    X(CUDA_MEMCPY2D)                                                                               \
    X(CUDA_MEMCPY3D)                                                                               \
    X(CUDA_KERNEL_NODE_PARAMS_v1)                                                                  \
    X(CUDA_KERNEL_NODE_PARAMS)                                                                     \
    X(CUDA_MEMSET_NODE_PARAMS)                                                                     \
    X(CUstreamBatchMemOpParams)                                                                    \
    X(CUDA_BATCH_MEM_OP_NODE_PARAMS)                                                               \
    X(CUDA_EXT_SEM_SIGNAL_NODE_PARAMS)                                                             \
    X(CUDA_EXT_SEM_WAIT_NODE_PARAMS)                                                               \
    X(CUDA_HOST_NODE_PARAMS)                                                                       \
    X(CUDA_GRAPH_INSTANTIATE_PARAMS)                                                               \
    X(CUDA_CONDITIONAL_NODE_PARAMS)                                                                \
    X(CUDA_MEMCPY_NODE_PARAMS)                                                                     \
    X(CUDA_MEMSET_NODE_PARAMS_v2)                                                                  \
    X(CUDA_MEM_FREE_NODE_PARAMS)                                                                   \
    X(CUgraphNodeParams)                                                                           \
    X(CUgraphEdgeData)                                                                             \
    X(CUgraphExecUpdateResultInfo)                                                                 \
    X(CUaccessPolicyWindow)                                                                        \
    X(CUlaunchMemSyncDomainMap)                                                                    \
    X(CUlaunchAttributeValue)                                                                      \
    X(CUlaunchAttribute)                                                                           \
    X(CUlaunchConfig)                                                                              \
    X(CUmemAccessDesc)                                                                             \
    X(CUmemAllocationProp)                                                                         \
    X(CUDA_MEM_ALLOC_NODE_PARAMS)                                                                  \
    X(CUmemPoolProps)

#define ABI_OFFSETS(X)                                                                             \
    X(CUDA_MEMCPY2D, srcMemoryType)                                                                \
    X(CUDA_MEMCPY2D, srcDevice)                                                                    \
    X(CUDA_MEMCPY2D, srcPitch)                                                                     \
    X(CUDA_MEMCPY2D, dstMemoryType)                                                                \
    X(CUDA_MEMCPY2D, dstHost)                                                                      \
    X(CUDA_MEMCPY2D, dstDevice)                                                                    \
    X(CUDA_MEMCPY2D, dstPitch)                                                                     \
    X(CUDA_MEMCPY2D, WidthInBytes)                                                                 \
    X(CUDA_MEMCPY2D, Height)                                                                       \
    X(CUDA_MEMCPY3D, srcMemoryType)                                                                \
    X(CUDA_MEMCPY3D, srcHost)                                                                      \
    X(CUDA_MEMCPY3D, srcDevice)                                                                    \
    X(CUDA_MEMCPY3D, srcPitch)                                                                     \
    X(CUDA_MEMCPY3D, srcHeight)                                                                    \
    X(CUDA_MEMCPY3D, dstXInBytes)                                                                  \
    X(CUDA_MEMCPY3D, dstMemoryType)                                                                \
    X(CUDA_MEMCPY3D, dstHost)                                                                      \
    X(CUDA_MEMCPY3D, dstDevice)                                                                    \
    X(CUDA_MEMCPY3D, dstPitch)                                                                     \
    X(CUDA_MEMCPY3D, dstHeight)                                                                    \
    X(CUDA_MEMCPY3D, WidthInBytes)                                                                 \
    X(CUDA_MEMCPY3D, Depth)                                                                        \
    X(CUDA_KERNEL_NODE_PARAMS_v1, sharedMemBytes)                                                  \
    X(CUDA_KERNEL_NODE_PARAMS_v1, kernelParams)                                                    \
    X(CUDA_KERNEL_NODE_PARAMS_v1, extra)                                                           \
    X(CUDA_KERNEL_NODE_PARAMS, gridDimX)                                                           \
    X(CUDA_KERNEL_NODE_PARAMS, blockDimX)                                                          \
    X(CUDA_KERNEL_NODE_PARAMS, sharedMemBytes)                                                     \
    X(CUDA_KERNEL_NODE_PARAMS, kernelParams)                                                       \
    X(CUDA_KERNEL_NODE_PARAMS, extra)                                                              \
    X(CUDA_KERNEL_NODE_PARAMS, kern)                                                               \
    X(CUDA_KERNEL_NODE_PARAMS, ctx)                                                                \
    X(CUDA_MEMSET_NODE_PARAMS, dst)                                                                \
    X(CUDA_MEMSET_NODE_PARAMS, pitch)                                                              \
    X(CUDA_MEMSET_NODE_PARAMS, value)                                                              \
    X(CUDA_MEMSET_NODE_PARAMS, elementSize)                                                        \
    X(CUDA_MEMSET_NODE_PARAMS, width)                                                              \
    X(CUDA_MEMSET_NODE_PARAMS, height)                                                             \
    X(CUstreamBatchMemOpParams, waitValue.address)                                                 \
    X(CUstreamBatchMemOpParams, waitValue.value)                                                   \
    X(CUstreamBatchMemOpParams, waitValue.flags)                                                   \
    X(CUDA_CONDITIONAL_NODE_PARAMS, type)                                                          \
    X(CUDA_CONDITIONAL_NODE_PARAMS, size)                                                          \
    X(CUDA_CONDITIONAL_NODE_PARAMS, phGraph_out)                                                   \
    X(CUDA_CONDITIONAL_NODE_PARAMS, ctx)                                                           \
    X(CUDA_MEMCPY_NODE_PARAMS, copyCtx)                                                            \
    X(CUDA_MEMCPY_NODE_PARAMS, copyParams)                                                         \
    X(CUDA_MEMSET_NODE_PARAMS_v2, ctx)                                                             \
    X(CUgraphNodeParams, kernel)                                                                   \
    X(CUgraphNodeParams, memcpy)                                                                   \
    X(CUgraphNodeParams, memset)                                                                   \
    X(CUgraphNodeParams, host)                                                                     \
    X(CUgraphNodeParams, graph.graph)                                                              \
    X(CUgraphNodeParams, eventWait.event)                                                          \
    X(CUgraphNodeParams, eventRecord.event)                                                        \
    X(CUgraphNodeParams, alloc)                                                                    \
    X(CUgraphNodeParams, free)                                                                     \
    X(CUgraphNodeParams, memOp)                                                                    \
    X(CUgraphNodeParams, conditional)                                                              \
    X(CUDA_BATCH_MEM_OP_NODE_PARAMS, count)                                                        \
    X(CUDA_BATCH_MEM_OP_NODE_PARAMS, paramArray)                                                   \
    X(CUDA_BATCH_MEM_OP_NODE_PARAMS, flags)                                                        \
    X(CUDA_EXT_SEM_SIGNAL_NODE_PARAMS, extSemArray)                                                \
    X(CUDA_EXT_SEM_SIGNAL_NODE_PARAMS, paramsArray)                                                \
    X(CUDA_EXT_SEM_SIGNAL_NODE_PARAMS, numExtSems)                                                 \
    X(CUDA_EXT_SEM_WAIT_NODE_PARAMS, extSemArray)                                                  \
    X(CUDA_EXT_SEM_WAIT_NODE_PARAMS, paramsArray)                                                  \
    X(CUDA_EXT_SEM_WAIT_NODE_PARAMS, numExtSems)                                                   \
    X(CUDA_HOST_NODE_PARAMS, fn)                                                                   \
    X(CUDA_HOST_NODE_PARAMS, userData)                                                             \
    X(CUDA_GRAPH_INSTANTIATE_PARAMS, hUploadStream)                                                \
    X(CUDA_GRAPH_INSTANTIATE_PARAMS, result_out)                                                   \
    X(CUgraphEdgeData, from_port)                                                                  \
    X(CUgraphEdgeData, to_port)                                                                    \
    X(CUgraphEdgeData, type)                                                                       \
    X(CUgraphExecUpdateResultInfo, errorNode)                                                      \
    X(CUgraphExecUpdateResultInfo, errorFromNode)                                                  \
    X(CUaccessPolicyWindow, hitRatio)                                                              \
    X(CUaccessPolicyWindow, missProp)                                                              \
    X(CUlaunchAttributeValue, programmaticEvent.triggerAtBlockStart)                               \
    X(CUlaunchAttributeValue, launchCompletionEvent.flags)                                         \
    X(CUlaunchAttributeValue, deviceUpdatableKernelNode.devNode)                                   \
    X(CUlaunchAttribute, id)                                                                       \
    X(CUlaunchAttribute, value)                                                                    \
    X(CUlaunchConfig, gridDimX)                                                                    \
    X(CUlaunchConfig, blockDimX)                                                                   \
    X(CUlaunchConfig, sharedMemBytes)                                                              \
    X(CUlaunchConfig, hStream)                                                                     \
    X(CUlaunchConfig, attrs)                                                                       \
    X(CUlaunchConfig, numAttrs)                                                                    \
    X(CUmemAccessDesc, flags)                                                                      \
    X(CUDA_MEM_ALLOC_NODE_PARAMS, accessDescs)                                                     \
    X(CUDA_MEM_ALLOC_NODE_PARAMS, bytesize)                                                        \
    X(CUDA_MEM_ALLOC_NODE_PARAMS, dptr)                                                            \
    X(CUmemPoolProps, allocType)                                                                   \
    X(CUmemPoolProps, handleTypes)                                                                 \
    X(CUmemPoolProps, location)                                                                    \
    X(CUmemPoolProps, maxSize)

#define ABI_SIZE_FACT(type) { "sizeof(" #type ")", sizeof(type) },
#define ABI_OFFSET_FACT(type, member)                                                              \
    { "offsetof(" #type ", " #member ")", offsetof(type, member) },

#endif
