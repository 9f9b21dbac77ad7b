// SPDX-License-Identifier: Apache-2.0
// The functions of AMD's HIP library that the stand-in exports and the tests call.
//
// After <hip/hip_runtime_api.h> and <hip/hiprtc.h> this header only re-declares functions: then the
// compiler compares each prototype with AMD's (see hip_abi_matches_header.c).
#ifndef BRAID_STANDIN_HIP_ABI_H
#define BRAID_STANDIN_HIP_ABI_H

#ifndef HIP_INCLUDE_HIP_HIP_RUNTIME_API_H
#include "hip_abi_types.h"
#endif

#pragma GCC visibility push(default)

// Start, errors
hipError_t hipInit(unsigned flags);
hipError_t hipDriverGetVersion(int *out_version);
hipError_t hipRuntimeGetVersion(int *out_version);
const char *hipGetErrorName(hipError_t error);
const char *hipGetErrorString(hipError_t error);
hipError_t hipGetLastError(void);
hipError_t hipPeekAtLastError(void);

// Devices
hipError_t hipGetDeviceCount(int *out_count);
hipError_t hipGetDevice(int *out_device);
hipError_t hipSetDevice(int device);
hipError_t hipDeviceGet(hipDevice_t *out_device, int ordinal);
hipError_t hipDeviceGetName(char *name, int num_bytes, hipDevice_t device);
hipError_t hipDeviceTotalMem(size_t *out_num_bytes, hipDevice_t device);
hipError_t hipDeviceGetPCIBusId(char *id, int num_bytes, int device);
hipError_t hipDeviceGetUuid(hipUUID *out_uuid, hipDevice_t device);
hipError_t hipDeviceGetAttribute(int *out_value, hipDeviceAttribute_t attribute, int device);
// Since ROCm 6; before, hipGetDeviceProperties fills a struct of another layout.
struct hipDeviceProp_tR0600;
hipError_t hipGetDevicePropertiesR0600(struct hipDeviceProp_tR0600 *out_properties, int device);
hipError_t hipDeviceGetStreamPriorityRange(int *out_least, int *out_greatest);
hipError_t hipDeviceSynchronize(void);
hipError_t hipMemGetAddressRange(void **out_base, size_t *out_bytes, void *pointer);
hipError_t hipPointerGetAttribute(void *out_value, hipPointer_attribute attribute, void *pointer);
hipError_t hipMemGetInfo(size_t *out_free, size_t *out_total);
hipError_t hipDeviceCanAccessPeer(int *out_can, int device, int peer);
hipError_t hipDeviceEnablePeerAccess(int peer, unsigned flags);

// Streams
hipError_t hipStreamCreate(hipStream_t *out_stream);
hipError_t hipStreamCreateWithFlags(hipStream_t *out_stream, unsigned flags);
hipError_t hipStreamCreateWithPriority(hipStream_t *out_stream, unsigned flags, int priority);
hipError_t hipStreamDestroy(hipStream_t stream);
hipError_t hipStreamQuery(hipStream_t stream);
hipError_t hipStreamSynchronize(hipStream_t stream);
hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags);
hipError_t hipStreamGetFlags(hipStream_t stream, unsigned *out_flags);
hipError_t hipStreamGetPriority(hipStream_t stream, int *out_priority);
hipError_t hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t callback, void *user,
                                unsigned flags);
hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t function, void *user);
hipError_t hipStreamWriteValue32(hipStream_t stream, void *pointer, uint32_t value, unsigned flags);
hipError_t hipStreamWaitValue32(hipStream_t stream, void *pointer, uint32_t value, unsigned flags,
                                uint32_t mask);
hipError_t hipStreamWaitValue64(hipStream_t stream, void *pointer, uint64_t value, unsigned flags,
                                uint64_t mask);
hipError_t hipImportExternalSemaphore(hipExternalSemaphore_t *out_semaphore,
                                      const hipExternalSemaphoreHandleDesc *desc);
hipError_t hipDestroyExternalSemaphore(hipExternalSemaphore_t semaphore);
hipError_t hipSignalExternalSemaphoresAsync(const hipExternalSemaphore_t *semaphores,
                                            const hipExternalSemaphoreSignalParams *params,
                                            unsigned num, hipStream_t stream);
hipError_t hipWaitExternalSemaphoresAsync(const hipExternalSemaphore_t *semaphores,
                                          const hipExternalSemaphoreWaitParams *params,
                                          unsigned num, hipStream_t stream);
hipError_t hipExtMallocWithFlags(void **out_pointer, size_t num_bytes, unsigned flags);

// Events
hipError_t hipEventCreate(hipEvent_t *out_event);
hipError_t hipEventCreateWithFlags(hipEvent_t *out_event, unsigned flags);
hipError_t hipEventDestroy(hipEvent_t event);
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream);
hipError_t hipEventQuery(hipEvent_t event);
hipError_t hipEventSynchronize(hipEvent_t event);
hipError_t hipEventElapsedTime(float *out_milliseconds, hipEvent_t start, hipEvent_t stop);

// Memory
hipError_t hipMalloc(void **out_pointer, size_t num_bytes);
hipError_t hipFree(void *pointer);
hipError_t hipMallocManaged(void **out_pointer, size_t num_bytes, unsigned flags);
hipError_t hipMemPrefetchAsync(const void *pointer, size_t num_bytes, int device,
                               hipStream_t stream);
hipError_t hipHostMalloc(void **out_pointer, size_t num_bytes, unsigned flags);
hipError_t hipHostFree(void *pointer);
hipError_t hipHostRegister(void *host, size_t num_bytes, unsigned flags);
hipError_t hipHostUnregister(void *host);
hipError_t hipHostGetDevicePointer(void **out_pointer, void *host, unsigned flags);
hipError_t hipMallocAsync(void **out_pointer, size_t num_bytes, hipStream_t stream);
hipError_t hipMallocFromPoolAsync(void **out_pointer, size_t num_bytes, hipMemPool_t pool,
                                  hipStream_t stream);
hipError_t hipFreeAsync(void *pointer, hipStream_t stream);
hipError_t hipMemPoolCreate(hipMemPool_t *out_pool, const hipMemPoolProps *properties);
hipError_t hipMemPoolDestroy(hipMemPool_t pool);
hipError_t hipMemPoolTrimTo(hipMemPool_t pool, size_t num_bytes_to_keep);
hipError_t hipMemPoolSetAttribute(hipMemPool_t pool, hipMemPoolAttr attribute, void *value);
hipError_t hipMemPoolGetAttribute(hipMemPool_t pool, hipMemPoolAttr attribute, void *out_value);
hipError_t hipDeviceGetDefaultMemPool(hipMemPool_t *out_pool, int device);

// Copies and fills
hipError_t hipMemcpy(void *to, const void *from, size_t num_bytes, hipMemcpyKind kind);
hipError_t hipMemcpyAsync(void *to, const void *from, size_t num_bytes, hipMemcpyKind kind,
                          hipStream_t stream);
hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t to, void *from, size_t num_bytes, hipStream_t stream);
hipError_t hipMemcpyDtoHAsync(void *to, hipDeviceptr_t from, size_t num_bytes, hipStream_t stream);
hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t to, hipDeviceptr_t from, size_t num_bytes,
                              hipStream_t stream);
hipError_t hipMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                              size_t num_bytes, hipStream_t stream);
hipError_t hipMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                            size_t width, size_t height, hipMemcpyKind kind, hipStream_t stream);
hipError_t hipMemsetAsync(void *to, int value, size_t num_bytes, hipStream_t stream);
hipError_t hipMemsetD8Async(hipDeviceptr_t to, unsigned char value, size_t count,
                            hipStream_t stream);
hipError_t hipMemsetD16Async(hipDeviceptr_t to, unsigned short value, size_t count,
                             hipStream_t stream);
hipError_t hipMemsetD32Async(hipDeviceptr_t to, int value, size_t count, hipStream_t stream);

// Modules and launches
hipError_t hipModuleLoadData(hipModule_t *out_module, const void *image);
hipError_t hipModuleLoadDataEx(hipModule_t *out_module, const void *image, unsigned num_options,
                               hipJitOption *options, void **values);
hipError_t hipModuleUnload(hipModule_t module);
hipError_t hipModuleGetFunction(hipFunction_t *out_function, hipModule_t module, const char *name);
hipError_t hipGetFuncBySymbol(hipFunction_t *out_function, const void *symbol); // since ROCm 6.2
hipError_t hipModuleGetGlobal(hipDeviceptr_t *out_pointer, size_t *out_num_bytes,
                              hipModule_t module, const char *name);
hipError_t hipFuncGetAttribute(int *out_value, hipFunction_attribute attribute,
                               hipFunction_t function);
hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned grid_x, unsigned grid_y,
                                 unsigned grid_z, unsigned block_x, unsigned block_y,
                                 unsigned block_z, unsigned shared_bytes, hipStream_t stream,
                                 void **params, void **extra);
hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t function, unsigned grid_x,
                                            unsigned grid_y, unsigned grid_z, unsigned block_x,
                                            unsigned block_y, unsigned block_z,
                                            unsigned shared_bytes, hipStream_t stream,
                                            void **params);
hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *out_blocks,
                                                              hipFunction_t function,
                                                              int block_threads,
                                                              size_t shared_bytes);

// Capture
hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode);
hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t *out_graph);
hipError_t hipGraphDestroy(hipGraph_t graph);
hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus *out_status);
hipError_t hipStreamGetCaptureInfo(hipStream_t stream, hipStreamCaptureStatus *out_status,
                                   unsigned long long *out_id);
hipError_t hipStreamGetCaptureInfo_v2(hipStream_t stream, hipStreamCaptureStatus *out_status,
                                      unsigned long long *out_id, hipGraph_t *out_graph,
                                      const hipGraphNode_t **out_after, size_t *out_num_after);
hipError_t hipStreamUpdateCaptureDependencies(hipStream_t stream, hipGraphNode_t *after,
                                              size_t num_after, unsigned flags);
hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode *mode);

// Run-time compilation
const char *hiprtcGetErrorString(hiprtcResult result);
hiprtcResult hiprtcVersion(int *out_major, int *out_minor);
hiprtcResult hiprtcCreateProgram(hiprtcProgram *out_program, const char *source, const char *name,
                                 int num_headers, const char **headers, const char **include_names);
hiprtcResult hiprtcDestroyProgram(hiprtcProgram *program);
hiprtcResult hiprtcAddNameExpression(hiprtcProgram program, const char *expression);
hiprtcResult hiprtcCompileProgram(hiprtcProgram program, int num_options, const char **options);
hiprtcResult hiprtcGetProgramLogSize(hiprtcProgram program, size_t *out_num_bytes);
hiprtcResult hiprtcGetProgramLog(hiprtcProgram program, char *log);
hiprtcResult hiprtcGetCodeSize(hiprtcProgram program, size_t *out_num_bytes);
hiprtcResult hiprtcGetCode(hiprtcProgram program, char *code);
hiprtcResult hiprtcGetLoweredName(hiprtcProgram program, const char *expression,
                                  const char **out_name);

#pragma GCC visibility pop

#endif
