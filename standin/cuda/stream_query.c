// SPDX-License-Identifier: Apache-2.0
// Asking a stream for its state, waiting for streams, and host work on streams.
#include "context.h"
#include "entry.h"
#include "handles.h"
#include "memory.h"
#include "stream.h"

static CUresult synchronize(CUstream handle)
{
    CUstream stream;
    CUresult result = stream_resolve(handle, &stream);
    if (result == CUDA_SUCCESS)
        result = capture_refuse_sync(stream);
    if (result == CUDA_SUCCESS)
        result = capture_refuse_unsafe();
    if (result != CUDA_SUCCESS)
        return result;
    CUcontext context = stream->context;
    if (stream_is_null(stream)) { // empty work: it comes after the blocking streams as well
        struct work work = { .kind = WORK_EMPTY };
        result = stream_submit(stream, &work, NULL);
    }
    if (result == CUDA_SUCCESS)
        ticket_wait(stream->latest);
    return result == CUDA_SUCCESS ? context->fault : result;
}

CUresult cuStreamSynchronize(CUstream stream)
{
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    result = synchronize(stream);
    world_unlock();
    return result;
}

static bool idle(CUstream stream)
{
    if (stream->first != NULL)
        return false;
    if (!stream_is_null(stream))
        return true;
    for (CUstream other = stream_first(); other != NULL; other = other->next)
        if (other->context == stream->context && other->first != NULL &&
            (other->flags & CU_STREAM_NON_BLOCKING) == 0)
            return false;
    return true;
}

CUresult cuStreamQuery(CUstream handle)
{
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    CUstream stream;
    world_lock();
    result = stream_resolve(handle, &stream);
    if (result == CUDA_SUCCESS)
        result = capture_refuse_sync(stream);
    if (result == CUDA_SUCCESS)
        result = capture_refuse_unsafe();
    if (result == CUDA_SUCCESS && stream_is_null(stream) &&
        capture_invalidate_blocking(stream->context))
        result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    if (result == CUDA_SUCCESS)
        result = stream->context->fault;
    if (result == CUDA_SUCCESS && !idle(stream))
        result = CUDA_ERROR_NOT_READY;
    world_unlock();
    return result;
}

static CUresult synchronize_context(CUcontext context)
{
    world_lock();
    CUresult result = context_check(context);
    for (CUstream stream = stream_first(); stream != NULL; stream = stream->next)
        if (result == CUDA_SUCCESS && stream->context == context)
            result = capture_refuse_sync(stream);
    if (result == CUDA_SUCCESS)
        result = capture_refuse_unsafe();
    if (result == CUDA_SUCCESS) {
        stream_wait_all(context);
        result = context->fault;
    }
    world_unlock();
    return result;
}

CUresult cuCtxSynchronize(void)
{
    CUresult result = entry_begin_in_context(__func__);
    return result != CUDA_SUCCESS ? result : synchronize_context(context_current());
}

CUresult cuCtxSynchronize_v2(CUcontext context)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    return synchronize_context(context == NULL ? context_current() : context);
}

// Copies a stream's record, so that the queries below read it outside the lock.
static CUresult look_up(const char *function, CUstream handle, struct CUstream_st *out_copy)
{
    CUresult result = entry_begin_in_context(function);
    if (result != CUDA_SUCCESS)
        return result;
    CUstream stream;
    world_lock();
    result = stream_resolve(handle, &stream);
    if (result == CUDA_SUCCESS)
        *out_copy = *stream;
    world_unlock();
    return result;
}

CUresult cuStreamGetFlags(CUstream stream, unsigned *out_flags)
{
    struct CUstream_st copy;
    CUresult result = look_up(__func__, stream, &copy);
    if (result == CUDA_SUCCESS)
        *out_flags = copy.flags;
    return result;
}

CUresult cuStreamGetPriority(CUstream stream, int *out_priority)
{
    struct CUstream_st copy;
    CUresult result = look_up(__func__, stream, &copy);
    if (result == CUDA_SUCCESS)
        *out_priority = copy.priority;
    return result;
}

CUresult cuStreamGetId(CUstream stream, unsigned long long *out_id)
{
    struct CUstream_st copy;
    CUresult result = look_up(__func__, stream, &copy);
    if (result == CUDA_SUCCESS)
        *out_id = copy.id;
    return result;
}

CUresult cuStreamGetCtx(CUstream stream, CUcontext *out_context)
{
    struct CUstream_st copy;
    CUresult result = look_up(__func__, stream, &copy);
    if (result == CUDA_SUCCESS)
        *out_context = copy.context;
    return result;
}

CUresult cuStreamGetDevice(CUstream stream, CUdevice *out_device)
{
    struct CUstream_st copy;
    CUresult result = look_up(__func__, stream, &copy);
    if (result == CUDA_SUCCESS)
        *out_device = copy.context->device;
    return result;
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn call, void *user)
{
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    struct work work = { .kind = WORK_HOST };
    work.host.call = call;
    work.host.user = user;
    return stream_queue(stream, &work);
}

CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback call, void *user, unsigned flags)
{
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    struct work work = { .kind = WORK_CALLBACK };
    work.callback.call = call;
    work.callback.stream = stream;
    work.callback.user = user;
    return stream_queue(stream, &work);
}

// Before 12.2. No page moves here: it is work without an effect.
CUresult cuMemPrefetchAsync(CUdeviceptr memory, size_t bytes, CUdevice device, CUstream handle)
{
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    enum memory_kind kind;
    CUstream stream;
    world_lock();
    const bool is_managed =
        memory_find_kind((void *)(uintptr_t)memory, &kind) && kind == MEMORY_MANAGED;
    result = stream_resolve(handle, &stream);
    if (result == CUDA_SUCCESS && stream->capture != NULL)
        result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    world_unlock();
    if (result != CUDA_SUCCESS)
        return result;
    struct work work = { .kind = WORK_EMPTY };
    return is_managed && bytes && device >= -1 ? stream_queue(handle, &work)
                                               : CUDA_ERROR_INVALID_VALUE;
}

static CUresult queue_value(const char *function, enum work_kind kind, CUstream stream,
                            CUdeviceptr at, cuuint32_t value, unsigned flags)
{
    CUresult result = entry_begin_in_context(function);
    if (result != CUDA_SUCCESS)
        return result;
    unsigned largest = kind == WORK_WAIT_VALUE ? CU_STREAM_WAIT_VALUE_AND : 0;
    enum memory_kind memory;
    world_lock();
    bool is_managed = memory_find_kind((void *)(uintptr_t)at, &memory) && memory == MEMORY_MANAGED;
    world_unlock();
    if (at % sizeof(cuuint32_t) != 0 || flags > largest)
        return CUDA_ERROR_INVALID_VALUE;
    if (kind == WORK_WAIT_VALUE && is_managed) // as driver 580 does on an H200
        return CUDA_ERROR_INVALID_VALUE;
    struct work work = { .kind = kind };
    work.value.at = (void *)(uintptr_t)at;
    work.value.value = value;
    work.value.flags = flags;
    return stream_queue(stream, &work);
}

static CUresult queue_operation(const char *function, CUstream stream,
                                const CUstreamBatchMemOpParams *operation)
{
    const bool waits = operation->operation == CU_STREAM_MEM_OP_WAIT_VALUE_32;
    if (!waits && operation->operation != CU_STREAM_MEM_OP_WRITE_VALUE_32)
        return CUDA_ERROR_NOT_SUPPORTED;
    return queue_value(function, waits ? WORK_WAIT_VALUE : WORK_WRITE_VALUE, stream,
                       operation->waitValue.address, operation->waitValue.value,
                       operation->waitValue.flags);
}

// Each operation becomes work, or a node, of its own.
CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned count,
                               CUstreamBatchMemOpParams *operations, unsigned flags)
{
    CUresult result = count && operations && !flags ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count && result == CUDA_SUCCESS; i++)
        result = queue_operation(__func__, stream, &operations[i]);
    return result;
}

CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr at, cuuint32_t value, unsigned flags)
{
    return queue_value(__func__, WORK_WRITE_VALUE, stream, at, value, flags);
}

CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr at, cuuint32_t value, unsigned flags)
{
    return queue_value(__func__, WORK_WRITE_VALUE, stream, at, value, flags);
}

CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr at, cuuint32_t value, unsigned flags)
{
    return queue_value(__func__, WORK_WAIT_VALUE, stream, at, value, flags);
}

CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr at, cuuint32_t value, unsigned flags)
{
    return queue_value(__func__, WORK_WAIT_VALUE, stream, at, value, flags);
}
