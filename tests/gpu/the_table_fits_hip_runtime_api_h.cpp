// SPDX-License-Identifier: Apache-2.0
// The HIP column against AMD's own headers, where they are installed.
#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>
#include <hip/hiprtc.h>

#include "abi.hpp"

#if HIP_VERSION_MAJOR * 100 + HIP_VERSION_MINOR < 505 // as it was declared when it came
extern "C" hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t, unsigned, unsigned, unsigned,
                                                       unsigned, unsigned, unsigned, unsigned,
                                                       hipStream_t, void **);
#endif

#define DRIVER(slot, function) ABI_ROW(gpu_api, braid_gpu_symbols, GPU_HIP, slot, function)
#define COMPILER(slot, function)                                                                   \
    ABI_ROW(gpu_compiler_api, braid_gpu_compiler_symbols, GPU_HIP, slot, function)

// Functions that the header overloads for C++ are chosen by the type they have in C.
template <class... P> using function = hipError_t (*)(P...);
#define OVERLOADED(slot, name, type)                                                               \
    do {                                                                                           \
        static_assert(abi::same_function<decltype(gpu_api::slot), type>::value, #slot);            \
        (void)static_cast<type>(&name);                                                            \
        abi::check_name(braid_gpu_symbols, GPU_HIP, offsetof(gpu_api, slot), #slot,                \
                        ABI_NAME(name));                                                           \
    } while (0)

static void check_device_calls()
{
    using allocate = function<void **, size_t>;
    using host_allocate = function<void **, size_t, unsigned>;
    DRIVER(initialize, hipInit);
    DRIVER(driver_version, hipDriverGetVersion);
    DRIVER(runtime_version, hipRuntimeGetVersion);
    DRIVER(hip_error_name, hipGetErrorName);
    DRIVER(hip_error_string, hipGetErrorString);
    DRIVER(device_count, hipGetDeviceCount);
    DRIVER(device_get, hipDeviceGet);
    DRIVER(device_name, hipDeviceGetName);
    DRIVER(device_memory, hipDeviceTotalMem);
    DRIVER(device_bus_id, hipDeviceGetPCIBusId);
    DRIVER(device_attribute, hipDeviceGetAttribute);
    DRIVER(device_properties, hipGetDeviceProperties);
    DRIVER(device_get_current, hipGetDevice);
    DRIVER(device_set_current, hipSetDevice);
    DRIVER(device_can_access_peer, hipDeviceCanAccessPeer);
    DRIVER(hip_enable_peer, hipDeviceEnablePeerAccess);
    DRIVER(priority_range, hipDeviceGetStreamPriorityRange);
    OVERLOADED(memory_allocate, hipMalloc, allocate);
    DRIVER(memory_free, hipFree);
    OVERLOADED(host_allocate, hipHostMalloc, host_allocate);
    OVERLOADED(managed_allocate, hipMallocManaged, host_allocate);
    DRIVER(host_free, hipHostFree);
    DRIVER(pointer_attribute, hipPointerGetAttribute);
    DRIVER(hip_address_range, hipMemGetAddressRange);
}

static void check_stream_calls()
{
    DRIVER(stream_create, hipStreamCreateWithPriority);
    DRIVER(stream_destroy, hipStreamDestroy);
    DRIVER(stream_synchronize, hipStreamSynchronize);
    DRIVER(stream_query, hipStreamQuery);
    DRIVER(stream_wait, hipStreamWaitEvent);
    DRIVER(event_create, hipEventCreateWithFlags);
    DRIVER(event_destroy, hipEventDestroy);
    DRIVER(event_record, hipEventRecord);
    DRIVER(event_query, hipEventQuery);
    DRIVER(event_synchronize, hipEventSynchronize);
    DRIVER(event_elapsed, hipEventElapsedTime);
    DRIVER(hip_copy, hipMemcpyAsync);
    DRIVER(fill8, hipMemsetD8Async);
    DRIVER(fill16, hipMemsetD16Async);
    DRIVER(fill32, hipMemsetD32Async);
    DRIVER(host_call, hipLaunchHostFunc);
    DRIVER(stream_callback, hipStreamAddCallback);
    DRIVER(launch, hipModuleLaunchKernel);
    DRIVER(hip_launch_cooperative, hipModuleLaunchCooperativeKernel);
    DRIVER(function_occupancy, hipModuleOccupancyMaxActiveBlocksPerMultiprocessor);
    DRIVER(module_load, hipModuleLoadData);
    DRIVER(module_unload, hipModuleUnload);
    DRIVER(module_function, hipModuleGetFunction);
    DRIVER(function_get, hipFuncGetAttribute);
}

static void check_other_calls()
{
    DRIVER(graph_destroy, hipGraphDestroy);
    DRIVER(memory_prefetch, hipMemPrefetchAsync);
    DRIVER(hip_stream_wait_value, hipStreamWaitValue64);
    DRIVER(hip_stream_wait_value32, hipStreamWaitValue32);
    DRIVER(stream_write_value, hipStreamWriteValue32);
    DRIVER(semaphore_destroy, hipDestroyExternalSemaphore);
    DRIVER(semaphore_import, hipImportExternalSemaphore);
    DRIVER(semaphore_signal, hipSignalExternalSemaphoresAsync);
    DRIVER(semaphore_wait, hipWaitExternalSemaphoresAsync);
    DRIVER(hip_signal_allocate, hipExtMallocWithFlags);
    DRIVER(capture_begin, hipStreamBeginCapture);
    DRIVER(capture_end, hipStreamEndCapture);
    DRIVER(stream_is_capturing, hipStreamIsCapturing);
    DRIVER(exchange_capture_mode, hipThreadExchangeStreamCaptureMode);
    DRIVER(hip_peek_error, hipPeekAtLastError);
    DRIVER(hip_take_error, hipGetLastError);
}

static void check_compiler_calls()
{
    COMPILER(create, hiprtcCreateProgram);
    COMPILER(compile, hiprtcCompileProgram);
    COMPILER(destroy, hiprtcDestroyProgram);
    COMPILER(log_bytes, hiprtcGetProgramLogSize);
    COMPILER(log, hiprtcGetProgramLog);
    COMPILER(code_bytes, hiprtcGetCodeSize);
    COMPILER(code, hiprtcGetCode);
    COMPILER(add_expression, hiprtcAddNameExpression);
    COMPILER(lowered_name, hiprtcGetLoweredName);
    COMPILER(version, hiprtcVersion);
    COMPILER(error_string, hiprtcGetErrorString);
}

static_assert(sizeof(hipError_t) == sizeof(gpu_result) &&
              sizeof(hiprtcResult) == sizeof(gpu_result));
static_assert(sizeof(hipDeviceptr_t) == sizeof(void *) &&
              sizeof(hipDevice_t) == sizeof(gpu_device));

static_assert(GPU_SUCCESS == hipSuccess && GPU_INVALID_VALUE == hipErrorInvalidValue);
static_assert(GPU_OUT_OF_MEMORY == hipErrorOutOfMemory);
static_assert(GPU_NO_DEVICE == hipErrorNoDevice && GPU_INVALID_DEVICE == hipErrorInvalidDevice);
static_assert(GPU_NO_BINARY == hipErrorNoBinaryForGpu);
static_assert(GPU_NOT_FOUND == hipErrorNotFound);
static_assert(GPU_NOT_READY == hipErrorNotReady);
static_assert(GPU_OUT_OF_RESOURCES == hipErrorLaunchOutOfResources);
static_assert(GPU_NOT_SUPPORTED == hipErrorNotSupported);
static_assert(GPU_CAPTURE_IMPLICIT == hipErrorStreamCaptureImplicit);
static_assert(hipStreamCaptureStatusNone == 0);

static_assert(GPU_STREAM_NON_BLOCKING == hipStreamNonBlocking);
static_assert(GPU_EVENT_DEFAULT == hipEventDefault);
static_assert(GPU_EVENT_DISABLE_TIMING == hipEventDisableTiming);
static_assert(GPU_HOST_PORTABLE == hipHostMallocPortable);
static_assert(GPU_HOST_MAPPED == hipHostMallocMapped);
static_assert(GPU_CAPTURE_THREAD_LOCAL == hipStreamCaptureModeThreadLocal);
static_assert(GPU_FUNCTION_MAX_THREADS == HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
static_assert(GPU_FUNCTION_SHARED_BYTES == HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
static_assert(GPU_FUNCTION_MAX_DYNAMIC_SHARED == HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
static_assert(GPU_COPY_DEFAULT == hipMemcpyDefault);

static void check_attribute(int index, int expected, const char *name)
{
    if (braid_gpu_hip.attributes[index] == expected)
        return;
    std::printf("# %s is %d and stands as %d\n", name, expected, braid_gpu_hip.attributes[index]);
    abi::failures++;
}

static void check_attributes()
{
    check_attribute(GPU_MAX_THREADS, hipDeviceAttributeMaxThreadsPerBlock, "threads");
    check_attribute(GPU_MAX_BLOCK_X, hipDeviceAttributeMaxBlockDimX, "block x");
    check_attribute(GPU_MAX_BLOCK_Y, hipDeviceAttributeMaxBlockDimY, "block y");
    check_attribute(GPU_MAX_BLOCK_Z, hipDeviceAttributeMaxBlockDimZ, "block z");
    check_attribute(GPU_MAX_GRID_X, hipDeviceAttributeMaxGridDimX, "grid x");
    check_attribute(GPU_MAX_GRID_Y, hipDeviceAttributeMaxGridDimY, "grid y");
    check_attribute(GPU_MAX_GRID_Z, hipDeviceAttributeMaxGridDimZ, "grid z");
    check_attribute(GPU_MAX_SHARED, hipDeviceAttributeMaxSharedMemoryPerBlock, "shared");
    check_attribute(GPU_NUM_UNITS, hipDeviceAttributeMultiprocessorCount, "units");
    check_attribute(GPU_UNIT_THREADS, hipDeviceAttributeMaxThreadsPerMultiProcessor,
                    "threads of a unit");
    check_attribute(GPU_MAJOR, hipDeviceAttributeComputeCapabilityMajor, "major");
    check_attribute(GPU_MINOR, hipDeviceAttributeComputeCapabilityMinor, "minor");
    check_attribute(GPU_COOPERATIVE, hipDeviceAttributeCooperativeLaunch, "cooperative launches");
}

int main()
{
    check_device_calls();
    check_stream_calls();
    check_other_calls();
    check_compiler_calls();
    check_attributes();
    int rows = abi::count_rows(braid_gpu_symbols, GPU_HIP) +
               abi::count_rows(braid_gpu_compiler_symbols, GPU_HIP);
    bool all = abi::rows_checked == rows;
    std::printf("1..2\n");
    std::printf("%s 1 - hip_runtime_api.h %d.%d agrees with the table\n",
                abi::failures ? "not ok" : "ok", HIP_VERSION_MAJOR, HIP_VERSION_MINOR);
    std::printf("%s 2 - %d of %d rows compared\n", all ? "ok" : "not ok", abi::rows_checked, rows);
    return abi::failures || !all;
}
