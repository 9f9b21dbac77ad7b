// SPDX-License-Identifier: Apache-2.0
// Allocation: device, host and managed memory, and stream-ordered pools.
#include "cuda_driver.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

hipError_t hipMalloc(void **out_pointer, size_t num_bytes)
{
    if (!out_pointer)
        return hip_fail(hipErrorInvalidValue);
    *out_pointer = NULL;
    if (num_bytes == 0) // HIP allows it, CUDA does not
        return hipSuccess;
    CUdeviceptr pointer = 0;
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result = cuda.cuMemAlloc_v2(&pointer, num_bytes);
    *out_pointer = host_view(pointer);
    return hip_finish(result);
}

// Words that streams wait for are pinned memory of the host's on CUDA, which takes no managed
// memory for them; on HIP they are freed like the device's.
struct signal {
    void *pointer;
    struct signal *next;
};

static pthread_mutex_t signals_lock = PTHREAD_MUTEX_INITIALIZER;
static struct signal *signals; // signals_lock

static struct signal *take_signal(const void *pointer)
{
    pthread_mutex_lock(&signals_lock);
    struct signal **at = &signals;
    while (*at && (*at)->pointer != pointer)
        at = &(*at)->next;
    struct signal *taken = *at;
    if (taken)
        *at = taken->next;
    pthread_mutex_unlock(&signals_lock);
    return taken;
}

static void keep_signal(struct signal *signal)
{
    pthread_mutex_lock(&signals_lock);
    signal->next = signals;
    signals = signal;
    pthread_mutex_unlock(&signals_lock);
}

hipError_t hipFree(void *pointer)
{
    CUresult result = cuda_enter();
    if (result != CUDA_SUCCESS || !pointer)
        return hip_finish(result);
    struct signal *signal = take_signal(pointer);
    if (!signal)
        return hip_finish(cuda.cuMemFree_v2(device_pointer(pointer)));
    result = cuda.cuMemFreeHost(pointer);
    if (result == CUDA_SUCCESS)
        free(signal);
    else
        keep_signal(signal);
    return hip_finish(result);
}

hipError_t hipMallocManaged(void **out_pointer, size_t num_bytes, unsigned flags)
{
    if (!out_pointer)
        return hip_fail(hipErrorInvalidValue);
    CUdeviceptr pointer = 0;
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result = cuda.cuMemAllocManaged(&pointer, num_bytes, flags);
    *out_pointer = host_view(pointer);
    return hip_finish(result);
}

hipError_t hipMemPrefetchAsync(const void *pointer, size_t num_bytes, int device,
                               hipStream_t stream)
{
    CUresult result = cuda_enter();
    return hip_finish(result ? result
                             : cuda.cuMemPrefetchAsync((CUdeviceptr)(uintptr_t)pointer, num_bytes,
                                                       device, (CUstream)stream));
}

hipError_t hipHostMalloc(void **out_pointer, size_t num_bytes, unsigned flags)
{
    const unsigned common =
        hipHostMallocPortable | hipHostMallocMapped | hipHostMallocWriteCombined;
    if (!out_pointer)
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_enter();
    return hip_finish(result ? result
                             : cuda.cuMemHostAlloc(out_pointer, num_bytes, flags & common));
}

// Signals alone: eight bytes that host and device see. They are freed by hipFree.
hipError_t hipExtMallocWithFlags(void **out_pointer, size_t num_bytes, unsigned flags)
{
    const unsigned kind = 2;
    if (!out_pointer || flags != kind || num_bytes != 8)
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_enter();
    if (result != CUDA_SUCCESS)
        return hip_finish(result);
    struct signal *signal = malloc(sizeof(*signal));
    if (!signal)
        return hip_fail(hipErrorOutOfMemory);
    result = cuda.cuMemHostAlloc(&signal->pointer, num_bytes, hipHostMallocPortable);
    if (result == CUDA_SUCCESS) {
        *out_pointer = signal->pointer;
        keep_signal(signal);
    } else {
        free(signal);
    }
    return hip_finish(result);
}

hipError_t hipHostFree(void *pointer)
{
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS && pointer)
        result = cuda.cuMemFreeHost(pointer);
    return hip_finish(result);
}

hipError_t hipHostRegister(void *host, size_t num_bytes, unsigned flags)
{
    const unsigned common = hipHostRegisterPortable | hipHostRegisterMapped;
    CUresult result = cuda_enter();
    return hip_finish(result ? result : cuda.cuMemHostRegister_v2(host, num_bytes, flags & common));
}

hipError_t hipHostUnregister(void *host)
{
    CUresult result = cuda_enter();
    return hip_finish(result ? result : cuda.cuMemHostUnregister(host));
}

hipError_t hipHostGetDevicePointer(void **out_pointer, void *host, unsigned flags)
{
    if (!out_pointer)
        return hip_fail(hipErrorInvalidValue);
    CUdeviceptr pointer = 0;
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result = cuda.cuMemHostGetDevicePointer_v2(&pointer, host, flags);
    *out_pointer = host_view(pointer);
    return hip_finish(result);
}

hipError_t hipMemGetAddressRange(void **out_base, size_t *out_bytes, void *pointer)
{
    unsigned type = 0;
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result = cuda.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                            device_pointer(pointer));
    if (result == CUDA_ERROR_INVALID_VALUE)
        return hip_fail(hipErrorInvalidDevicePointer);
    // Enough to say whether the address is known; the block's bounds are not asked for.
    if (out_base)
        *out_base = pointer;
    if (out_bytes)
        *out_bytes = 1;
    return hip_finish(result);
}

// The numbers of the types are CUDA's since version 6; before, they were one less.
hipError_t hipPointerGetAttribute(void *out_value, hipPointer_attribute attribute, void *pointer)
{
    unsigned type = 0;
    int version = 0;
    bool is_ordinal = attribute == HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL;
    if (!out_value || (!is_ordinal && attribute != HIP_POINTER_ATTRIBUTE_MEMORY_TYPE))
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS && is_ordinal)
        return hip_finish(cuda.cuPointerGetAttribute(out_value, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                                     device_pointer(pointer)));
    if (result == CUDA_SUCCESS)
        result = cuda.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                            device_pointer(pointer));
    if (result == CUDA_SUCCESS && hipRuntimeGetVersion(&version) == hipSuccess)
        *(unsigned *)out_value = version < 60000000 ? type - 1 : type;
    return hip_finish(result);
}

hipError_t hipMallocAsync(void **out_pointer, size_t num_bytes, hipStream_t stream)
{
    if (!out_pointer)
        return hip_fail(hipErrorInvalidValue);
    CUdeviceptr pointer = 0;
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result = cuda.cuMemAllocAsync(&pointer, num_bytes, (CUstream)stream);
    *out_pointer = host_view(pointer);
    return hip_finish(result);
}

hipError_t hipMallocFromPoolAsync(void **out_pointer, size_t num_bytes, hipMemPool_t pool,
                                  hipStream_t stream)
{
    if (!out_pointer)
        return hip_fail(hipErrorInvalidValue);
    CUdeviceptr pointer = 0;
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result =
            cuda.cuMemAllocFromPoolAsync(&pointer, num_bytes, (CUmemoryPool)pool, (CUstream)stream);
    *out_pointer = host_view(pointer);
    return hip_finish(result);
}

hipError_t hipFreeAsync(void *pointer, hipStream_t stream)
{
    if (!pointer)
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result = cuda.cuMemFreeAsync(device_pointer(pointer), (CUstream)stream);
    return hip_finish(result);
}

hipError_t hipMemPoolCreate(hipMemPool_t *out_pool, const hipMemPoolProps *properties)
{
    if (!out_pool || !properties || properties->location.type != hipMemLocationTypeDevice)
        return hip_fail(hipErrorInvalidValue);
    CUmemPoolProps translated = {
        .allocType = (int)properties->allocType,
        .handleTypes = (int)properties->handleTypes,
        .location = { .type = (int)properties->location.type, .id = properties->location.id },
    };
    CUresult result = cuda_enter();
    return hip_finish(result ? result
                             : cuda.cuMemPoolCreate((CUmemoryPool *)out_pool, &translated));
}

hipError_t hipMemPoolDestroy(hipMemPool_t pool)
{
    CUresult result = cuda_enter();
    return hip_finish(result ? result : cuda.cuMemPoolDestroy((CUmemoryPool)pool));
}

hipError_t hipMemPoolTrimTo(hipMemPool_t pool, size_t num_bytes_to_keep)
{
    CUresult result = cuda_enter();
    return hip_finish(result ? result
                             : cuda.cuMemPoolTrimTo((CUmemoryPool)pool, num_bytes_to_keep));
}

// The attributes of pools have the same numbers and types in both.
hipError_t hipMemPoolSetAttribute(hipMemPool_t pool, hipMemPoolAttr attribute, void *value)
{
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result = cuda.cuMemPoolSetAttribute((CUmemoryPool)pool, (CUmemPool_attribute)(int)attribute,
                                            value);
    return hip_finish(result);
}

hipError_t hipMemPoolGetAttribute(hipMemPool_t pool, hipMemPoolAttr attribute, void *out_value)
{
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result = cuda.cuMemPoolGetAttribute((CUmemoryPool)pool, (CUmemPool_attribute)(int)attribute,
                                            out_value);
    return hip_finish(result);
}

hipError_t hipDeviceGetDefaultMemPool(hipMemPool_t *out_pool, int device)
{
    if (!out_pool)
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result = cuda.cuDeviceGetDefaultMemPool((CUmemoryPool *)out_pool, device);
    return hip_finish(result);
}
