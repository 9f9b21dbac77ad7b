// SPDX-License-Identifier: Apache-2.0
// The CUDA driver's types that the stand-in uses, with the driver's own names and layouts, so that
// the project and its tests build where no vendor header is installed.
#ifndef BRAID_STANDIN_CUDA_ABI_TYPES_H
#define BRAID_STANDIN_CUDA_ABI_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include "cuda_abi_constants.h"

#define ENUMERATOR(name, value) name = value,
#define ATTRIBUTE_ENUMERATOR(name, value, answer) name = value,
typedef enum CUresult { CUDA_ABI_RESULTS(ENUMERATOR) } CUresult;
typedef enum CUdevice_attribute { CUDA_ABI_ATTRIBUTES(ATTRIBUTE_ENUMERATOR) } CUdevice_attribute;
typedef enum CUfunction_attribute { CUDA_ABI_FUNCTION_ATTRIBUTES(ENUMERATOR) } CUfunction_attribute;
typedef enum CUgraphNodeType { CUDA_ABI_NODE_TYPES(ENUMERATOR) } CUgraphNodeType;
typedef enum CUgraphConditionalNodeType {
    CUDA_ABI_CONDITIONAL_TYPES(ENUMERATOR)
} CUgraphConditionalNodeType;
typedef enum CUgraphExecUpdateResult {
    CUDA_ABI_UPDATE_RESULTS(ENUMERATOR)
} CUgraphExecUpdateResult;
typedef enum CUgraphInstantiateResult {
    CUDA_ABI_INSTANTIATE_RESULTS(ENUMERATOR)
} CUgraphInstantiateResult;
typedef enum CUlaunchAttributeID { CUDA_ABI_LAUNCH_ATTRIBUTES(ENUMERATOR) } CUlaunchAttributeID;
typedef enum CUstreamCaptureMode { CUDA_ABI_CAPTURE_MODES(ENUMERATOR) } CUstreamCaptureMode;
typedef enum CUstreamCaptureStatus { CUDA_ABI_CAPTURE_STATUSES(ENUMERATOR) } CUstreamCaptureStatus;
typedef enum CUpointer_attribute { CUDA_ABI_POINTER_ATTRIBUTES(ENUMERATOR) } CUpointer_attribute;
typedef enum CUmemorytype { CUDA_ABI_MEMORY_TYPES(ENUMERATOR) } CUmemorytype;
typedef enum CUmemPool_attribute { CUDA_ABI_POOL_ATTRIBUTES(ENUMERATOR) } CUmemPool_attribute;
typedef enum CUjit_option { CUDA_ABI_JIT_OPTIONS(ENUMERATOR) } CUjit_option;
typedef enum CUdriverProcAddressQueryResult {
    CUDA_ABI_PROC_RESULTS(ENUMERATOR)
} CUdriverProcAddressQueryResult;
enum cuda_abi_flag { CUDA_ABI_FLAGS(ENUMERATOR) };
#undef ENUMERATOR
#undef ATTRIBUTE_ENUMERATOR

typedef uint32_t cuuint32_t;
typedef uint64_t cuuint64_t;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef unsigned long long CUmemGenericAllocationHandle;
typedef unsigned int CUdeviceptr_v1; // what the unsuffixed entry points of CUDA 2 took
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUkern_st *CUkernel;
typedef struct CUlib_st *CUlibrary;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUmemPoolHandle_st *CUmemoryPool;
typedef struct CUextSemaphore_st *CUexternalSemaphore;
typedef struct CUarray_st *CUarray;
typedef enum CUlibraryOption { CU_LIBRARY_HOST_UNIVERSAL_FUNCTION_AND_DATA_TABLE } CUlibraryOption;
typedef struct CUctxCreateParams_st CUctxCreateParams;
typedef void (*CUhostFn)(void *user);
typedef void (*CUstreamCallback)(CUstream stream, CUresult status, void *user);

#define CU_STREAM_LEGACY ((CUstream)0x1)
#define CU_STREAM_PER_THREAD ((CUstream)0x2)
#define CU_LAUNCH_PARAM_END ((void *)0x0)
#define CU_LAUNCH_PARAM_BUFFER_POINTER ((void *)0x1)
#define CU_LAUNCH_PARAM_BUFFER_SIZE ((void *)0x2)

typedef struct CUuuid {
    char bytes[16];
} CUuuid;

typedef struct CUDA_MEMCPY2D {
    size_t srcXInBytes, srcY;
    CUmemorytype srcMemoryType;
    const void *srcHost;
    CUdeviceptr srcDevice;
    CUarray srcArray;
    size_t srcPitch;
    size_t dstXInBytes, dstY;
    CUmemorytype dstMemoryType;
    void *dstHost;
    CUdeviceptr dstDevice;
    CUarray dstArray;
    size_t dstPitch;
    size_t WidthInBytes, Height;
} CUDA_MEMCPY2D;

typedef struct CUDA_MEMCPY3D {
    size_t srcXInBytes, srcY, srcZ, srcLOD;
    CUmemorytype srcMemoryType;
    const void *srcHost;
    CUdeviceptr srcDevice;
    CUarray srcArray;
    void *reserved0;
    size_t srcPitch, srcHeight;
    size_t dstXInBytes, dstY, dstZ, dstLOD;
    CUmemorytype dstMemoryType;
    void *dstHost;
    CUdeviceptr dstDevice;
    CUarray dstArray;
    void *reserved1;
    size_t dstPitch, dstHeight;
    size_t WidthInBytes, Height, Depth;
} CUDA_MEMCPY3D;

typedef struct CUDA_KERNEL_NODE_PARAMS_v1 {
    CUfunction func;
    unsigned gridDimX, gridDimY, gridDimZ;
    unsigned blockDimX, blockDimY, blockDimZ;
    unsigned sharedMemBytes;
    void **kernelParams;
    void **extra;
} CUDA_KERNEL_NODE_PARAMS_v1;

typedef struct CUDA_KERNEL_NODE_PARAMS {
    CUfunction func;
    unsigned gridDimX, gridDimY, gridDimZ;
    unsigned blockDimX, blockDimY, blockDimZ;
    unsigned sharedMemBytes;
    void **kernelParams;
    void **extra;
    CUkernel kern;
    CUcontext ctx;
} CUDA_KERNEL_NODE_PARAMS;

typedef struct CUDA_MEMSET_NODE_PARAMS {
    CUdeviceptr dst;
    size_t pitch;
    unsigned value, elementSize;
    size_t width, height;
} CUDA_MEMSET_NODE_PARAMS;

typedef struct CUDA_HOST_NODE_PARAMS {
    CUhostFn fn;
    void *userData;
} CUDA_HOST_NODE_PARAMS;

typedef unsigned CUstreamBatchMemOpType; // CU_STREAM_MEM_OP_WAIT_VALUE_32, of those there are

typedef union CUstreamBatchMemOpParams {
    CUstreamBatchMemOpType operation;
    struct {
        CUstreamBatchMemOpType operation;
        CUdeviceptr address;
        union {
            cuuint32_t value;
            cuuint64_t value64;
        };
        unsigned flags;
        CUdeviceptr alias;
    } waitValue;
    cuuint64_t pad[6];
} CUstreamBatchMemOpParams;

typedef struct CUDA_BATCH_MEM_OP_NODE_PARAMS {
    CUcontext ctx;
    unsigned count;
    CUstreamBatchMemOpParams *paramArray;
    unsigned flags;
} CUDA_BATCH_MEM_OP_NODE_PARAMS;

typedef struct CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC {
    int type; // CUexternalSemaphoreHandleType
    union {
        int fd;
        struct {
            void *handle;
            const void *name;
        } win32;
        const void *nvSciSyncObj;
    } handle;
    unsigned flags, reserved[16];
} CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC;

typedef struct CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS {
    struct {
        struct {
            unsigned long long value;
        } fence;
        union {
            void *fence;
            unsigned long long reserved;
        } nvSciSync;
        struct {
            unsigned long long key;
        } keyedMutex;
        unsigned reserved[12];
    } params;
    unsigned flags, reserved[16];
} CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS;

typedef struct CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS {
    struct {
        struct {
            unsigned long long value;
        } fence;
        union {
            void *fence;
            unsigned long long reserved;
        } nvSciSync;
        struct {
            unsigned long long key;
            unsigned timeoutMs;
        } keyedMutex;
        unsigned reserved[10];
    } params;
    unsigned flags, reserved[16];
} CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS;

typedef struct CUDA_EXT_SEM_SIGNAL_NODE_PARAMS {
    CUexternalSemaphore *extSemArray;
    const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS *paramsArray;
    unsigned numExtSems;
} CUDA_EXT_SEM_SIGNAL_NODE_PARAMS;

typedef struct CUDA_EXT_SEM_WAIT_NODE_PARAMS {
    CUexternalSemaphore *extSemArray;
    const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *paramsArray;
    unsigned numExtSems;
} CUDA_EXT_SEM_WAIT_NODE_PARAMS;

typedef struct CUmemLocation {
    int type, id;
} CUmemLocation;

typedef struct CUmemPoolProps {
    int allocType, handleTypes;
    CUmemLocation location;
    void *win32SecurityAttributes;
    size_t maxSize;
    unsigned short usage;
    unsigned char reserved[54];
} CUmemPoolProps;

typedef struct CUmemAllocationProp {
    int type, requestedHandleTypes;
    CUmemLocation location;
    void *win32HandleMetaData;
    struct {
        unsigned char compressionType, gpuDirectRDMACapable;
        unsigned short usage;
        unsigned char reserved[4];
    } allocFlags;
} CUmemAllocationProp;

typedef enum CUmemAllocationGranularity_flags {
    CU_MEM_ALLOC_GRANULARITY_MINIMUM = 0,
    CU_MEM_ALLOC_GRANULARITY_RECOMMENDED = 1,
} CUmemAllocationGranularity_flags;

typedef struct CUmemAccessDesc {
    CUmemLocation location;
    int flags;
} CUmemAccessDesc;

typedef struct CUDA_MEM_ALLOC_NODE_PARAMS {
    CUmemPoolProps poolProps;
    const CUmemAccessDesc *accessDescs;
    size_t accessDescCount, bytesize;
    CUdeviceptr dptr;
} CUDA_MEM_ALLOC_NODE_PARAMS;

typedef cuuint64_t CUgraphConditionalHandle;

typedef struct CUDA_CONDITIONAL_NODE_PARAMS {
    CUgraphConditionalHandle handle;
    CUgraphConditionalNodeType type;
    unsigned size;
    CUgraph *phGraph_out;
    CUcontext ctx;
} CUDA_CONDITIONAL_NODE_PARAMS;

typedef struct CUDA_MEMCPY_NODE_PARAMS {
    int flags, reserved;
    CUcontext copyCtx;
    CUDA_MEMCPY3D copyParams;
} CUDA_MEMCPY_NODE_PARAMS;

typedef struct CUDA_MEMSET_NODE_PARAMS_v2 {
    CUdeviceptr dst;
    size_t pitch;
    unsigned value, elementSize;
    size_t width, height;
    CUcontext ctx;
} CUDA_MEMSET_NODE_PARAMS_v2;

typedef struct CUDA_CHILD_GRAPH_NODE_PARAMS {
    CUgraph graph;
    int ownership;
} CUDA_CHILD_GRAPH_NODE_PARAMS;

typedef struct CUDA_EVENT_NODE_PARAMS { // the same for records and waits
    CUevent event;
} CUDA_EVENT_NODE_PARAMS;

typedef struct CUDA_MEM_FREE_NODE_PARAMS {
    CUdeviceptr dptr;
} CUDA_MEM_FREE_NODE_PARAMS;

typedef struct CUgraphNodeParams {
    CUgraphNodeType type;
    int reserved0[3];
    union {
        long long reserved1[29];
        CUDA_KERNEL_NODE_PARAMS kernel;
        CUDA_MEMCPY_NODE_PARAMS memcpy;
        CUDA_MEMSET_NODE_PARAMS_v2 memset;
        CUDA_HOST_NODE_PARAMS host;
        CUDA_CHILD_GRAPH_NODE_PARAMS graph;
        CUDA_EVENT_NODE_PARAMS eventWait, eventRecord;
        CUDA_MEM_ALLOC_NODE_PARAMS alloc;
        CUDA_MEM_FREE_NODE_PARAMS free;
        CUDA_BATCH_MEM_OP_NODE_PARAMS memOp;
        CUDA_CONDITIONAL_NODE_PARAMS conditional;
    };
    long long reserved2;
} CUgraphNodeParams;

typedef struct CUgraphEdgeData {
    unsigned char from_port, to_port, type, reserved[5];
} CUgraphEdgeData;

typedef struct CUgraphExecUpdateResultInfo {
    CUgraphExecUpdateResult result;
    CUgraphNode errorNode, errorFromNode;
} CUgraphExecUpdateResultInfo;

typedef struct CUDA_GRAPH_INSTANTIATE_PARAMS {
    cuuint64_t flags;
    CUstream hUploadStream;
    CUgraphNode hErrNode_out;
    CUgraphInstantiateResult result_out;
} CUDA_GRAPH_INSTANTIATE_PARAMS;

typedef struct CUaccessPolicyWindow {
    void *base_ptr;
    size_t num_bytes;
    float hitRatio;
    int hitProp, missProp;
} CUaccessPolicyWindow;

typedef struct CUlaunchMemSyncDomainMap {
    unsigned char default_, remote;
} CUlaunchMemSyncDomainMap;

typedef union CUlaunchAttributeValue {
    char pad[64];
    CUaccessPolicyWindow accessPolicyWindow;
    int cooperative;
    struct {
        unsigned x, y, z;
    } clusterDim;
    int clusterSchedulingPolicyPreference;
    int programmaticStreamSerializationAllowed;
    struct {
        CUevent event;
        int flags, triggerAtBlockStart;
    } programmaticEvent;
    struct {
        CUevent event;
        int flags;
    } launchCompletionEvent;
    int priority;
    CUlaunchMemSyncDomainMap memSyncDomainMap;
    int memSyncDomain;
    struct {
        int deviceUpdatable;
        void *devNode;
    } deviceUpdatableKernelNode;
    unsigned sharedMemCarveout;
} CUlaunchAttributeValue;

typedef struct CUlaunchAttribute {
    CUlaunchAttributeID id;
    char pad[8 - sizeof(CUlaunchAttributeID)];
    CUlaunchAttributeValue value;
} CUlaunchAttribute;

typedef CUlaunchAttributeID CUkernelNodeAttrID;
typedef CUlaunchAttributeValue CUkernelNodeAttrValue;

typedef struct CUlaunchConfig {
    unsigned gridDimX, gridDimY, gridDimZ;
    unsigned blockDimX, blockDimY, blockDimZ;
    unsigned sharedMemBytes;
    CUstream hStream;
    CUlaunchAttribute *attrs;
    unsigned numAttrs;
} CUlaunchConfig;

#endif
