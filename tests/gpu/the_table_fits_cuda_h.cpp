// SPDX-License-Identifier: Apache-2.0
// The CUDA column against cuda.h and nvrtc.h, where they are installed.
#include <cuda.h>
#include <nvrtc.h>

#include "abi.hpp"

extern "C" {
#include "backends/cuda/cuda_layouts.h"
}

// As it was before 12.2. The library has it under that name.
#undef cuMemPrefetchAsync
extern "C" CUresult cuMemPrefetchAsync(CUdeviceptr memory, size_t bytes, CUdevice device,
                                       CUstream stream);

#define DRIVER(slot, function) ABI_ROW(gpu_api, braid_gpu_symbols, GPU_CUDA, slot, function)
#define COMPILER(slot, function)                                                                   \
    ABI_ROW(gpu_compiler_api, braid_gpu_compiler_symbols, GPU_CUDA, slot, function)

static void check_device_calls()
{
    DRIVER(initialize, cuInit);
    DRIVER(driver_version, cuDriverGetVersion);
    DRIVER(error_name, cuGetErrorName);
    DRIVER(error_string, cuGetErrorString);
    DRIVER(device_count, cuDeviceGetCount);
    DRIVER(device_get, cuDeviceGet);
    DRIVER(device_name, cuDeviceGetName);
    DRIVER(device_memory, cuDeviceTotalMem);
    DRIVER(device_bus_id, cuDeviceGetPCIBusId);
    DRIVER(device_attribute, cuDeviceGetAttribute);
    DRIVER(context_retain, cuDevicePrimaryCtxRetain);
    DRIVER(context_release, cuDevicePrimaryCtxRelease);
    DRIVER(context_get_current, cuCtxGetCurrent);
    DRIVER(context_set_current, cuCtxSetCurrent);
    DRIVER(context_device, cuCtxGetDevice);
    DRIVER(device_can_access_peer, cuDeviceCanAccessPeer);
    DRIVER(context_enable_peer, cuCtxEnablePeerAccess);
    DRIVER(priority_range, cuCtxGetStreamPriorityRange);
    DRIVER(memory_allocate, cuMemAlloc);
    DRIVER(managed_allocate, cuMemAllocManaged);
    DRIVER(memory_prefetch, cuMemPrefetchAsync);
    DRIVER(memory_free, cuMemFree);
    DRIVER(host_allocate, cuMemHostAlloc);
    DRIVER(host_free, cuMemFreeHost);
    DRIVER(pointer_attribute, cuPointerGetAttribute);
    DRIVER(address_range, cuMemGetAddressRange);
    DRIVER(mapping_retain, cuMemRetainAllocationHandle);
    DRIVER(mapping_release, cuMemRelease);
    DRIVER(mapping_granularity, cuMemGetAllocationGranularity);
    DRIVER(address_reserve, cuMemAddressReserve);
    DRIVER(address_free, cuMemAddressFree);
    DRIVER(mapping_create, cuMemCreate);
    DRIVER(mapping_map, cuMemMap);
    DRIVER(mapping_access, cuMemSetAccess);
    DRIVER(mapping_unmap, cuMemUnmap);
    DRIVER(host_register, cuMemHostRegister);
    DRIVER(host_unregister, cuMemHostUnregister);
}

static void check_stream_calls()
{
    DRIVER(stream_create, cuStreamCreateWithPriority);
    DRIVER(stream_destroy, cuStreamDestroy);
    DRIVER(stream_synchronize, cuStreamSynchronize);
    DRIVER(stream_query, cuStreamQuery);
    DRIVER(stream_wait, cuStreamWaitEvent);
    DRIVER(event_create, cuEventCreate);
    DRIVER(event_destroy, cuEventDestroy);
    DRIVER(event_record, cuEventRecord);
    DRIVER(event_record_with, cuEventRecordWithFlags);
    DRIVER(event_query, cuEventQuery);
    DRIVER(event_synchronize, cuEventSynchronize);
    DRIVER(event_elapsed, cuEventElapsedTime);
    DRIVER(copy, cuMemcpyAsync);
    DRIVER(fill8, cuMemsetD8Async);
    DRIVER(fill16, cuMemsetD16Async);
    DRIVER(fill32, cuMemsetD32Async);
    DRIVER(copy_rows, cuMemcpy3DAsync);
    DRIVER(fill_rows8, cuMemsetD2D8Async);
    DRIVER(fill_rows16, cuMemsetD2D16Async);
    DRIVER(fill_rows32, cuMemsetD2D32Async);
    DRIVER(host_call, cuLaunchHostFunc);
    DRIVER(stream_wait_value, cuStreamWaitValue32);
    DRIVER(stream_operations, cuStreamBatchMemOp);
    DRIVER(stream_write_value, cuStreamWriteValue32);
    DRIVER(semaphore_destroy, cuDestroyExternalSemaphore);
    DRIVER(semaphore_import, cuImportExternalSemaphore);
    DRIVER(semaphore_signal, cuSignalExternalSemaphoresAsync);
    DRIVER(semaphore_wait, cuWaitExternalSemaphoresAsync);
    DRIVER(launch, cuLaunchKernel);
    DRIVER(launch_config, cuLaunchKernelEx);
    DRIVER(module_load, cuModuleLoadData);
    DRIVER(module_unload, cuModuleUnload);
    DRIVER(module_function, cuModuleGetFunction);
    DRIVER(function_get, cuFuncGetAttribute);
    DRIVER(function_set, cuFuncSetAttribute);
    DRIVER(function_parameter, cuFuncGetParamInfo);
    DRIVER(function_name, cuFuncGetName);
    DRIVER(function_module, cuFuncGetModule);
    DRIVER(module_variable, cuModuleGetGlobal);
    DRIVER(kernel_function, cuKernelGetFunction);
    DRIVER(function_occupancy, cuOccupancyMaxActiveBlocksPerMultiprocessor);
}

static void check_graph_calls()
{
    DRIVER(graph_create, cuGraphCreate);
    DRIVER(graph_destroy, cuGraphDestroy);
    DRIVER(graph_add_kernel, cuGraphAddKernelNode);
    DRIVER(graph_add_copy, cuGraphAddMemcpyNode);
    DRIVER(graph_add_fill, cuGraphAddMemsetNode);
    DRIVER(graph_add_host, cuGraphAddHostNode);
    DRIVER(graph_add_memory_operations, cuGraphAddBatchMemOpNode);
    DRIVER(graph_add_empty, cuGraphAddEmptyNode);
    DRIVER(graph_add_record, cuGraphAddEventRecordNode);
    DRIVER(graph_add_wait, cuGraphAddEventWaitNode);
    DRIVER(graph_add_child, cuGraphAddChildGraphNode);
    DRIVER(graph_add_node, cuGraphAddNode);
    DRIVER(graph_create_condition, cuGraphConditionalHandleCreate);
    DRIVER(graph_add_edges, cuGraphAddDependencies);
    DRIVER(node_set_attribute, cuGraphKernelNodeSetAttribute);
    DRIVER(graph_nodes, cuGraphGetNodes);
    DRIVER(node_type, cuGraphNodeGetType);
    DRIVER(graph_instantiate, cuGraphInstantiateWithFlags);
    DRIVER(executable_destroy, cuGraphExecDestroy);
    DRIVER(executable_launch, cuGraphLaunch);
    DRIVER(executable_set_kernel, cuGraphExecKernelNodeSetParams);
    DRIVER(executable_set_copy, cuGraphExecMemcpyNodeSetParams);
    DRIVER(executable_set_fill, cuGraphExecMemsetNodeSetParams);
    DRIVER(executable_set_host, cuGraphExecHostNodeSetParams);
    DRIVER(executable_set_child, cuGraphExecChildGraphNodeSetParams);
    DRIVER(node_set_enabled, cuGraphNodeSetEnabled);
    DRIVER(capture_begin, cuStreamBeginCapture);
    DRIVER(capture_end, cuStreamEndCapture);
    DRIVER(stream_is_capturing, cuStreamIsCapturing);
    DRIVER(capture_info, cuStreamGetCaptureInfo);
    DRIVER(capture_go_on, cuStreamUpdateCaptureDependencies);
    DRIVER(exchange_capture_mode, cuThreadExchangeStreamCaptureMode);
}

static void check_calls_that_read_graphs()
{
    DRIVER(graph_edges, cuGraphGetEdges);
    DRIVER(node_kernel, cuGraphKernelNodeGetParams);
    DRIVER(node_copy, cuGraphMemcpyNodeGetParams);
    DRIVER(node_fill, cuGraphMemsetNodeGetParams);
    DRIVER(node_host, cuGraphHostNodeGetParams);
    DRIVER(node_child, cuGraphChildGraphNodeGetGraph);
    DRIVER(node_record, cuGraphEventRecordNodeGetEvent);
    DRIVER(node_wait, cuGraphEventWaitNodeGetEvent);
    DRIVER(node_operations, cuGraphBatchMemOpNodeGetParams);
    DRIVER(node_signal, cuGraphExternalSemaphoresSignalNodeGetParams);
    DRIVER(node_await, cuGraphExternalSemaphoresWaitNodeGetParams);
    DRIVER(node_allocation, cuGraphMemAllocNodeGetParams);
    DRIVER(node_free, cuGraphMemFreeNodeGetParams);
    DRIVER(node_attribute, cuGraphKernelNodeGetAttribute);
}

static void check_compiler_calls()
{
    COMPILER(create, nvrtcCreateProgram);
    COMPILER(compile, nvrtcCompileProgram);
    COMPILER(destroy, nvrtcDestroyProgram);
    COMPILER(log_bytes, nvrtcGetProgramLogSize);
    COMPILER(log, nvrtcGetProgramLog);
    COMPILER(code_bytes, nvrtcGetCUBINSize);
    COMPILER(code, nvrtcGetCUBIN);
    COMPILER(text_bytes, nvrtcGetPTXSize);
    COMPILER(text, nvrtcGetPTX);
    COMPILER(num_architectures, nvrtcGetNumSupportedArchs);
    COMPILER(architectures, nvrtcGetSupportedArchs);
    COMPILER(add_expression, nvrtcAddNameExpression);
    COMPILER(lowered_name, nvrtcGetLoweredName);
    COMPILER(version, nvrtcVersion);
    COMPILER(error_string, nvrtcGetErrorString);
}

static_assert(sizeof(CUresult) == sizeof(gpu_result) && sizeof(nvrtcResult) == sizeof(gpu_result));
static_assert(sizeof(CUdeviceptr) == sizeof(void *) && sizeof(CUdevice) == sizeof(gpu_device));

static_assert(GPU_SUCCESS == CUDA_SUCCESS && GPU_INVALID_VALUE == CUDA_ERROR_INVALID_VALUE);
static_assert(GPU_OUT_OF_MEMORY == CUDA_ERROR_OUT_OF_MEMORY);
static_assert(GPU_NO_DEVICE == CUDA_ERROR_NO_DEVICE);
static_assert(GPU_INVALID_DEVICE == CUDA_ERROR_INVALID_DEVICE);
static_assert(GPU_NO_BINARY == CUDA_ERROR_NO_BINARY_FOR_GPU);
static_assert(GPU_NOT_FOUND == CUDA_ERROR_NOT_FOUND && GPU_NOT_READY == CUDA_ERROR_NOT_READY);
static_assert(GPU_OUT_OF_RESOURCES == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
static_assert(GPU_NOT_SUPPORTED == CUDA_ERROR_NOT_SUPPORTED);
static_assert(GPU_CAPTURE_IMPLICIT == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
static_assert(CU_STREAM_CAPTURE_STATUS_NONE == 0);

static_assert(GPU_STREAM_NON_BLOCKING == CU_STREAM_NON_BLOCKING);
static_assert(GPU_EVENT_DEFAULT == CU_EVENT_DEFAULT);
static_assert(GPU_EVENT_DISABLE_TIMING == CU_EVENT_DISABLE_TIMING);
static_assert(GPU_HOST_PORTABLE == CU_MEMHOSTALLOC_PORTABLE);
static_assert(GPU_HOST_MAPPED == CU_MEMHOSTALLOC_DEVICEMAP);
static_assert(GPU_CAPTURE_THREAD_LOCAL == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
static_assert(GPU_MEMORY_HOST == CU_MEMORYTYPE_HOST);
static_assert(GPU_MEMORY_UNIFIED == CU_MEMORYTYPE_UNIFIED);
static_assert(GPU_POINTER_MEMORY_TYPE == CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
static_assert(GPU_POINTER_ON_DEVICE == CU_POINTER_ATTRIBUTE_DEVICE_POINTER);
static_assert(GPU_FUNCTION_MAX_THREADS == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
static_assert(GPU_FUNCTION_SHARED_BYTES == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
static_assert(GPU_FUNCTION_MAX_DYNAMIC_SHARED == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
static_assert(GPU_LAUNCH_COOPERATIVE == CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
static_assert(GPU_LAUNCH_CLUSTER == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
static_assert(GPU_LAUNCH_PROGRAMMATIC == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
static_assert(GPU_LAUNCH_PRIORITY == CU_LAUNCH_ATTRIBUTE_PRIORITY);
static_assert(GPU_EDGE_PROGRAMMATIC == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
static_assert(GPU_EDGE_PORT_PROGRAMMATIC == CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC);

static_assert(sizeof(gpu_attribute_value) == sizeof(CUlaunchAttributeValue));
static_assert(sizeof(gpu_attribute) == sizeof(CUlaunchAttribute));
ABI_MEMBER(gpu_attribute, id, CUlaunchAttribute, id);
ABI_MEMBER(gpu_attribute, value, CUlaunchAttribute, value);
ABI_MEMBER(gpu_attribute_value, cluster, CUlaunchAttributeValue, clusterDim);
ABI_MEMBER(gpu_attribute_value, programmatic, CUlaunchAttributeValue,
           programmaticStreamSerializationAllowed);
ABI_MEMBER(gpu_attribute_value, priority, CUlaunchAttributeValue, priority);

static_assert(sizeof(gpu_launch_config) == sizeof(CUlaunchConfig));
static_assert(offsetof(gpu_launch_config, grid) == offsetof(CUlaunchConfig, gridDimX));
static_assert(offsetof(gpu_launch_config, block) == offsetof(CUlaunchConfig, blockDimX));
ABI_MEMBER(gpu_launch_config, shared_bytes, CUlaunchConfig, sharedMemBytes);
ABI_MEMBER(gpu_launch_config, stream, CUlaunchConfig, hStream);
ABI_MEMBER(gpu_launch_config, attributes, CUlaunchConfig, attrs);
ABI_MEMBER(gpu_launch_config, num_attributes, CUlaunchConfig, numAttrs);

static_assert(sizeof(gpu_semaphore_source) == sizeof(CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC));
ABI_MEMBER(gpu_semaphore_source, type, CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC, type);
ABI_MEMBER(gpu_semaphore_source, fd, CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC, handle.fd);
static_assert(GPU_OPAQUE_FD == CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD);
static_assert(GPU_TIMELINE_FD == CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD);
static_assert(sizeof(gpu_semaphore_value) == sizeof(CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS));
static_assert(sizeof(gpu_semaphore_value) == sizeof(CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS));
ABI_MEMBER(gpu_semaphore_value, value, CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS, params.fence.value);
ABI_MEMBER(gpu_semaphore_value, value, CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS, params.fence.value);
static_assert(sizeof(gpu_edge_data) == sizeof(CUgraphEdgeData));
ABI_MEMBER(gpu_edge_data, from_port, CUgraphEdgeData, from_port);
ABI_MEMBER(gpu_edge_data, to_port, CUgraphEdgeData, to_port);
ABI_MEMBER(gpu_edge_data, type, CUgraphEdgeData, type);

static_assert(sizeof(cuda_kernel_parameters) == sizeof(CUDA_KERNEL_NODE_PARAMS));
ABI_MEMBER(cuda_kernel_parameters, function, CUDA_KERNEL_NODE_PARAMS, func);
static_assert(offsetof(cuda_kernel_parameters, grid) ==
              offsetof(CUDA_KERNEL_NODE_PARAMS, gridDimX));
static_assert(offsetof(cuda_kernel_parameters, block) ==
              offsetof(CUDA_KERNEL_NODE_PARAMS, blockDimX));
ABI_MEMBER(cuda_kernel_parameters, shared_bytes, CUDA_KERNEL_NODE_PARAMS, sharedMemBytes);
ABI_MEMBER(cuda_kernel_parameters, args, CUDA_KERNEL_NODE_PARAMS, kernelParams);
ABI_MEMBER(cuda_kernel_parameters, extra, CUDA_KERNEL_NODE_PARAMS, extra);
ABI_MEMBER(cuda_kernel_parameters, kernel, CUDA_KERNEL_NODE_PARAMS, kern);
ABI_MEMBER(cuda_kernel_parameters, context, CUDA_KERNEL_NODE_PARAMS, ctx);
// Drivers before 12.0 read the older struct, which ends before `kernel`.
static_assert(offsetof(cuda_kernel_parameters, kernel) == sizeof(CUDA_KERNEL_NODE_PARAMS_v1));

static_assert(sizeof(cuda_fill_parameters) == sizeof(CUDA_MEMSET_NODE_PARAMS));
ABI_MEMBER(cuda_fill_parameters, to, CUDA_MEMSET_NODE_PARAMS, dst);
ABI_MEMBER(cuda_fill_parameters, pitch, CUDA_MEMSET_NODE_PARAMS, pitch);
ABI_MEMBER(cuda_fill_parameters, value, CUDA_MEMSET_NODE_PARAMS, value);
ABI_MEMBER(cuda_fill_parameters, value_bytes, CUDA_MEMSET_NODE_PARAMS, elementSize);
ABI_MEMBER(cuda_fill_parameters, width, CUDA_MEMSET_NODE_PARAMS, width);
ABI_MEMBER(cuda_fill_parameters, height, CUDA_MEMSET_NODE_PARAMS, height);

static_assert(sizeof(cuda_loop_parameters) == sizeof(CUgraphNodeParams));
static_assert(GPU_NODE_KERNEL == CU_GRAPH_NODE_TYPE_KERNEL);
static_assert(GPU_NODE_COPY == CU_GRAPH_NODE_TYPE_MEMCPY);
static_assert(GPU_NODE_FILL == CU_GRAPH_NODE_TYPE_MEMSET);
static_assert(GPU_NODE_HOST == CU_GRAPH_NODE_TYPE_HOST);
static_assert(GPU_NODE_CHILD == CU_GRAPH_NODE_TYPE_GRAPH);
static_assert(GPU_NODE_EMPTY == CU_GRAPH_NODE_TYPE_EMPTY);
static_assert(GPU_NODE_WAIT == CU_GRAPH_NODE_TYPE_WAIT_EVENT);
static_assert(GPU_NODE_RECORD == CU_GRAPH_NODE_TYPE_EVENT_RECORD);
static_assert(GPU_NODE_ALLOCATION == CU_GRAPH_NODE_TYPE_MEM_ALLOC);
static_assert(GPU_NODE_FREE == CU_GRAPH_NODE_TYPE_MEM_FREE);
static_assert(GPU_NODE_CONDITIONAL == CU_GRAPH_NODE_TYPE_CONDITIONAL);
static_assert(GPU_CONDITION_IF == CU_GRAPH_COND_TYPE_IF);
static_assert(GPU_CONDITION_WHILE == CU_GRAPH_COND_TYPE_WHILE);
ABI_MEMBER(cuda_loop_parameters, type, CUgraphNodeParams, type);
ABI_MEMBER(cuda_loop_parameters, condition, CUgraphNodeParams, conditional.handle);
ABI_MEMBER(cuda_loop_parameters, condition_type, CUgraphNodeParams, conditional.type);
ABI_MEMBER(cuda_loop_parameters, num_bodies, CUgraphNodeParams, conditional.size);
ABI_MEMBER(cuda_loop_parameters, bodies, CUgraphNodeParams, conditional.phGraph_out);
ABI_MEMBER(cuda_loop_parameters, context, CUgraphNodeParams, conditional.ctx);

static_assert(sizeof(cuda_wait_value) == sizeof(CUstreamBatchMemOpParams));
static_assert(CUDA_WAIT_VALUE_32 == CU_STREAM_MEM_OP_WAIT_VALUE_32);
static_assert(GPU_WAIT_FOR_AT_LEAST == CU_STREAM_WAIT_VALUE_GEQ);
ABI_MEMBER(cuda_wait_value, operation, CUstreamBatchMemOpParams, waitValue.operation);
ABI_MEMBER(cuda_wait_value, word, CUstreamBatchMemOpParams, waitValue.address);
static_assert(offsetof(cuda_wait_value, value) ==
              offsetof(CUstreamBatchMemOpParams, waitValue.value));
ABI_MEMBER(cuda_wait_value, flags, CUstreamBatchMemOpParams, waitValue.flags);
ABI_MEMBER(cuda_wait_value, alias, CUstreamBatchMemOpParams, waitValue.alias);

static_assert(sizeof(cuda_operation_parameters) == sizeof(CUDA_BATCH_MEM_OP_NODE_PARAMS));
ABI_MEMBER(cuda_operation_parameters, context, CUDA_BATCH_MEM_OP_NODE_PARAMS, ctx);
ABI_MEMBER(cuda_operation_parameters, num, CUDA_BATCH_MEM_OP_NODE_PARAMS, count);
ABI_MEMBER(cuda_operation_parameters, operations, CUDA_BATCH_MEM_OP_NODE_PARAMS, paramArray);
ABI_MEMBER(cuda_operation_parameters, flags, CUDA_BATCH_MEM_OP_NODE_PARAMS, flags);
static_assert(sizeof(cuda_semaphore_parameters) == sizeof(CUDA_EXT_SEM_SIGNAL_NODE_PARAMS));
ABI_MEMBER(cuda_semaphore_parameters, semaphores, CUDA_EXT_SEM_SIGNAL_NODE_PARAMS, extSemArray);
ABI_MEMBER(cuda_semaphore_parameters, values, CUDA_EXT_SEM_SIGNAL_NODE_PARAMS, paramsArray);
ABI_MEMBER(cuda_semaphore_parameters, num, CUDA_EXT_SEM_SIGNAL_NODE_PARAMS, numExtSems);
static_assert(sizeof(cuda_semaphore_parameters) == sizeof(CUDA_EXT_SEM_WAIT_NODE_PARAMS));
ABI_MEMBER(cuda_semaphore_parameters, semaphores, CUDA_EXT_SEM_WAIT_NODE_PARAMS, extSemArray);
ABI_MEMBER(cuda_semaphore_parameters, values, CUDA_EXT_SEM_WAIT_NODE_PARAMS, paramsArray);
ABI_MEMBER(cuda_semaphore_parameters, num, CUDA_EXT_SEM_WAIT_NODE_PARAMS, numExtSems);

static_assert(sizeof(cuda_allocation_parameters) == sizeof(CUDA_MEM_ALLOC_NODE_PARAMS));
ABI_MEMBER(cuda_allocation_parameters, allocation_type, CUDA_MEM_ALLOC_NODE_PARAMS,
           poolProps.allocType);
ABI_MEMBER(cuda_allocation_parameters, handle_types, CUDA_MEM_ALLOC_NODE_PARAMS,
           poolProps.handleTypes);
ABI_MEMBER(cuda_allocation_parameters, location_type, CUDA_MEM_ALLOC_NODE_PARAMS,
           poolProps.location.type);
ABI_MEMBER(cuda_allocation_parameters, location, CUDA_MEM_ALLOC_NODE_PARAMS, poolProps.location.id);
ABI_MEMBER(cuda_allocation_parameters, accesses, CUDA_MEM_ALLOC_NODE_PARAMS, accessDescs);
ABI_MEMBER(cuda_allocation_parameters, num_accesses, CUDA_MEM_ALLOC_NODE_PARAMS, accessDescCount);
ABI_MEMBER(cuda_allocation_parameters, bytes, CUDA_MEM_ALLOC_NODE_PARAMS, bytesize);
ABI_MEMBER(cuda_allocation_parameters, memory, CUDA_MEM_ALLOC_NODE_PARAMS, dptr);

static_assert(sizeof(cuda_copy_parameters) == sizeof(CUDA_MEMCPY3D));
ABI_MEMBER(cuda_copy_parameters, from.x, CUDA_MEMCPY3D, srcXInBytes);
ABI_MEMBER(cuda_copy_parameters, from.lod, CUDA_MEMCPY3D, srcLOD);
ABI_MEMBER(cuda_copy_parameters, from.memory_type, CUDA_MEMCPY3D, srcMemoryType);
ABI_MEMBER(cuda_copy_parameters, from.host, CUDA_MEMCPY3D, srcHost);
ABI_MEMBER(cuda_copy_parameters, from.device, CUDA_MEMCPY3D, srcDevice);
ABI_MEMBER(cuda_copy_parameters, from.array, CUDA_MEMCPY3D, srcArray);
ABI_MEMBER(cuda_copy_parameters, from.pitch, CUDA_MEMCPY3D, srcPitch);
ABI_MEMBER(cuda_copy_parameters, from.height, CUDA_MEMCPY3D, srcHeight);
ABI_MEMBER(cuda_copy_parameters, to.x, CUDA_MEMCPY3D, dstXInBytes);
ABI_MEMBER(cuda_copy_parameters, to.memory_type, CUDA_MEMCPY3D, dstMemoryType);
ABI_MEMBER(cuda_copy_parameters, to.host, CUDA_MEMCPY3D, dstHost);
ABI_MEMBER(cuda_copy_parameters, to.device, CUDA_MEMCPY3D, dstDevice);
ABI_MEMBER(cuda_copy_parameters, to.array, CUDA_MEMCPY3D, dstArray);
ABI_MEMBER(cuda_copy_parameters, to.height, CUDA_MEMCPY3D, dstHeight);
ABI_MEMBER(cuda_copy_parameters, width, CUDA_MEMCPY3D, WidthInBytes);
ABI_MEMBER(cuda_copy_parameters, height, CUDA_MEMCPY3D, Height);
ABI_MEMBER(cuda_copy_parameters, depth, CUDA_MEMCPY3D, Depth);

static_assert(sizeof(gpu_host_parameters) == sizeof(CUDA_HOST_NODE_PARAMS));
ABI_MEMBER(gpu_host_parameters, call, CUDA_HOST_NODE_PARAMS, fn);
ABI_MEMBER(gpu_host_parameters, user, CUDA_HOST_NODE_PARAMS, userData);

static void check_attribute(int index, int expected, const char *name)
{
    if (braid_gpu_cuda.attributes[index] == expected)
        return;
    std::printf("# %s is %d and stands as %d\n", name, expected, braid_gpu_cuda.attributes[index]);
    abi::failures++;
}

static void check_attributes()
{
    check_attribute(GPU_MAX_THREADS, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, "threads");
    check_attribute(GPU_MAX_BLOCK_X, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, "block x");
    check_attribute(GPU_MAX_BLOCK_Y, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, "block y");
    check_attribute(GPU_MAX_BLOCK_Z, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, "block z");
    check_attribute(GPU_MAX_GRID_X, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, "grid x");
    check_attribute(GPU_MAX_GRID_Y, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, "grid y");
    check_attribute(GPU_MAX_GRID_Z, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, "grid z");
    check_attribute(GPU_MAX_SHARED, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, "shared");
    check_attribute(GPU_MAX_SHARED_OPTIN, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
                    "shared opt-in");
    check_attribute(GPU_NUM_UNITS, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, "units");
    check_attribute(GPU_COOPERATIVE, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH,
                    "cooperative launches");
    check_attribute(GPU_UNIT_THREADS, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
                    "threads of a unit");
    check_attribute(GPU_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, "major");
    check_attribute(GPU_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, "minor");
    check_attribute(GPU_CLUSTERS, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, "clusters");
}

int main()
{
    check_device_calls();
    check_stream_calls();
    check_graph_calls();
    check_calls_that_read_graphs();
    check_compiler_calls();
    check_attributes();
    int rows = abi::count_rows(braid_gpu_symbols, GPU_CUDA) +
               abi::count_rows(braid_gpu_compiler_symbols, GPU_CUDA);
    bool all = abi::rows_checked == rows;
    std::printf("1..2\n");
    std::printf("%s 1 - cuda.h %d agrees with the table\n", abi::failures ? "not ok" : "ok",
                CUDA_VERSION);
    std::printf("%s 2 - %d of %d rows compared\n", all ? "ok" : "not ok", abi::rows_checked, rows);
    return abi::failures || !all;
}
