// SPDX-License-Identifier: Apache-2.0
// HIP's types as AMD's library has them (not as HIP on NVIDIA has them), with AMD's own names and
// layouts, so that the stand-in and its tests build where AMD's headers are not installed.
//
// Left out on purpose, as their layout or numbers differ between ROCm 5 and 6: hipDeviceProp_t,
// hipPointerAttribute_t, hipMemoryType.
#ifndef BRAID_STANDIN_HIP_ABI_TYPES_H
#define BRAID_STANDIN_HIP_ABI_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include "hip_abi_constants.h"

#define ENUMERATOR(name, value) name = value,
#define ATTRIBUTE_ENUMERATOR(name, value, cuda) name = value,
typedef enum hipError_t { HIP_ABI_ERRORS(ENUMERATOR) } hipError_t;
typedef enum hipDeviceAttribute_t {
    HIP_ABI_DEVICE_ATTRIBUTES(ATTRIBUTE_ENUMERATOR)
} hipDeviceAttribute_t;
typedef enum hipFunction_attribute {
    HIP_ABI_FUNCTION_ATTRIBUTES(ENUMERATOR)
} hipFunction_attribute;
typedef enum hipPointer_attribute { HIP_ABI_POINTER_ATTRIBUTES(ENUMERATOR) } hipPointer_attribute;
typedef enum hipMemcpyKind { HIP_ABI_MEMCPY_KINDS(ENUMERATOR) } hipMemcpyKind;
typedef enum hipStreamCaptureMode { HIP_ABI_CAPTURE_MODES(ENUMERATOR) } hipStreamCaptureMode;
typedef enum hipStreamCaptureStatus { HIP_ABI_CAPTURE_STATUSES(ENUMERATOR) } hipStreamCaptureStatus;
typedef enum hipMemPoolAttr { HIP_ABI_POOL_ATTRIBUTES(ENUMERATOR) } hipMemPoolAttr;
typedef enum hiprtcResult { HIP_ABI_RTC_RESULTS(ENUMERATOR) } hiprtcResult;
enum hip_abi_flag { HIP_ABI_FLAGS(ENUMERATOR) };
#undef ENUMERATOR
#undef ATTRIBUTE_ENUMERATOR

typedef enum hipMemLocationType {
    hipMemLocationTypeInvalid = 0,
    hipMemLocationTypeDevice = 1,
} hipMemLocationType;
typedef enum hipMemAllocationType {
    hipMemAllocationTypeInvalid = 0,
    hipMemAllocationTypePinned = 1,
} hipMemAllocationType;
typedef enum hipMemAllocationHandleType {
    hipMemHandleTypeNone = 0,
    hipMemHandleTypePosixFileDescriptor = 1,
} hipMemAllocationHandleType;
typedef enum hipJitOption {
    hipJitOptionMaxRegisters = 0,
} hipJitOption;

typedef int hipDevice_t;
typedef void *hipDeviceptr_t;
typedef struct ihipStream_t *hipStream_t;
typedef struct ihipEvent_t *hipEvent_t;
typedef struct ihipModule_t *hipModule_t;
typedef struct ihipModuleSymbol_t *hipFunction_t;
typedef struct ihipMemPoolHandle_t *hipMemPool_t;
typedef void *hipExternalSemaphore_t;
typedef struct ihipGraph *hipGraph_t;
typedef struct hipGraphNode *hipGraphNode_t;
typedef struct _hiprtcProgram *hiprtcProgram;
typedef void (*hipHostFn_t)(void *user);
typedef void (*hipStreamCallback_t)(hipStream_t stream, hipError_t status, void *user);

#define HIP_LAUNCH_PARAM_BUFFER_POINTER ((void *)0x01)
#define HIP_LAUNCH_PARAM_BUFFER_SIZE ((void *)0x02)
#define HIP_LAUNCH_PARAM_END ((void *)0x03) // CUDA's is 0

typedef struct hipUUID_t {
    char bytes[16];
} hipUUID;

typedef struct dim3 {
    uint32_t x, y, z;
} dim3;

typedef enum hipExternalSemaphoreHandleType {
    hipExternalSemaphoreHandleTypeOpaqueFd = 1,
    hipExternalSemaphoreHandleTypeTimelineSemaphoreFd = 9,
} hipExternalSemaphoreHandleType;

typedef struct hipExternalSemaphoreHandleDesc_st {
    hipExternalSemaphoreHandleType type;
    union {
        int fd;
        struct {
            void *handle;
            const void *name;
        } win32;
        const void *NvSciSyncObj;
    } handle;
    unsigned flags, reserved[16];
} hipExternalSemaphoreHandleDesc;

typedef struct hipExternalSemaphoreSignalParams_st {
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
} hipExternalSemaphoreSignalParams;

typedef struct hipExternalSemaphoreWaitParams_st {
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
} hipExternalSemaphoreWaitParams;

typedef struct hipMemLocation {
    hipMemLocationType type;
    int id;
} hipMemLocation;

typedef struct hipMemPoolProps {
    hipMemAllocationType allocType;
    hipMemAllocationHandleType handleTypes;
    hipMemLocation location;
    void *win32SecurityAttributes;
    unsigned char reserved[64];
} hipMemPoolProps;

#endif
