// SPDX-License-Identifier: Apache-2.0
// Entry points that allocate and free memory at once.
#include "capture.h"
#include "context.h"
#include "entry.h"
#include "memory.h"
#include "settings.h"
#include "stream.h"

static CUresult allocate(const char *function, enum memory_kind kind, size_t bytes,
                         void **out_memory)
{
    CUresult result = entry_begin_in_context(function);
    if (result != CUDA_SUCCESS)
        return result;
    if (out_memory == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    world_lock();
    result = capture_refuse_unsafe();
    if (result == CUDA_SUCCESS)
        result = memory_allocate(context_current(), kind, MEMORY_LIVE, bytes, out_memory);
    world_unlock();
    return result;
}

static CUresult allocate_device(const char *function, enum memory_kind kind, size_t bytes,
                                CUdeviceptr *out_memory)
{
    void *memory = NULL;
    CUresult result = allocate(function, kind, bytes, out_memory == NULL ? NULL : &memory);
    if (result == CUDA_SUCCESS)
        *out_memory = (CUdeviceptr)(uintptr_t)memory;
    return result;
}

CUresult cuMemAlloc_v2(CUdeviceptr *out_memory, size_t bytes)
{
    return allocate_device(__func__, MEMORY_DEVICE, bytes, out_memory);
}

CUresult cuMemAllocManaged(CUdeviceptr *out_memory, size_t bytes, unsigned flags)
{
    (void)flags;
    return allocate_device(__func__, MEMORY_MANAGED, bytes, out_memory);
}

CUresult cuMemHostAlloc(void **out_memory, size_t bytes, unsigned flags)
{
    (void)flags;
    return allocate(__func__, MEMORY_HOST, bytes, out_memory);
}

CUresult cuMemAllocHost_v2(void **out_memory, size_t bytes)
{
    return allocate(__func__, MEMORY_HOST, bytes, out_memory);
}

// Waits for the context's work first: what is queued may still use the memory.
static CUresult release(const char *function, void *memory, enum memory_kind kind,
                        enum memory_kind or_kind)
{
    CUresult sticky;
    CUresult result = entry_begin_release(function, &sticky);
    if (result != CUDA_SUCCESS)
        return result;
    CUcontext context = context_current();
    if (context == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (memory == NULL && kind == MEMORY_DEVICE)
        return sticky;
    world_lock();
    result = capture_refuse_unsafe();
    if (result == CUDA_SUCCESS) {
        stream_wait_all(context);
        result = memory_free(memory, kind, or_kind);
    }
    world_unlock();
    return result == CUDA_SUCCESS ? sticky : result;
}

CUresult cuMemFree_v2(CUdeviceptr memory)
{
    return release(__func__, (void *)(uintptr_t)memory, MEMORY_DEVICE, MEMORY_MANAGED);
}

CUresult cuMemFreeHost(void *memory)
{
    return release(__func__, memory, MEMORY_HOST, MEMORY_HOST);
}

CUresult cuMemHostRegister_v2(void *memory, size_t bytes, unsigned flags)
{
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    (void)flags;
    if (memory == NULL || bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    world_lock();
    result = memory_register(context_current(), memory, bytes);
    world_unlock();
    return result;
}

CUresult cuMemHostUnregister(void *memory)
{
    CUresult sticky;
    CUresult result = entry_begin_release(__func__, &sticky);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    result = memory_unregister(memory);
    world_unlock();
    return result == CUDA_SUCCESS ? sticky : result;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *out_memory, void *host, unsigned flags)
{
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (out_memory == NULL || host == NULL || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    *out_memory = (CUdeviceptr)(uintptr_t)host;
    return CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(size_t *out_free, size_t *out_total)
{
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    size_t total = (size_t)setting(SETTING_MEMORY);
    world_lock();
    size_t used = memory_used(context_current()->device);
    world_unlock();
    if (out_free != NULL)
        *out_free = used > total ? 0 : total - used;
    if (out_total != NULL)
        *out_total = total;
    return CUDA_SUCCESS;
}
