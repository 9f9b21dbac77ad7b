// SPDX-License-Identifier: Apache-2.0
// Memory pools, and memory allocated and freed in stream order.
#include "pool.h"

#include <stdlib.h>

#include "capture.h"
#include "context.h"
#include "entry.h"
#include "graph_memory.h"
#include "handles.h"
#include "memory.h"
#include "settings.h"
#include "stream.h"

struct CUmemPoolHandle_st {
    CUdevice device;
    cuuint64_t release_threshold; // guarded by the world's lock
};

static struct CUmemPoolHandle_st defaults[MAX_DEVICES];

CUmemoryPool pool_of_device(CUdevice device)
{
    defaults[device].device = device;
    return &defaults[device];
}

static bool known(CUmemoryPool pool)
{
    bool is_default = false;
    for (int i = 0; i < MAX_DEVICES; i++)
        is_default |= pool == &defaults[i];
    return is_default || handles_known(HANDLE_POOL, pool);
}

CUresult cuMemPoolCreate(CUmemoryPool *out_pool, const CUmemPoolProps *properties)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (out_pool == NULL || properties == NULL ||
        context_of_device(properties->location.id) == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUmemoryPool pool = calloc(1, sizeof(*pool));
    if (pool == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pool->device = properties->location.id;
    world_lock();
    bool added = handles_add(HANDLE_POOL, pool);
    world_unlock();
    if (!added) {
        free(pool);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out_pool = pool;
    return CUDA_SUCCESS;
}

CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
    CUresult sticky;
    CUresult result = entry_begin_release(__func__, &sticky);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    bool mine = handles_known(HANDLE_POOL, pool);
    handles_remove(pool);
    world_unlock();
    if (mine)
        free(pool);
    return mine ? sticky : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t bytes_to_keep)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    (void)bytes_to_keep;
    world_lock();
    result = known(pool) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    world_unlock();
    return result;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (value == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    world_lock();
    if (!known(pool))
        result = CUDA_ERROR_INVALID_VALUE;
    else if (attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
        pool->release_threshold = *(const cuuint64_t *)value;
    world_unlock();
    return result;
}

static CUresult get_attribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
    switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        *(int *)value = 1;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        *(cuuint64_t *)value = pool->release_threshold;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        *(cuuint64_t *)value = memory_used(pool->device);
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (value == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    world_lock();
    result = known(pool) ? get_attribute(pool, attribute, value) : CUDA_ERROR_INVALID_VALUE;
    world_unlock();
    return result;
}

// The memory can be used by work that is queued after this on the stream, or waits for it.
static CUresult allocate(CUstream handle, CUmemoryPool pool, CUdeviceptr *out_memory, size_t bytes)
{
    CUstream stream;
    void *memory;
    CUresult result = stream_resolve(handle, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    CUdevice device = pool == NULL ? stream->context->device : pool->device;
    if (stream->capture != NULL)
        return graph_memory_capture_allocation(stream, device, bytes, out_memory);
    result =
        memory_allocate(context_of_device(device), MEMORY_DEVICE, MEMORY_PENDING, bytes, &memory);
    if (result != CUDA_SUCCESS)
        return result;
    struct work work = { .kind = WORK_ARRIVE, .memory = memory };
    result = stream_submit(stream, &work, NULL);
    if (result != CUDA_SUCCESS)
        memory_bury(memory);
    else
        *out_memory = (CUdeviceptr)(uintptr_t)memory;
    return result;
}

CUresult cuMemAllocAsync(CUdeviceptr *out_memory, size_t bytes, CUstream stream)
{
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (out_memory == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    world_lock();
    result = allocate(stream, NULL, out_memory, bytes);
    world_unlock();
    return result;
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *out_memory, size_t bytes, CUmemoryPool pool,
                                 CUstream stream)
{
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (out_memory == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    world_lock();
    result = known(pool) ? allocate(stream, pool, out_memory, bytes) : CUDA_ERROR_INVALID_VALUE;
    world_unlock();
    return result;
}

static CUresult release(CUstream handle, void *memory)
{
    CUstream stream;
    CUresult result = stream_resolve(handle, &stream);
    if (result == CUDA_SUCCESS && stream->capture != NULL)
        return graph_memory_capture_free(stream, memory);
    if (result == CUDA_SUCCESS)
        result = memory_announce_free(memory);
    if (result != CUDA_SUCCESS)
        return result;
    struct work work = { .kind = WORK_BURY, .memory = memory };
    result = stream_submit(stream, &work, NULL);
    if (result != CUDA_SUCCESS)
        memory_bury(memory);
    return result;
}

CUresult cuMemFreeAsync(CUdeviceptr memory, CUstream stream)
{
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    result = release(stream, (void *)(uintptr_t)memory);
    world_unlock();
    return result;
}
