// SPDX-License-Identifier: Apache-2.0
// Entry points that copy memory, at once or in a stream.
//
// Copies with host memory on a stream are as on an H200 with driver 580: those between two host
// memories, and those to pageable memory, wait on the host; pageable memory is read when the copy
// to the device is submitted. In graphs they are as asynchronous as all others, where the driver
// reads pageable memory at the launch.
#include "copy.h"

#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "context.h"
#include "entry.h"
#include "memory.h"
#include "stream.h"

static struct work plain_copy(void *to, const void *from, size_t bytes)
{
    struct work work = { .kind = WORK_COPY };
    work.copy = (struct copy){ .to = to,
                               .from = from,
                               .width = bytes,
                               .height = 1,
                               .depth = 1,
                               .to_type = CU_MEMORYTYPE_UNIFIED,
                               .from_type = CU_MEMORYTYPE_UNIFIED };
    return work;
}

static void *address(CUdeviceptr memory)
{
    return (void *)(uintptr_t)memory;
}

// What must be device memory must be known as such.
static CUresult check_device(const void *memory, size_t bytes, bool is_device)
{
    world_lock();
    CUresult result = memory_check_argument(memory, bytes, is_device);
    world_unlock();
    return result;
}

// The ends of a copy.
struct host_sides {
    bool to_host, from_host, to_pageable, from_pageable;
};

static void find_side(const void *memory, bool *out_host, bool *out_pageable)
{
    enum memory_kind kind = MEMORY_HOST;
    *out_pageable = !memory_find_kind(memory, &kind);
    *out_host = kind == MEMORY_HOST || kind == MEMORY_REGISTERED;
}

// Whether the host waits for the copy, and whether its source is read now. Expects the world's
// lock.
static CUresult look_at_sides(CUstream handle, const struct work *work, bool *out_wait,
                              bool *out_read_now)
{
    struct host_sides sides;
    CUstream stream = NULL;
    CUresult result = stream_resolve(handle, &stream);
    if (result != CUDA_SUCCESS || stream->capture != NULL)
        return result;
    find_side(work->copy.to, &sides.to_host, &sides.to_pageable);
    find_side(work->copy.from, &sides.from_host, &sides.from_pageable);
    *out_wait = sides.to_pageable || (sides.to_host && sides.from_host);
    *out_read_now = sides.from_pageable && !sides.to_host;
    return CUDA_SUCCESS;
}

// The copy of a stream, as the driver treats the memory at its ends.
static CUresult queue_on_stream(CUstream stream, struct work *work)
{
    bool wait = false, read_now = false;
    world_lock();
    CUresult result = look_at_sides(stream, work, &wait, &read_now);
    world_unlock();
    if (result != CUDA_SUCCESS)
        return result;
    if (read_now && work->copy.width > 0) {
        work->copy.snapshot = malloc(work->copy.width);
        if (work->copy.snapshot == NULL)
            return CUDA_ERROR_OUT_OF_MEMORY;
        memcpy(work->copy.snapshot, work->copy.from, work->copy.width);
        work->copy.from = work->copy.snapshot;
    }
    return wait ? stream_queue_and_wait(stream, work) : stream_queue(stream, work);
}

enum sides { EITHER = 0, TO_DEVICE = 1, FROM_DEVICE = 2 };

static CUresult queue_copy(const char *function, void *to, const void *from, size_t bytes,
                           unsigned sides, bool wait, CUstream stream)
{
    CUresult result = entry_begin_in_context(function);
    if (result != CUDA_SUCCESS)
        return result;
    if (bytes > 0 && (to == NULL || from == NULL))
        return CUDA_ERROR_INVALID_VALUE;
    result = check_device(to, bytes, (sides & TO_DEVICE) != 0);
    if (result == CUDA_SUCCESS)
        result = check_device(from, bytes, (sides & FROM_DEVICE) != 0);
    if (result != CUDA_SUCCESS)
        return result;
    struct work work = plain_copy(to, from, bytes);
    if (sides != EITHER) {
        work.copy.to_type = sides & TO_DEVICE ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
        work.copy.from_type = sides & FROM_DEVICE ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    }
    return wait ? stream_queue_and_wait(stream, &work) : queue_on_stream(stream, &work);
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    return queue_copy(__func__, address(to), address(from), bytes, EITHER, true, NULL);
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return queue_copy(__func__, address(to), address(from), bytes, EITHER, false, stream);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes)
{
    return queue_copy(__func__, address(to), from, bytes, TO_DEVICE, true, NULL);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    return queue_copy(__func__, address(to), from, bytes, TO_DEVICE, false, stream);
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes)
{
    return queue_copy(__func__, to, address(from), bytes, FROM_DEVICE, true, NULL);
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return queue_copy(__func__, to, address(from), bytes, FROM_DEVICE, false, stream);
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    return queue_copy(__func__, address(to), address(from), bytes, TO_DEVICE | FROM_DEVICE, true,
                      NULL);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return queue_copy(__func__, address(to), address(from), bytes, TO_DEVICE | FROM_DEVICE, false,
                      stream);
}

// No node of a graph is a peer copy.
static CUresult refuse_capturing(CUstream handle)
{
    CUstream stream;
    const CUresult result = stream_resolve(handle, &stream);
    return result != CUDA_SUCCESS ? result : capture_refuse_sync(stream);
}

// Both sides must be memory of the devices that the caller says they are of.
static CUresult queue_peer_copy(const char *function, CUdeviceptr to, CUcontext to_context,
                                CUdeviceptr from, CUcontext from_context, size_t bytes, bool wait,
                                CUstream stream)
{
    CUresult result = entry_begin_in_context(function);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    result = context_check(to_context);
    if (result == CUDA_SUCCESS)
        result = context_check(from_context);
    if (result == CUDA_SUCCESS && bytes > 0 &&
        (!memory_is_of(to_context->device, address(to)) ||
         !memory_is_of(from_context->device, address(from))))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && !wait)
        result = refuse_capturing(stream);
    world_unlock();
    if (result != CUDA_SUCCESS)
        return result;
    struct work work = plain_copy(address(to), address(from), bytes);
    return wait ? stream_queue_and_wait(stream, &work) : queue_on_stream(stream, &work);
}

CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                      CUcontext from_context, size_t bytes)
{
    return queue_peer_copy(__func__, to, to_context, from, from_context, bytes, true, NULL);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                           CUcontext from_context, size_t bytes, CUstream stream)
{
    return queue_peer_copy(__func__, to, to_context, from, from_context, bytes, false, stream);
}

// The start of one side of a strided copy; NULL: arrays, which the stand-in does not have.
static char *side(CUmemorytype type, const void *host, CUdeviceptr device)
{
    if (type == CU_MEMORYTYPE_HOST)
        return (char *)(uintptr_t)host;
    return type == CU_MEMORYTYPE_ARRAY ? NULL : address(device);
}

CUresult copy_from_2d(const CUDA_MEMCPY2D *copy, struct work *out_work)
{
    if (copy == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    const CUDA_MEMCPY3D deep = {
        .srcXInBytes = copy->srcXInBytes,
        .srcY = copy->srcY,
        .srcMemoryType = copy->srcMemoryType,
        .srcHost = copy->srcHost,
        .srcDevice = copy->srcDevice,
        .srcPitch = copy->srcPitch,
        .dstXInBytes = copy->dstXInBytes,
        .dstY = copy->dstY,
        .dstMemoryType = copy->dstMemoryType,
        .dstHost = copy->dstHost,
        .dstDevice = copy->dstDevice,
        .dstPitch = copy->dstPitch,
        .WidthInBytes = copy->WidthInBytes,
        .Height = copy->Height,
        .Depth = 1,
    };
    return copy_from_3d(&deep, out_work);
}

// A pitch of zero means rows without gaps.
CUresult copy_from_3d(const CUDA_MEMCPY3D *copy, struct work *out_work)
{
    if (copy == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    char *to = side(copy->dstMemoryType, copy->dstHost, copy->dstDevice);
    const char *from = side(copy->srcMemoryType, copy->srcHost, copy->srcDevice);
    if (to == NULL || from == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    size_t to_pitch = copy->dstPitch == 0 ? copy->WidthInBytes : copy->dstPitch;
    size_t from_pitch = copy->srcPitch == 0 ? copy->WidthInBytes : copy->srcPitch;
    size_t to_slice = to_pitch * (copy->dstHeight == 0 ? copy->Height : copy->dstHeight);
    size_t from_slice = from_pitch * (copy->srcHeight == 0 ? copy->Height : copy->srcHeight);
    if (copy->Height > 1 && (to_pitch < copy->WidthInBytes || from_pitch < copy->WidthInBytes))
        return CUDA_ERROR_INVALID_VALUE;
    struct work work = { .kind = WORK_COPY };
    work.copy = (struct copy){
        .to = to + copy->dstZ * to_slice + copy->dstY * to_pitch + copy->dstXInBytes,
        .from = from + copy->srcZ * from_slice + copy->srcY * from_pitch + copy->srcXInBytes,
        .to_pitch = to_pitch,
        .from_pitch = from_pitch,
        .to_slice = to_slice,
        .from_slice = from_slice,
        .width = copy->WidthInBytes,
        .height = copy->Height,
        .depth = copy->Depth,
        .to_type = copy->dstMemoryType,
        .from_type = copy->srcMemoryType,
    };
    *out_work = work;
    return CUDA_SUCCESS;
}

static CUresult queue_2d(const char *function, const CUDA_MEMCPY2D *copy, bool wait,
                         CUstream stream)
{
    struct work work;
    CUresult result = entry_begin_in_context(function);
    if (result == CUDA_SUCCESS)
        result = copy_from_2d(copy, &work);
    if (result != CUDA_SUCCESS)
        return result;
    return wait ? stream_queue_and_wait(stream, &work) : stream_queue(stream, &work);
}

static CUresult queue_3d(const char *function, const CUDA_MEMCPY3D *copy, bool wait,
                         CUstream stream)
{
    struct work work;
    CUresult result = entry_begin_in_context(function);
    if (result == CUDA_SUCCESS)
        result = copy_from_3d(copy, &work);
    if (result != CUDA_SUCCESS)
        return result;
    return wait ? stream_queue_and_wait(stream, &work) : stream_queue(stream, &work);
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *copy)
{
    return queue_2d(__func__, copy, true, NULL);
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy, CUstream stream)
{
    return queue_2d(__func__, copy, false, stream);
}

CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *copy)
{
    return queue_3d(__func__, copy, true, NULL);
}

CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *copy, CUstream stream)
{
    return queue_3d(__func__, copy, false, stream);
}

// The rows of a slice, where there are slices: their distance is a multiple of that of the rows.
static size_t rows(const struct copy *copy, size_t slice, size_t pitch)
{
    return copy->depth > 1 && pitch > 0 ? slice / pitch : 0;
}

void copy_to_3d(const struct copy *copy, CUDA_MEMCPY3D *out_copy)
{
    bool to_host = copy->to_type == CU_MEMORYTYPE_HOST;
    bool from_host = copy->from_type == CU_MEMORYTYPE_HOST;
    *out_copy = (CUDA_MEMCPY3D){
        .srcMemoryType = copy->from_type,
        .srcHost = from_host ? copy->from : NULL,
        .srcDevice = from_host ? 0 : (CUdeviceptr)(uintptr_t)copy->from,
        .srcPitch = copy->from_pitch,
        .srcHeight = rows(copy, copy->from_slice, copy->from_pitch),
        .dstMemoryType = copy->to_type,
        .dstHost = to_host ? copy->to : NULL,
        .dstDevice = to_host ? 0 : (CUdeviceptr)(uintptr_t)copy->to,
        .dstPitch = copy->to_pitch,
        .dstHeight = rows(copy, copy->to_slice, copy->to_pitch),
        .WidthInBytes = copy->width,
        .Height = copy->height,
        .Depth = copy->depth,
    };
}
