// SPDX-License-Identifier: Apache-2.0
// The CUDA driver as this HIP stand-in uses it: opened when first needed, one context a device.
#ifndef BRAID_STANDIN_HIP_CUDA_DRIVER_H
#define BRAID_STANDIN_HIP_CUDA_DRIVER_H

#include <stdint.h>

#include "../cuda/cuda_abi.h"
#include "hip_abi.h"

// Every function of the driver that is called, by its exported name.
#define CUDA_DRIVER_FUNCTIONS(X)                                                                   \
    X(cuInit)                                                                                      \
    X(cuDriverGetVersion)                                                                          \
    X(cuGetErrorString)                                                                            \
    X(cuDeviceGet)                                                                                 \
    X(cuDeviceGetCount)                                                                            \
    X(cuDeviceGetName)                                                                             \
    X(cuDeviceGetUuid)                                                                             \
    X(cuDeviceTotalMem_v2)                                                                         \
    X(cuDeviceGetAttribute)                                                                        \
    X(cuDeviceGetPCIBusId)                                                                         \
    X(cuDeviceCanAccessPeer)                                                                       \
    X(cuDeviceGetDefaultMemPool)                                                                   \
    X(cuDevicePrimaryCtxRetain)                                                                    \
    X(cuCtxGetCurrent)                                                                             \
    X(cuCtxSetCurrent)                                                                             \
    X(cuCtxSynchronize)                                                                            \
    X(cuCtxGetStreamPriorityRange)                                                                 \
    X(cuCtxEnablePeerAccess)                                                                       \
    X(cuStreamCreate)                                                                              \
    X(cuStreamCreateWithPriority)                                                                  \
    X(cuStreamDestroy_v2)                                                                          \
    X(cuStreamSynchronize)                                                                         \
    X(cuStreamQuery)                                                                               \
    X(cuStreamGetFlags)                                                                            \
    X(cuStreamGetPriority)                                                                         \
    X(cuStreamWaitEvent)                                                                           \
    X(cuStreamAddCallback)                                                                         \
    X(cuLaunchHostFunc)                                                                            \
    X(cuStreamWriteValue32_v2)                                                                     \
    X(cuStreamWaitValue32_v2)                                                                      \
    X(cuImportExternalSemaphore)                                                                   \
    X(cuDestroyExternalSemaphore)                                                                  \
    X(cuSignalExternalSemaphoresAsync)                                                             \
    X(cuWaitExternalSemaphoresAsync)                                                               \
    X(cuEventCreate)                                                                               \
    X(cuEventDestroy_v2)                                                                           \
    X(cuEventRecord)                                                                               \
    X(cuEventQuery)                                                                                \
    X(cuEventSynchronize)                                                                          \
    X(cuEventElapsedTime)                                                                          \
    X(cuMemAlloc_v2)                                                                               \
    X(cuMemPrefetchAsync)                                                                          \
    X(cuMemAllocManaged)                                                                           \
    X(cuMemFree_v2)                                                                                \
    X(cuMemHostAlloc)                                                                              \
    X(cuMemFreeHost)                                                                               \
    X(cuMemHostRegister_v2)                                                                        \
    X(cuMemHostUnregister)                                                                         \
    X(cuMemHostGetDevicePointer_v2)                                                                \
    X(cuMemGetInfo_v2)                                                                             \
    X(cuPointerGetAttribute)                                                                       \
    X(cuMemAllocAsync)                                                                             \
    X(cuMemAllocFromPoolAsync)                                                                     \
    X(cuMemFreeAsync)                                                                              \
    X(cuMemPoolCreate)                                                                             \
    X(cuMemPoolDestroy)                                                                            \
    X(cuMemPoolTrimTo)                                                                             \
    X(cuMemPoolSetAttribute)                                                                       \
    X(cuMemPoolGetAttribute)                                                                       \
    X(cuMemcpy)                                                                                    \
    X(cuMemcpyAsync)                                                                               \
    X(cuMemcpyHtoDAsync_v2)                                                                        \
    X(cuMemcpyDtoHAsync_v2)                                                                        \
    X(cuMemcpyDtoDAsync_v2)                                                                        \
    X(cuMemcpyPeerAsync)                                                                           \
    X(cuMemcpy2DAsync_v2)                                                                          \
    X(cuMemsetD8Async)                                                                             \
    X(cuMemsetD16Async)                                                                            \
    X(cuMemsetD32Async)                                                                            \
    X(cuModuleLoadData)                                                                            \
    X(cuModuleUnload)                                                                              \
    X(cuModuleGetFunction)                                                                         \
    X(cuModuleGetGlobal_v2)                                                                        \
    X(cuFuncGetAttribute)                                                                          \
    X(cuLaunchKernel)                                                                              \
    X(cuLaunchKernelEx)                                                                            \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor)                                                 \
    X(cuStreamBeginCapture_v2)                                                                     \
    X(cuStreamEndCapture)                                                                          \
    X(cuStreamIsCapturing)                                                                         \
    X(cuStreamGetCaptureInfo_v2)                                                                   \
    X(cuStreamUpdateCaptureDependencies)                                                           \
    X(cuThreadExchangeStreamCaptureMode)                                                           \
    X(cuGraphDestroy)

#define FIELD(name) __typeof__(name) *name;
struct cuda_driver {
    CUDA_DRIVER_FUNCTIONS(FIELD)
};
#undef FIELD

// Filled by cuda_open; constant after that.
extern struct cuda_driver cuda;

// Opens libcuda.so.1 and starts it, the first time; later calls return the same result.
// CUDA_ERROR_NO_DEVICE if the library, one of its functions, or a device is missing; why is then
// printed once if BRAID_STANDIN_HIP_TRACE is set.
CUresult cuda_open(void);

// Gives the primary context of a device. It is retained once and for good.
CUresult cuda_context_of(int device, CUcontext *out_context);

// What nearly every call begins with: opens the driver and makes the context of the thread's HIP
// device current. Each thread begins on device 0, as HIP says.
CUresult cuda_enter(void);

// The calling thread's HIP device.
int cuda_current_device(void);
CUresult cuda_set_current_device(int device);

// What nearly every call ends with: gives the HIP error for a result and remembers it for
// hipGetLastError.
hipError_t hip_finish(CUresult result);

// Remembers and returns an error that was found before the driver was asked.
hipError_t hip_fail(hipError_t error);

// The HIP error for a driver's result, without remembering it.
hipError_t hip_error_from(CUresult result);

static inline CUdeviceptr device_pointer(const void *pointer)
{
    return (CUdeviceptr)(uintptr_t)pointer;
}

static inline void *host_view(CUdeviceptr pointer)
{
    return (void *)(uintptr_t)pointer;
}

#endif
