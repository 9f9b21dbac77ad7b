// SPDX-License-Identifier: Apache-2.0
// Streams and events, and host functions on streams.
#include "cuda_driver.h"

#include <stdbool.h>
#include <stdlib.h>

hipError_t hipStreamCreateWithFlags(hipStream_t *out_stream, unsigned flags)
{
    if (!out_stream || (flags & ~(unsigned)hipStreamNonBlocking))
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_enter();
    return hip_finish(result ? result : cuda.cuStreamCreate((CUstream *)out_stream, flags));
}

hipError_t hipStreamCreate(hipStream_t *out_stream)
{
    return hipStreamCreateWithFlags(out_stream, hipStreamDefault);
}

hipError_t hipStreamCreateWithPriority(hipStream_t *out_stream, unsigned flags, int priority)
{
    if (!out_stream || (flags & ~(unsigned)hipStreamNonBlocking))
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result = cuda.cuStreamCreateWithPriority((CUstream *)out_stream, flags, priority);
    return hip_finish(result);
}

hipError_t hipStreamDestroy(hipStream_t stream)
{
    if (!stream)
        return hip_fail(hipErrorInvalidHandle);
    CUresult result = cuda_enter();
    return hip_finish(result ? result : cuda.cuStreamDestroy_v2((CUstream)stream));
}

hipError_t hipStreamQuery(hipStream_t stream)
{
    CUresult result = cuda_enter();
    return hip_finish(result ? result : cuda.cuStreamQuery((CUstream)stream));
}

hipError_t hipStreamSynchronize(hipStream_t stream)
{
    CUresult result = cuda_enter();
    return hip_finish(result ? result : cuda.cuStreamSynchronize((CUstream)stream));
}

hipError_t hipStreamGetFlags(hipStream_t stream, unsigned *out_flags)
{
    if (!out_flags)
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_enter();
    return hip_finish(result ? result : cuda.cuStreamGetFlags((CUstream)stream, out_flags));
}

hipError_t hipStreamGetPriority(hipStream_t stream, int *out_priority)
{
    if (!out_priority)
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_enter();
    return hip_finish(result ? result : cuda.cuStreamGetPriority((CUstream)stream, out_priority));
}

hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags)
{
    if (!event)
        return hip_fail(hipErrorInvalidHandle);
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result = cuda.cuStreamWaitEvent((CUstream)stream, (CUevent)event, flags);
    return hip_finish(result);
}

hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t function, void *user)
{
    if (!function)
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_enter();
    return hip_finish(result ? result : cuda.cuLaunchHostFunc((CUstream)stream, function, user));
}

struct callback {
    hipStreamCallback_t function;
    void *user;
};

// The status is another type in HIP, so the caller's function cannot be given to the driver itself.
static void call_back(CUstream stream, CUresult status, void *argument)
{
    struct callback callback = *(struct callback *)argument;
    free(argument);
    callback.function((hipStream_t)stream, hip_error_from(status), callback.user);
}

hipError_t hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t function, void *user,
                                unsigned flags)
{
    if (!function || flags)
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_enter();
    if (result != CUDA_SUCCESS)
        return hip_finish(result);
    struct callback *callback = malloc(sizeof(*callback));
    if (!callback)
        return hip_fail(hipErrorOutOfMemory);
    *callback = (struct callback){ function, user };
    result = cuda.cuStreamAddCallback((CUstream)stream, call_back, callback, 0);
    if (result != CUDA_SUCCESS)
        free(callback);
    return hip_finish(result);
}

hipError_t hipStreamWriteValue32(hipStream_t stream, void *pointer, uint32_t value, unsigned flags)
{
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result =
            cuda.cuStreamWriteValue32_v2((CUstream)stream, device_pointer(pointer), value, flags);
    return hip_finish(result);
}

hipError_t hipStreamWaitValue32(hipStream_t stream, void *pointer, uint32_t value, unsigned flags,
                                uint32_t mask)
{
    if (mask != UINT32_MAX) // CUDA has no mask
        return hip_fail(hipErrorNotSupported);
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result =
            cuda.cuStreamWaitValue32_v2((CUstream)stream, device_pointer(pointer), value, flags);
    return hip_finish(result);
}

// By the lower half, which is the word's own as far as numbers do not get that large.
hipError_t hipStreamWaitValue64(hipStream_t stream, void *pointer, uint64_t value, unsigned flags,
                                uint64_t mask)
{
    if (mask != UINT64_MAX)
        return hip_fail(hipErrorNotSupported);
    return hipStreamWaitValue32(stream, pointer, (uint32_t)value, flags, UINT32_MAX);
}

// Both vendors' structs are alike.
hipError_t hipImportExternalSemaphore(hipExternalSemaphore_t *out_semaphore,
                                      const hipExternalSemaphoreHandleDesc *desc)
{
    CUresult result = cuda_enter();
    return hip_finish(result ? result
                             : cuda.cuImportExternalSemaphore((CUexternalSemaphore *)out_semaphore,
                                                              (const void *)desc));
}

hipError_t hipDestroyExternalSemaphore(hipExternalSemaphore_t semaphore)
{
    CUresult result = cuda_enter();
    return hip_finish(result ? result : cuda.cuDestroyExternalSemaphore(semaphore));
}

hipError_t hipSignalExternalSemaphoresAsync(const hipExternalSemaphore_t *semaphores,
                                            const hipExternalSemaphoreSignalParams *params,
                                            unsigned num, hipStream_t stream)
{
    CUresult result = cuda_enter();
    return hip_finish(
        result ? result
               : cuda.cuSignalExternalSemaphoresAsync((const CUexternalSemaphore *)semaphores,
                                                      (const void *)params, num, (CUstream)stream));
}

hipError_t hipWaitExternalSemaphoresAsync(const hipExternalSemaphore_t *semaphores,
                                          const hipExternalSemaphoreWaitParams *params,
                                          unsigned num, hipStream_t stream)
{
    CUresult result = cuda_enter();
    return hip_finish(
        result ? result
               : cuda.cuWaitExternalSemaphoresAsync((const CUexternalSemaphore *)semaphores,
                                                    (const void *)params, num, (CUstream)stream));
}

hipError_t hipEventCreateWithFlags(hipEvent_t *out_event, unsigned flags)
{
    // Above these, HIP has flags for cache flushes that an NVIDIA GPU has no use for.
    const unsigned common = hipEventBlockingSync | hipEventDisableTiming | hipEventInterprocess;
    if (!out_event)
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_enter();
    return hip_finish(result ? result : cuda.cuEventCreate((CUevent *)out_event, flags & common));
}

hipError_t hipEventCreate(hipEvent_t *out_event)
{
    return hipEventCreateWithFlags(out_event, hipEventDefault);
}

hipError_t hipEventDestroy(hipEvent_t event)
{
    if (!event)
        return hip_fail(hipErrorInvalidHandle);
    CUresult result = cuda_enter();
    return hip_finish(result ? result : cuda.cuEventDestroy_v2((CUevent)event));
}

hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream)
{
    if (!event)
        return hip_fail(hipErrorInvalidHandle);
    CUresult result = cuda_enter();
    return hip_finish(result ? result : cuda.cuEventRecord((CUevent)event, (CUstream)stream));
}

hipError_t hipEventQuery(hipEvent_t event)
{
    if (!event)
        return hip_fail(hipErrorInvalidHandle);
    CUresult result = cuda_enter();
    return hip_finish(result ? result : cuda.cuEventQuery((CUevent)event));
}

hipError_t hipEventSynchronize(hipEvent_t event)
{
    if (!event)
        return hip_fail(hipErrorInvalidHandle);
    CUresult result = cuda_enter();
    return hip_finish(result ? result : cuda.cuEventSynchronize((CUevent)event));
}

hipError_t hipEventElapsedTime(float *out_milliseconds, hipEvent_t start, hipEvent_t stop)
{
    if (!out_milliseconds)
        return hip_fail(hipErrorInvalidValue);
    if (!start || !stop)
        return hip_fail(hipErrorInvalidHandle);
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result = cuda.cuEventElapsedTime(out_milliseconds, (CUevent)start, (CUevent)stop);
    return hip_finish(result);
}
