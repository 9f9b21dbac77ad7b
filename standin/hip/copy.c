// SPDX-License-Identifier: Apache-2.0
// Copies and fills.
#include "cuda_driver.h"

#include <stdbool.h>

static bool is_direction(hipMemcpyKind kind)
{
    return (unsigned)kind <= (unsigned)hipMemcpyDefault;
}

hipError_t hipMemcpy(void *to, const void *from, size_t num_bytes, hipMemcpyKind kind)
{
    if (!is_direction(kind))
        return hip_fail(hipErrorInvalidMemcpyDirection);
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS && num_bytes)
        result = cuda.cuMemcpy(device_pointer(to), device_pointer(from), num_bytes);
    return hip_finish(result);
}

hipError_t hipMemcpyAsync(void *to, const void *from, size_t num_bytes, hipMemcpyKind kind,
                          hipStream_t stream)
{
    if (!is_direction(kind))
        return hip_fail(hipErrorInvalidMemcpyDirection);
    if (num_bytes && (!to || !from))
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS && num_bytes)
        result = cuda.cuMemcpyAsync(device_pointer(to), device_pointer(from), num_bytes,
                                    (CUstream)stream);
    return hip_finish(result);
}

hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t to, void *from, size_t num_bytes, hipStream_t stream)
{
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result = cuda.cuMemcpyHtoDAsync_v2(device_pointer(to), from, num_bytes, (CUstream)stream);
    return hip_finish(result);
}

hipError_t hipMemcpyDtoHAsync(void *to, hipDeviceptr_t from, size_t num_bytes, hipStream_t stream)
{
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result = cuda.cuMemcpyDtoHAsync_v2(to, device_pointer(from), num_bytes, (CUstream)stream);
    return hip_finish(result);
}

hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t to, hipDeviceptr_t from, size_t num_bytes,
                              hipStream_t stream)
{
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result = cuda.cuMemcpyDtoDAsync_v2(device_pointer(to), device_pointer(from), num_bytes,
                                           (CUstream)stream);
    return hip_finish(result);
}

hipError_t hipMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                              size_t num_bytes, hipStream_t stream)
{
    CUcontext to_context;
    CUcontext from_context;
    CUresult result = cuda_context_of(to_device, &to_context);
    if (result == CUDA_SUCCESS)
        result = cuda_context_of(from_device, &from_context);
    if (result == CUDA_SUCCESS)
        result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result = cuda.cuMemcpyPeerAsync(device_pointer(to), to_context, device_pointer(from),
                                        from_context, num_bytes, (CUstream)stream);
    return hip_finish(result);
}

hipError_t hipMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                            size_t width, size_t height, hipMemcpyKind kind, hipStream_t stream)
{
    if (!is_direction(kind))
        return hip_fail(hipErrorInvalidMemcpyDirection);
    CUDA_MEMCPY2D copy = {
        .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
        .srcDevice = device_pointer(from),
        .srcPitch = from_pitch,
        .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
        .dstDevice = device_pointer(to),
        .dstPitch = to_pitch,
        .WidthInBytes = width,
        .Height = height,
    };
    CUresult result = cuda_enter();
    return hip_finish(result ? result : cuda.cuMemcpy2DAsync_v2(&copy, (CUstream)stream));
}

hipError_t hipMemsetD8Async(hipDeviceptr_t to, unsigned char value, size_t count,
                            hipStream_t stream)
{
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result = cuda.cuMemsetD8Async(device_pointer(to), value, count, (CUstream)stream);
    return hip_finish(result);
}

hipError_t hipMemsetAsync(void *to, int value, size_t num_bytes, hipStream_t stream)
{
    return hipMemsetD8Async(to, (unsigned char)value, num_bytes, stream);
}

hipError_t hipMemsetD16Async(hipDeviceptr_t to, unsigned short value, size_t count,
                             hipStream_t stream)
{
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result = cuda.cuMemsetD16Async(device_pointer(to), value, count, (CUstream)stream);
    return hip_finish(result);
}

hipError_t hipMemsetD32Async(hipDeviceptr_t to, int value, size_t count, hipStream_t stream)
{
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result =
            cuda.cuMemsetD32Async(device_pointer(to), (unsigned)value, count, (CUstream)stream);
    return hip_finish(result);
}
