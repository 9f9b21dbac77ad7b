// SPDX-License-Identifier: Apache-2.0
// The CUDA driver entry points that the stand-in exports, by their exact exported names.
//
// The vendor's header renames cuMemAlloc to cuMemAlloc_v2 and so on; here every name is the one in
// the library's symbol table, because that is what a program that opens the library resolves.
// After <cuda.h> this header only re-declares functions: then the compiler compares each prototype
// with the vendor's (see abi_matches_cuda_h.c).
#ifndef BRAID_STANDIN_CUDA_ABI_H
#define BRAID_STANDIN_CUDA_ABI_H

#ifndef CUDA_VERSION
#include "cuda_abi_types.h"
#endif

#pragma GCC visibility push(default)

// Initialisation, errors, lookup
CUresult cuInit(unsigned flags);
CUresult cuDriverGetVersion(int *out_version);
CUresult cuGetErrorName(CUresult error, const char **out_name);
CUresult cuGetErrorString(CUresult error, const char **out_text);
CUresult cuGetExportTable(const void **out_table, const CUuuid *id);
CUresult cuGetProcAddress(const char *symbol, void **out_function, int version, cuuint64_t flags);
CUresult cuGetProcAddress_v2(const char *symbol, void **out_function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *out_status);

// Devices
CUresult cuDeviceGet(CUdevice *out_device, int ordinal);
CUresult cuDeviceGetCount(int *out_count);
CUresult cuDeviceGetName(char *name, int bytes, CUdevice device);
CUresult cuDeviceGetUuid(CUuuid *out_uuid, CUdevice device);
CUresult cuDeviceGetUuid_v2(CUuuid *out_uuid, CUdevice device);
CUresult cuDeviceTotalMem_v2(size_t *out_bytes, CUdevice device);
CUresult cuDeviceGetAttribute(int *out_value, CUdevice_attribute attribute, CUdevice device);
CUresult cuDeviceGetPCIBusId(char *id, int bytes, CUdevice device);
CUresult cuDeviceCanAccessPeer(int *out_can, CUdevice device, CUdevice peer);
CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *out_pool, CUdevice device);
CUresult cuDeviceGetMemPool(CUmemoryPool *out_pool, CUdevice device);

// Contexts
CUresult cuDevicePrimaryCtxRetain(CUcontext *out_context, CUdevice device);
CUresult cuDevicePrimaryCtxRelease(CUdevice device);
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device);
CUresult cuDevicePrimaryCtxReset(CUdevice device);
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device);
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *out_flags, int *out_active);
CUresult cuCtxCreate_v2(CUcontext *out_context, unsigned flags, CUdevice device);
CUresult cuCtxCreate_v4(CUcontext *out_context, CUctxCreateParams *params, unsigned flags,
                        CUdevice device);
CUresult cuCtxDestroy(CUcontext context);
CUresult cuCtxDestroy_v2(CUcontext context);
CUresult cuCtxDetach(CUcontext context);
CUresult cuCtxPushCurrent(CUcontext context);
CUresult cuCtxPushCurrent_v2(CUcontext context);
CUresult cuCtxPopCurrent(CUcontext *out_context);
CUresult cuCtxPopCurrent_v2(CUcontext *out_context);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuCtxGetCurrent(CUcontext *out_context);
CUresult cuCtxGetDevice(CUdevice *out_device);
CUresult cuCtxGetDevice_v2(CUdevice *out_device, CUcontext context);
CUresult cuCtxGetApiVersion(CUcontext context, unsigned *out_version);
CUresult cuCtxGetFlags(unsigned *out_flags);
CUresult cuCtxGetId(CUcontext context, unsigned long long *out_id);
CUresult cuCtxSynchronize(void);
CUresult cuCtxSynchronize_v2(CUcontext context);
CUresult cuCtxGetStreamPriorityRange(int *out_least, int *out_greatest);
CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags);
CUresult cuCtxDisablePeerAccess(CUcontext peer);

// Streams
CUresult cuStreamCreate(CUstream *out_stream, unsigned flags);
CUresult cuStreamCreateWithPriority(CUstream *out_stream, unsigned flags, int priority);
CUresult cuStreamDestroy(CUstream stream);
CUresult cuStreamDestroy_v2(CUstream stream);
CUresult cuStreamSynchronize(CUstream stream);
CUresult cuStreamQuery(CUstream stream);
CUresult cuStreamGetFlags(CUstream stream, unsigned *out_flags);
CUresult cuStreamGetPriority(CUstream stream, int *out_priority);
CUresult cuStreamGetId(CUstream stream, unsigned long long *out_id);
CUresult cuStreamGetCtx(CUstream stream, CUcontext *out_context);
CUresult cuStreamGetDevice(CUstream stream, CUdevice *out_device);
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags);
CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback call, void *user, unsigned flags);
CUresult cuLaunchHostFunc(CUstream stream, CUhostFn call, void *user);
CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr at, cuuint32_t value, unsigned flags);
CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr at, cuuint32_t value, unsigned flags);
CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr at, cuuint32_t value, unsigned flags);
CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned count,
                               CUstreamBatchMemOpParams *operations, unsigned flags);
CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr at, cuuint32_t value, unsigned flags);

CUresult cuImportExternalSemaphore(CUexternalSemaphore *out_semaphore,
                                   const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *desc);
CUresult cuDestroyExternalSemaphore(CUexternalSemaphore semaphore);
CUresult cuSignalExternalSemaphoresAsync(const CUexternalSemaphore *semaphores,
                                         const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS *params,
                                         unsigned num, CUstream stream);
CUresult cuWaitExternalSemaphoresAsync(const CUexternalSemaphore *semaphores,
                                       const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *params,
                                       unsigned num, CUstream stream);

// Events
CUresult cuEventCreate(CUevent *out_event, unsigned flags);
CUresult cuEventDestroy(CUevent event);
CUresult cuEventDestroy_v2(CUevent event);
CUresult cuEventRecord(CUevent event, CUstream stream);
CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags);
CUresult cuEventQuery(CUevent event);
CUresult cuEventSynchronize(CUevent event);
CUresult cuEventElapsedTime(float *out_milliseconds, CUevent start, CUevent end);
CUresult cuEventElapsedTime_v2(float *out_milliseconds, CUevent start, CUevent end);

// Memory
CUresult cuMemAlloc_v2(CUdeviceptr *out_memory, size_t bytes);
CUresult cuMemAllocManaged(CUdeviceptr *out_memory, size_t bytes, unsigned flags);
CUresult cuMemPrefetchAsync(CUdeviceptr memory, size_t bytes, CUdevice device, CUstream stream);
CUresult cuMemFree_v2(CUdeviceptr memory);
CUresult cuMemAllocHost_v2(void **out_memory, size_t bytes);
CUresult cuMemHostAlloc(void **out_memory, size_t bytes, unsigned flags);
CUresult cuMemFreeHost(void *memory);
CUresult cuMemHostRegister_v2(void *memory, size_t bytes, unsigned flags);
CUresult cuMemHostUnregister(void *memory);
CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *out_memory, void *host, unsigned flags);
CUresult cuMemGetInfo_v2(size_t *out_free, size_t *out_total);
CUresult cuPointerGetAttribute(void *out_value, CUpointer_attribute attribute, CUdeviceptr memory);
CUresult cuPointerGetAttributes(unsigned num_attributes, CUpointer_attribute *attributes,
                                void **values, CUdeviceptr memory);
CUresult cuMemGetAddressRange_v2(CUdeviceptr *out_start, size_t *out_bytes, CUdeviceptr memory);
CUresult cuMemGetAllocationGranularity(size_t *out_bytes, const CUmemAllocationProp *properties,
                                       CUmemAllocationGranularity_flags option);
CUresult cuMemAddressReserve(CUdeviceptr *out_memory, size_t bytes, size_t alignment,
                             CUdeviceptr wish, unsigned long long flags);
CUresult cuMemAddressFree(CUdeviceptr memory, size_t bytes);
CUresult cuMemCreate(CUmemGenericAllocationHandle *out_handle, size_t bytes,
                     const CUmemAllocationProp *properties, unsigned long long flags);
CUresult cuMemMap(CUdeviceptr memory, size_t bytes, size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags);
CUresult cuMemSetAccess(CUdeviceptr memory, size_t bytes, const CUmemAccessDesc *access,
                        size_t num);
CUresult cuMemUnmap(CUdeviceptr memory, size_t bytes);
CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *out_handle, void *memory);
CUresult cuMemRelease(CUmemGenericAllocationHandle handle);
CUresult cuMemAllocAsync(CUdeviceptr *out_memory, size_t bytes, CUstream stream);
CUresult cuMemAllocFromPoolAsync(CUdeviceptr *out_memory, size_t bytes, CUmemoryPool pool,
                                 CUstream stream);
CUresult cuMemFreeAsync(CUdeviceptr memory, CUstream stream);
CUresult cuMemPoolCreate(CUmemoryPool *out_pool, const CUmemPoolProps *properties);
CUresult cuMemPoolDestroy(CUmemoryPool pool);
CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t bytes_to_keep);
CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value);
CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value);

// Copies and fills
CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes);
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream);
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes);
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream);
CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes);
CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream);
CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes);
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream);
CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                      CUcontext from_context, size_t bytes);
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                           CUcontext from_context, size_t bytes, CUstream stream);
CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *copy);
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy, CUstream stream);
CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *copy);
CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *copy, CUstream stream);
CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count);
CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t count);
CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t count);
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream);
CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream);
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream);
CUresult cuMemsetD2D8_v2(CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
                         size_t height);
CUresult cuMemsetD2D16_v2(CUdeviceptr to, size_t pitch, unsigned short value, size_t width,
                          size_t height);
CUresult cuMemsetD2D32_v2(CUdeviceptr to, size_t pitch, unsigned value, size_t width,
                          size_t height);
CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
                           size_t height, CUstream stream);
CUresult cuMemsetD2D16Async(CUdeviceptr to, size_t pitch, unsigned short value, size_t width,
                            size_t height, CUstream stream);
CUresult cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned value, size_t width,
                            size_t height, CUstream stream);

// Modules, functions, launches
CUresult cuModuleLoadData(CUmodule *out_module, const void *image);
CUresult cuModuleLoadDataEx(CUmodule *out_module, const void *image, unsigned num_options,
                            CUjit_option *options, void **values);
CUresult cuModuleUnload(CUmodule module);
CUresult cuModuleGetFunction(CUfunction *out_function, CUmodule module, const char *name);
CUresult cuModuleGetGlobal_v2(CUdeviceptr *out_memory, size_t *out_bytes, CUmodule module,
                              const char *name);
CUresult cuModuleGetFunctionCount(unsigned *out_count, CUmodule module);
CUresult cuModuleEnumerateFunctions(CUfunction *functions, unsigned num_functions, CUmodule module);
CUresult cuLibraryLoadData(CUlibrary *out_library, const void *image, CUjit_option *jit_options,
                           void **jit_values, unsigned num_jit_options, CUlibraryOption *options,
                           void **values, unsigned num_options);
CUresult cuLibraryUnload(CUlibrary library);
CUresult cuLibraryGetKernel(CUkernel *out_kernel, CUlibrary library, const char *name);
CUresult cuLibraryGetKernelCount(unsigned *out_count, CUlibrary library);
CUresult cuLibraryEnumerateKernels(CUkernel *kernels, unsigned num_kernels, CUlibrary library);
CUresult cuLibraryGetModule(CUmodule *out_module, CUlibrary library);
CUresult cuLibraryGetGlobal(CUdeviceptr *out_memory, size_t *out_bytes, CUlibrary library,
                            const char *name);
CUresult cuKernelGetFunction(CUfunction *out_function, CUkernel kernel);
CUresult cuKernelGetLibrary(CUlibrary *out_library, CUkernel kernel);
CUresult cuKernelGetName(const char **out_name, CUkernel kernel);
CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *out_offset, size_t *out_bytes);
CUresult cuKernelGetAttribute(int *out_value, CUfunction_attribute attribute, CUkernel kernel,
                              CUdevice device);
CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
                              CUdevice device);
CUresult cuFuncGetAttribute(int *out_value, CUfunction_attribute attribute, CUfunction function);
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value);
CUresult cuFuncGetModule(CUmodule *out_module, CUfunction function);
CUresult cuFuncGetName(const char **out_name, CUfunction function);
CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t *out_offset,
                            size_t *out_bytes);
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *out_blocks, CUfunction function,
                                                     int block_size, size_t shared_bytes);
CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                        CUstream stream, void **params, void **extra);
CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **params,
                          void **extra);

// Capture
CUresult cuStreamBeginCapture(CUstream stream);
CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode);
CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode *after,
                                     const CUgraphEdgeData *edges, size_t num_after,
                                     CUstreamCaptureMode mode);
CUresult cuStreamEndCapture(CUstream stream, CUgraph *out_graph);
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *out_status);
CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *out_status,
                                cuuint64_t *out_id);
CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *out_status,
                                   cuuint64_t *out_id, CUgraph *out_graph,
                                   const CUgraphNode **out_after, size_t *out_num_after);
CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus *out_status,
                                   cuuint64_t *out_id, CUgraph *out_graph,
                                   const CUgraphNode **out_after, const CUgraphEdgeData **out_edges,
                                   size_t *out_num_after);
CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *after, size_t num_after,
                                           unsigned flags);
CUresult cuStreamUpdateCaptureDependencies_v2(CUstream stream, CUgraphNode *after,
                                              const CUgraphEdgeData *edges, size_t num_after,
                                              unsigned flags);
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode);

// Graphs
CUresult cuGraphCreate(CUgraph *out_graph, unsigned flags);
CUresult cuGraphDestroy(CUgraph graph);
CUresult cuGraphClone(CUgraph *out_graph, CUgraph graph);
CUresult cuGraphAddEmptyNode(CUgraphNode *out_node, CUgraph graph, const CUgraphNode *after,
                             size_t num_after);
CUresult cuGraphAddKernelNode(CUgraphNode *out_node, CUgraph graph, const CUgraphNode *after,
                              size_t num_after, const CUDA_KERNEL_NODE_PARAMS_v1 *params);
CUresult cuGraphAddKernelNode_v2(CUgraphNode *out_node, CUgraph graph, const CUgraphNode *after,
                                 size_t num_after, const CUDA_KERNEL_NODE_PARAMS *params);
CUresult cuGraphAddMemcpyNode(CUgraphNode *out_node, CUgraph graph, const CUgraphNode *after,
                              size_t num_after, const CUDA_MEMCPY3D *copy, CUcontext context);
CUresult cuGraphAddMemsetNode(CUgraphNode *out_node, CUgraph graph, const CUgraphNode *after,
                              size_t num_after, const CUDA_MEMSET_NODE_PARAMS *fill,
                              CUcontext context);
CUresult cuGraphAddHostNode(CUgraphNode *out_node, CUgraph graph, const CUgraphNode *after,
                            size_t num_after, const CUDA_HOST_NODE_PARAMS *params);
CUresult cuGraphAddBatchMemOpNode(CUgraphNode *out_node, CUgraph graph, const CUgraphNode *after,
                                  size_t num_after, const CUDA_BATCH_MEM_OP_NODE_PARAMS *params);
CUresult cuGraphAddChildGraphNode(CUgraphNode *out_node, CUgraph graph, const CUgraphNode *after,
                                  size_t num_after, CUgraph child);
CUresult cuGraphAddEventRecordNode(CUgraphNode *out_node, CUgraph graph, const CUgraphNode *after,
                                   size_t num_after, CUevent event);
CUresult cuGraphAddEventWaitNode(CUgraphNode *out_node, CUgraph graph, const CUgraphNode *after,
                                 size_t num_after, CUevent event);
CUresult cuGraphAddMemAllocNode(CUgraphNode *out_node, CUgraph graph, const CUgraphNode *after,
                                size_t num_after, CUDA_MEM_ALLOC_NODE_PARAMS *params);
CUresult cuGraphAddMemFreeNode(CUgraphNode *out_node, CUgraph graph, const CUgraphNode *after,
                               size_t num_after, CUdeviceptr memory);
CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle *out_handle, CUgraph graph,
                                        CUcontext context, unsigned first_value, unsigned flags);
CUresult cuGraphAddNode_v2(CUgraphNode *out_node, CUgraph graph, const CUgraphNode *after,
                           const CUgraphEdgeData *edges, size_t num_after,
                           CUgraphNodeParams *params);
CUresult cuGraphDestroyNode(CUgraphNode node);
CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                size_t count);
CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                   const CUgraphEdgeData *edges, size_t count);
CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                   size_t count);
CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                      const CUgraphEdgeData *edges, size_t count);
CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *num_nodes);
CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode *nodes, size_t *num_nodes);
CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *num_edges);
CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode *from, CUgraphNode *to,
                            CUgraphEdgeData *edges, size_t *num_edges);
CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *before, size_t *num_before);
CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *before,
                                       CUgraphEdgeData *edges, size_t *num_before);
CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *after, size_t *num_after);
CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode *after,
                                         CUgraphEdgeData *edges, size_t *num_after);
CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *out_type);
CUresult cuGraphNodeGetParams(CUgraphNode node, CUgraphNodeParams *out_params);
CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D *out_params);
CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *out_params);
CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS *out_params);
CUresult cuGraphBatchMemOpNodeGetParams(CUgraphNode node,
                                        CUDA_BATCH_MEM_OP_NODE_PARAMS *out_params);
CUresult cuGraphExternalSemaphoresSignalNodeGetParams(CUgraphNode node,
                                                      CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *out_params);
CUresult cuGraphExternalSemaphoresWaitNodeGetParams(CUgraphNode node,
                                                    CUDA_EXT_SEM_WAIT_NODE_PARAMS *out_params);
CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *out_params);
CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr *out_memory);
CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *out_graph);
CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent *out_event);
CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent *out_event);
CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *out_params);
CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *out_params);
CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *params);
CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params);
CUresult cuGraphKernelNodeSetAttribute(CUgraphNode node, CUkernelNodeAttrID attribute,
                                       const CUkernelNodeAttrValue *value);
CUresult cuGraphKernelNodeGetAttribute(CUgraphNode node, CUkernelNodeAttrID attribute,
                                       CUkernelNodeAttrValue *out_value);
CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from);

// Executable graphs
CUresult cuGraphInstantiateWithFlags(CUgraphExec *out_exec, CUgraph graph,
                                     unsigned long long flags);
CUresult cuGraphInstantiateWithParams(CUgraphExec *out_exec, CUgraph graph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS *params);
CUresult cuGraphInstantiate(CUgraphExec *out_exec, CUgraph graph, CUgraphNode *out_error_node,
                            char *log, size_t log_bytes);
CUresult cuGraphInstantiate_v2(CUgraphExec *out_exec, CUgraph graph, CUgraphNode *out_error_node,
                               char *log, size_t log_bytes);
CUresult cuGraphExecDestroy(CUgraphExec exec);
CUresult cuGraphExecGetFlags(CUgraphExec exec, cuuint64_t *out_flags);
CUresult cuGraphUpload(CUgraphExec exec, CUstream stream);
CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream);
CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *out_error_node,
                           CUgraphExecUpdateResult *out_result);
CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph,
                              CUgraphExecUpdateResultInfo *out_info);
CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_KERNEL_NODE_PARAMS_v1 *params);
CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS *params);
CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_MEMCPY3D *copy, CUcontext context);
CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_MEMSET_NODE_PARAMS *fill, CUcontext context);
CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                      const CUDA_HOST_NODE_PARAMS *params);
CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child);
CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned enabled);
CUresult cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode node, unsigned *out_enabled);

#pragma GCC visibility pop

#endif
