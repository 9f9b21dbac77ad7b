// SPDX-License-Identifier: Apache-2.0
// Functions that programs look up before they begin, and that the stand-in cannot do.
//
// Some programs end if the driver lacks a name, whether or not they call it. So the stand-in has
// these names. They are not in cuda_abi.h, since some have another shape in newer headers.
#include "condition.h"
#include "entry.h"

#define EXPORTED __attribute__((visibility("default")))

#define CANNOT(name)                                                                               \
    EXPORTED CUresult name(void);                                                                  \
    CUresult name(void)                                                                            \
    {                                                                                              \
        CUresult result = entry_begin(__func__);                                                   \
        return result == CUDA_SUCCESS ? CUDA_ERROR_NOT_SUPPORTED : result;                         \
    }

CANNOT(cuExternalMemoryGetMappedBuffer)
CANNOT(cuExternalMemoryGetMappedMipmappedArray)
CANNOT(cuImportExternalMemory)
CANNOT(cuLinkAddData_v2)
CANNOT(cuLinkAddFile_v2)
CANNOT(cuLinkComplete)
CANNOT(cuLinkCreate_v2)
CANNOT(cuLinkDestroy)
CANNOT(cuMemAdvise)
CANNOT(cuMipmappedArrayGetLevel)
CANNOT(cuSurfObjectCreate)

// Stacks and heaps of kernels have no limit here.
EXPORTED CUresult cuCtxSetLimit(int limit, size_t value);

CUresult cuCtxSetLimit(int limit, size_t value)
{
    CUresult result = entry_begin_in_context(__func__);
    (void)limit, (void)value;
    return result;
}

// The shape before CUDA 13: no edge has a kind.
EXPORTED CUresult cuGraphAddNode(CUgraphNode *out_node, CUgraph graph, const CUgraphNode *after,
                                 size_t num_after, CUgraphNodeParams *params);

CUresult cuGraphAddNode(CUgraphNode *out_node, CUgraph graph, const CUgraphNode *after,
                        size_t num_after, CUgraphNodeParams *params)
{
    return cuGraphAddNode_v2(out_node, graph, after, NULL, num_after, params);
}
