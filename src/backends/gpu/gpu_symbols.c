// SPDX-License-Identifier: Apache-2.0
// Which symbol of which vendor's library fills which slot, and whether it may be missing.
#include "backends/gpu/gpu_api.h"
#include "backends/gpu/gpu_loader.h"

// A row has the slot, and the names of a vendor, of which one must be there or may.
#define SLOT(name) .offset = offsetof(struct gpu_api, name)
#define COMPILER_SLOT(name) .offset = offsetof(struct gpu_compiler_api, name)
#define ASSEMBLER_SLOT(name) .offset = offsetof(struct gpu_assembler_api, name)
#define CUDA(...) .names[GPU_CUDA] = { __VA_ARGS__ }
#define HIP(...) .names[GPU_HIP] = { __VA_ARGS__ }
#define MAY_CUDA(...) CUDA(__VA_ARGS__), .optional[GPU_CUDA] = true
#define MAY_HIP(...) HIP(__VA_ARGS__), .optional[GPU_HIP] = true

// Names with a version come first. The plain name of such a function is an older one, of another
// shape or meaning. It stands beside only where the shape is the same. On CUDA, functions are
// required if every driver since 11.4 has them.
static const struct gpu_symbol driver_rows[] = {
    { SLOT(initialize), CUDA("cuInit"), HIP("hipInit") },
    { SLOT(driver_version), CUDA("cuDriverGetVersion"), HIP("hipDriverGetVersion") },
    { SLOT(runtime_version), HIP("hipRuntimeGetVersion") },
    { SLOT(error_name), CUDA("cuGetErrorName") },
    { SLOT(error_string), CUDA("cuGetErrorString") },
    { SLOT(hip_error_name), HIP("hipGetErrorName") },
    { SLOT(hip_error_string), HIP("hipGetErrorString") },
    { SLOT(device_count), CUDA("cuDeviceGetCount"), HIP("hipGetDeviceCount") },
    { SLOT(device_get), CUDA("cuDeviceGet"), HIP("hipDeviceGet") },
    { SLOT(device_name), CUDA("cuDeviceGetName"), HIP("hipDeviceGetName") },
    { SLOT(device_memory), CUDA("cuDeviceTotalMem_v2"), HIP("hipDeviceTotalMem") },
    { SLOT(device_bus_id), CUDA("cuDeviceGetPCIBusId"), HIP("hipDeviceGetPCIBusId") },
    { SLOT(device_attribute), CUDA("cuDeviceGetAttribute"), HIP("hipDeviceGetAttribute") },
    { SLOT(device_properties), MAY_HIP("hipGetDevicePropertiesR0600", "hipGetDeviceProperties") },
    { SLOT(context_retain), CUDA("cuDevicePrimaryCtxRetain") },
    { SLOT(context_release), CUDA("cuDevicePrimaryCtxRelease_v2", "cuDevicePrimaryCtxRelease") },
    { SLOT(context_get_current), CUDA("cuCtxGetCurrent") },
    { SLOT(context_set_current), CUDA("cuCtxSetCurrent") },
    { SLOT(context_device), CUDA("cuCtxGetDevice") },
    { SLOT(device_get_current), HIP("hipGetDevice") },
    { SLOT(device_set_current), HIP("hipSetDevice") },
    { SLOT(device_can_access_peer), CUDA("cuDeviceCanAccessPeer"), HIP("hipDeviceCanAccessPeer") },
    { SLOT(context_enable_peer), CUDA("cuCtxEnablePeerAccess") },
    { SLOT(hip_enable_peer), HIP("hipDeviceEnablePeerAccess") },
    { SLOT(priority_range), CUDA("cuCtxGetStreamPriorityRange"),
      HIP("hipDeviceGetStreamPriorityRange") },

    // Memory
    { SLOT(memory_allocate), CUDA("cuMemAlloc_v2"), HIP("hipMalloc") },
    { SLOT(managed_allocate), MAY_CUDA("cuMemAllocManaged"), MAY_HIP("hipMallocManaged") },
    { SLOT(memory_prefetch), MAY_CUDA("cuMemPrefetchAsync"), MAY_HIP("hipMemPrefetchAsync") },
    { SLOT(memory_free), CUDA("cuMemFree_v2"), HIP("hipFree") },
    { SLOT(host_allocate), CUDA("cuMemHostAlloc"), HIP("hipHostMalloc") },
    { SLOT(host_free), CUDA("cuMemFreeHost"), HIP("hipHostFree") },
    { SLOT(hip_signal_allocate), MAY_HIP("hipExtMallocWithFlags") },
    { SLOT(pointer_attribute), CUDA("cuPointerGetAttribute"), MAY_HIP("hipPointerGetAttribute") },
    { SLOT(address_range), MAY_CUDA("cuMemGetAddressRange_v2") },
    { SLOT(mapping_retain), MAY_CUDA("cuMemRetainAllocationHandle") },
    { SLOT(mapping_release), MAY_CUDA("cuMemRelease") },
    { SLOT(mapping_granularity), MAY_CUDA("cuMemGetAllocationGranularity") },
    { SLOT(address_reserve), MAY_CUDA("cuMemAddressReserve") },
    { SLOT(address_free), MAY_CUDA("cuMemAddressFree") },
    { SLOT(mapping_create), MAY_CUDA("cuMemCreate") },
    { SLOT(mapping_map), MAY_CUDA("cuMemMap") },
    { SLOT(mapping_access), MAY_CUDA("cuMemSetAccess") },
    { SLOT(mapping_unmap), MAY_CUDA("cuMemUnmap") },
    { SLOT(host_register), MAY_CUDA("cuMemHostRegister_v2") },
    { SLOT(host_unregister), MAY_CUDA("cuMemHostUnregister") },
    { SLOT(hip_address_range), MAY_HIP("hipMemGetAddressRange") },

    // Streams and events
    { SLOT(stream_create), CUDA("cuStreamCreateWithPriority"), HIP("hipStreamCreateWithPriority") },
    { SLOT(stream_destroy), CUDA("cuStreamDestroy_v2"), HIP("hipStreamDestroy") },
    { SLOT(stream_synchronize), CUDA("cuStreamSynchronize"), HIP("hipStreamSynchronize") },
    { SLOT(stream_query), CUDA("cuStreamQuery"), HIP("hipStreamQuery") },
    { SLOT(stream_wait), CUDA("cuStreamWaitEvent"), HIP("hipStreamWaitEvent") },
    { SLOT(event_create), CUDA("cuEventCreate"), HIP("hipEventCreateWithFlags") },
    { SLOT(event_destroy), CUDA("cuEventDestroy_v2"), HIP("hipEventDestroy") },
    { SLOT(event_record), CUDA("cuEventRecord"), HIP("hipEventRecord") },
    { SLOT(event_record_with), MAY_CUDA("cuEventRecordWithFlags") },
    { SLOT(event_query), CUDA("cuEventQuery"), HIP("hipEventQuery") },
    { SLOT(event_synchronize), CUDA("cuEventSynchronize"), HIP("hipEventSynchronize") },
    { SLOT(event_elapsed), CUDA("cuEventElapsedTime_v2", "cuEventElapsedTime"),
      HIP("hipEventElapsedTime") },

    // Work on streams
    { SLOT(copy), CUDA("cuMemcpyAsync") },
    { SLOT(hip_copy), HIP("hipMemcpyAsync") },
    { SLOT(fill8), CUDA("cuMemsetD8Async"), HIP("hipMemsetD8Async") },
    { SLOT(fill16), CUDA("cuMemsetD16Async"), HIP("hipMemsetD16Async") },
    { SLOT(fill32), CUDA("cuMemsetD32Async"), HIP("hipMemsetD32Async") },
    { SLOT(copy_rows), MAY_CUDA("cuMemcpy3DAsync_v2") },
    { SLOT(fill_rows8), MAY_CUDA("cuMemsetD2D8Async") },
    { SLOT(fill_rows16), MAY_CUDA("cuMemsetD2D16Async") },
    { SLOT(fill_rows32), MAY_CUDA("cuMemsetD2D32Async") },
    { SLOT(host_call), CUDA("cuLaunchHostFunc"), MAY_HIP("hipLaunchHostFunc") },
    { SLOT(stream_wait_value), MAY_CUDA("cuStreamWaitValue32_v2") },
    { SLOT(stream_operations), MAY_CUDA("cuStreamBatchMemOp_v2") },
    { SLOT(stream_write_value), MAY_CUDA("cuStreamWriteValue32_v2"),
      MAY_HIP("hipStreamWriteValue32") },
    { SLOT(hip_stream_wait_value), MAY_HIP("hipStreamWaitValue64") },
    { SLOT(hip_stream_wait_value32), MAY_HIP("hipStreamWaitValue32") },
    { SLOT(semaphore_import), MAY_CUDA("cuImportExternalSemaphore"),
      MAY_HIP("hipImportExternalSemaphore") },
    { SLOT(semaphore_destroy), MAY_CUDA("cuDestroyExternalSemaphore"),
      MAY_HIP("hipDestroyExternalSemaphore") },
    { SLOT(semaphore_signal), MAY_CUDA("cuSignalExternalSemaphoresAsync"),
      MAY_HIP("hipSignalExternalSemaphoresAsync") },
    { SLOT(semaphore_wait), MAY_CUDA("cuWaitExternalSemaphoresAsync"),
      MAY_HIP("hipWaitExternalSemaphoresAsync") },
    { SLOT(stream_callback), HIP("hipStreamAddCallback") },
    { SLOT(launch), CUDA("cuLaunchKernel"), HIP("hipModuleLaunchKernel") },
    { SLOT(launch_config), MAY_CUDA("cuLaunchKernelEx") },
    { SLOT(hip_launch_cooperative), MAY_HIP("hipModuleLaunchCooperativeKernel") },

    // Modules and functions
    { SLOT(module_load), CUDA("cuModuleLoadData"), HIP("hipModuleLoadData") },
    { SLOT(module_unload), CUDA("cuModuleUnload"), HIP("hipModuleUnload") },
    { SLOT(module_function), CUDA("cuModuleGetFunction"), HIP("hipModuleGetFunction") },
    { SLOT(module_variable), MAY_CUDA("cuModuleGetGlobal_v2") },
    { SLOT(function_get), MAY_CUDA("cuFuncGetAttribute"), MAY_HIP("hipFuncGetAttribute") },
    { SLOT(function_set), MAY_CUDA("cuFuncSetAttribute") },
    { SLOT(function_parameter), MAY_CUDA("cuFuncGetParamInfo") },
    { SLOT(function_name), MAY_CUDA("cuFuncGetName") },
    { SLOT(function_module), MAY_CUDA("cuFuncGetModule") },
    { SLOT(kernel_function), MAY_CUDA("cuKernelGetFunction") },
    { SLOT(function_occupancy), MAY_CUDA("cuOccupancyMaxActiveBlocksPerMultiprocessor"),
      MAY_HIP("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor") },

    // Graphs
    { SLOT(graph_create), CUDA("cuGraphCreate") },
    { SLOT(graph_add_kernel), CUDA("cuGraphAddKernelNode_v2", "cuGraphAddKernelNode") },
    { SLOT(graph_add_copy), CUDA("cuGraphAddMemcpyNode") },
    { SLOT(graph_add_fill), CUDA("cuGraphAddMemsetNode") },
    { SLOT(graph_add_host), CUDA("cuGraphAddHostNode") },
    { SLOT(graph_add_memory_operations), MAY_CUDA("cuGraphAddBatchMemOpNode") },
    { SLOT(graph_add_empty), CUDA("cuGraphAddEmptyNode") },
    { SLOT(graph_add_record), MAY_CUDA("cuGraphAddEventRecordNode") },
    { SLOT(graph_add_wait), MAY_CUDA("cuGraphAddEventWaitNode") },
    { SLOT(graph_add_child), CUDA("cuGraphAddChildGraphNode") },
    { SLOT(graph_add_node), MAY_CUDA("cuGraphAddNode_v2") },
    { SLOT(graph_create_condition), MAY_CUDA("cuGraphConditionalHandleCreate") },
    { SLOT(graph_add_edges), MAY_CUDA("cuGraphAddDependencies_v2") },
    { SLOT(node_set_attribute), MAY_CUDA("cuGraphKernelNodeSetAttribute") },
    { SLOT(graph_nodes), CUDA("cuGraphGetNodes") },
    { SLOT(node_type), CUDA("cuGraphNodeGetType") },
    { SLOT(graph_edges), MAY_CUDA("cuGraphGetEdges_v2") },
    { SLOT(node_kernel), MAY_CUDA("cuGraphKernelNodeGetParams_v2") },
    { SLOT(node_copy), CUDA("cuGraphMemcpyNodeGetParams") },
    { SLOT(node_fill), MAY_CUDA("cuGraphMemsetNodeGetParams") },
    { SLOT(node_host), MAY_CUDA("cuGraphHostNodeGetParams") },
    { SLOT(node_child), MAY_CUDA("cuGraphChildGraphNodeGetGraph") },
    { SLOT(node_record), MAY_CUDA("cuGraphEventRecordNodeGetEvent") },
    { SLOT(node_wait), MAY_CUDA("cuGraphEventWaitNodeGetEvent") },
    { SLOT(node_operations), MAY_CUDA("cuGraphBatchMemOpNodeGetParams") },
    { SLOT(node_signal), MAY_CUDA("cuGraphExternalSemaphoresSignalNodeGetParams") },
    { SLOT(node_await), MAY_CUDA("cuGraphExternalSemaphoresWaitNodeGetParams") },
    { SLOT(node_allocation), MAY_CUDA("cuGraphMemAllocNodeGetParams") },
    { SLOT(node_free), MAY_CUDA("cuGraphMemFreeNodeGetParams") },
    { SLOT(node_attribute), MAY_CUDA("cuGraphKernelNodeGetAttribute") },
    { SLOT(graph_instantiate), CUDA("cuGraphInstantiateWithFlags") },
    { SLOT(executable_destroy), CUDA("cuGraphExecDestroy") },
    { SLOT(executable_launch), CUDA("cuGraphLaunch") },
    { SLOT(executable_set_kernel),
      CUDA("cuGraphExecKernelNodeSetParams_v2", "cuGraphExecKernelNodeSetParams") },
    { SLOT(executable_set_copy), MAY_CUDA("cuGraphExecMemcpyNodeSetParams") },
    { SLOT(executable_set_fill), MAY_CUDA("cuGraphExecMemsetNodeSetParams") },
    { SLOT(executable_set_host), MAY_CUDA("cuGraphExecHostNodeSetParams") },
    { SLOT(executable_set_child), MAY_CUDA("cuGraphExecChildGraphNodeSetParams") },
    { SLOT(node_set_enabled), MAY_CUDA("cuGraphNodeSetEnabled") },

    // Captures and errors
    { SLOT(capture_begin), CUDA("cuStreamBeginCapture_v2"), MAY_HIP("hipStreamBeginCapture") },
    { SLOT(capture_end), CUDA("cuStreamEndCapture"), MAY_HIP("hipStreamEndCapture") },
    { SLOT(graph_destroy), CUDA("cuGraphDestroy"), MAY_HIP("hipGraphDestroy") },
    { SLOT(stream_is_capturing), CUDA("cuStreamIsCapturing"), MAY_HIP("hipStreamIsCapturing") },
    { SLOT(capture_info), MAY_CUDA("cuStreamGetCaptureInfo_v3") },
    { SLOT(capture_go_on), MAY_CUDA("cuStreamUpdateCaptureDependencies_v2") },
    { SLOT(exchange_capture_mode), CUDA("cuThreadExchangeStreamCaptureMode"),
      MAY_HIP("hipThreadExchangeStreamCaptureMode") },
    { SLOT(hip_peek_error), HIP("hipPeekAtLastError") },
    { SLOT(hip_take_error), HIP("hipGetLastError") },
};

static const struct gpu_symbol compiler_rows[] = {
    { COMPILER_SLOT(create), CUDA("nvrtcCreateProgram"), HIP("hiprtcCreateProgram") },
    { COMPILER_SLOT(compile), CUDA("nvrtcCompileProgram"), HIP("hiprtcCompileProgram") },
    { COMPILER_SLOT(destroy), CUDA("nvrtcDestroyProgram"), HIP("hiprtcDestroyProgram") },
    { COMPILER_SLOT(log_bytes), CUDA("nvrtcGetProgramLogSize"), HIP("hiprtcGetProgramLogSize") },
    { COMPILER_SLOT(log), CUDA("nvrtcGetProgramLog"), HIP("hiprtcGetProgramLog") },
    { COMPILER_SLOT(code_bytes), MAY_CUDA("nvrtcGetCUBINSize"), HIP("hiprtcGetCodeSize") },
    { COMPILER_SLOT(code), MAY_CUDA("nvrtcGetCUBIN"), HIP("hiprtcGetCode") },
    { COMPILER_SLOT(text_bytes), CUDA("nvrtcGetPTXSize") },
    { COMPILER_SLOT(text), CUDA("nvrtcGetPTX") },
    { COMPILER_SLOT(num_architectures), MAY_CUDA("nvrtcGetNumSupportedArchs") },
    { COMPILER_SLOT(architectures), MAY_CUDA("nvrtcGetSupportedArchs") },
    { COMPILER_SLOT(version), MAY_CUDA("nvrtcVersion"), MAY_HIP("hiprtcVersion") },
    { COMPILER_SLOT(add_expression), CUDA("nvrtcAddNameExpression"),
      HIP("hiprtcAddNameExpression") },
    { COMPILER_SLOT(lowered_name), CUDA("nvrtcGetLoweredName"), HIP("hiprtcGetLoweredName") },
    { COMPILER_SLOT(error_string), CUDA("nvrtcGetErrorString"), HIP("hiprtcGetErrorString") },
};

static const struct gpu_symbol assembler_rows[] = {
    { ASSEMBLER_SLOT(create), CUDA("nvJitLinkCreate") },
    { ASSEMBLER_SLOT(destroy), CUDA("nvJitLinkDestroy") },
    { ASSEMBLER_SLOT(add), CUDA("nvJitLinkAddData") },
    { ASSEMBLER_SLOT(complete), CUDA("nvJitLinkComplete") },
    { ASSEMBLER_SLOT(code_bytes), CUDA("nvJitLinkGetLinkedCubinSize") },
    { ASSEMBLER_SLOT(code), CUDA("nvJitLinkGetLinkedCubin") },
    { ASSEMBLER_SLOT(log_bytes), CUDA("nvJitLinkGetErrorLogSize") },
    { ASSEMBLER_SLOT(log), CUDA("nvJitLinkGetErrorLog") },
    { ASSEMBLER_SLOT(version), MAY_CUDA("nvJitLinkVersion") },
};

const struct gpu_symbol_table braid_gpu_symbols = {
    driver_rows,
    sizeof(driver_rows) / sizeof(driver_rows[0]),
};

const struct gpu_symbol_table braid_gpu_compiler_symbols = {
    compiler_rows,
    sizeof(compiler_rows) / sizeof(compiler_rows[0]),
};

const struct gpu_symbol_table braid_gpu_assembler_symbols = {
    assembler_rows,
    sizeof(assembler_rows) / sizeof(assembler_rows[0]),
};
