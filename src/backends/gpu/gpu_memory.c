// SPDX-License-Identifier: Apache-2.0
// Device memory, pinned host memory, and stream-ordered allocation where the driver has it.
#include "backends/gpu/gpu_backend.h"

#include <stdio.h>

#include "base/error.h"

static gpu_result allocate(const struct gpu_backend *gpu, braid_memory_kind kind, uint64_t bytes,
                           void **memory)
{
    if (kind == BRAID_MEMORY_HOST)
        return gpu->api->host_allocate(memory, bytes, GPU_HOST_PORTABLE | GPU_HOST_MAPPED);
    return gpu->api->memory_allocate(memory, bytes);
}

braid_status braid_gpu_allocate(struct backend *backend, braid_memory_kind kind, uint64_t bytes,
                                void **out_memory)
{
    struct gpu_backend *gpu = gpu_from(backend);
    bool host = kind == BRAID_MEMORY_HOST;
    char what[96];
    snprintf(what, sizeof(what), "allocation of %llu bytes of %s memory", (unsigned long long)bytes,
             host ? "pinned host" : "device");
    struct gpu_scope scope;
    braid_status status = braid_gpu_enter(gpu, &scope, what);
    if (status)
        return status;
    void *memory = NULL;
    gpu_result result = allocate(gpu, kind, bytes, &memory);
    braid_gpu_leave(gpu, &scope);
    const void *slot =
        host ? (const void *)&gpu->api->host_allocate : (const void *)&gpu->api->memory_allocate;
    status = braid_gpu_check(gpu, result, slot, what);
    if (!status)
        *out_memory = memory;
    return status;
}

void braid_gpu_release(struct backend *backend, braid_memory_kind kind, void *memory)
{
    struct gpu_backend *gpu = gpu_from(backend);
    static const char what[] = "release of memory";
    const struct gpu_api *api = gpu->api;
    struct gpu_scope scope;
    if (!memory)
        return;
    if (!braid_gpu_enter_to_free(gpu, &scope, what)) {
        bool host = kind == BRAID_MEMORY_HOST;
        braid_gpu_leave_for_later(gpu, host ? GPU_LEFT_HOST_MEMORY : GPU_LEFT_MEMORY, memory);
        return;
    }
    if (kind == BRAID_MEMORY_HOST)
        braid_gpu_check_freed(gpu, api->host_free(memory), &api->host_free, what);
    else
        braid_gpu_check_freed(gpu, api->memory_free(memory), &api->memory_free, what);
    braid_gpu_leave(gpu, &scope);
}

braid_status braid_gpu_copy_now(const struct gpu_backend *gpu, void *to, const void *from,
                                size_t bytes, const char *what)
{
    const struct gpu_api *api = gpu->api;
    gpu_stream stream;
    gpu_result result = api->stream_create(&stream, GPU_STREAM_NON_BLOCKING, 0);
    if (result)
        return braid_gpu_check(gpu, result, &api->stream_create, what);
    const void *slot = NULL;
    result = gpu->vendor->copy(gpu, to, from, bytes, stream, &slot);
    if (!result) {
        slot = &api->stream_synchronize;
        result = api->stream_synchronize(stream);
    }
    braid_gpu_check_freed(gpu, api->stream_destroy(stream), &api->stream_destroy, what);
    return braid_gpu_check(gpu, result, slot, what);
}

static braid_status check_pools(const struct gpu_backend *gpu)
{
    // HIP 5.2.3 never ends the destruction of a stream after a hipFreeAsync on it.
    enum { HIP_FIRST_VERSION = 50300000 };
    if (gpu->vendor->index == GPU_HIP && gpu->version < HIP_FIRST_VERSION)
        return braid_error(BRAID_UNSUPPORTED,
                           "stream-ordered allocation (%s) needs HIP 5.3; this runtime is %d",
                           gpu->label, gpu->version);
    if (!gpu->api->stream_allocate || !gpu->api->stream_free)
        return braid_error(BRAID_UNSUPPORTED,
                           "stream-ordered allocation (%s): the driver has no such call",
                           gpu->label);
    if (!gpu->attributes[GPU_MEMORY_POOLS])
        return braid_error(BRAID_UNSUPPORTED,
                           "stream-ordered allocation (%s): the device has no memory pools",
                           gpu->label);
    return BRAID_OK;
}

braid_status braid_gpu_stream_allocate(struct backend *backend, struct backend_stream *stream,
                                       uint64_t bytes, void **out_memory)
{
    static const char what[] = "stream-ordered allocation";
    struct gpu_backend *gpu = gpu_from(backend);
    struct gpu_scope scope;
    braid_status status = check_pools(gpu);
    if (!status)
        status = braid_gpu_enter(gpu, &scope, what);
    if (status)
        return status;
    void *memory = NULL;
    gpu_result result = gpu->api->stream_allocate(&memory, bytes, gpu_stream_of(stream));
    braid_gpu_leave(gpu, &scope);
    status = braid_gpu_check(gpu, result, &gpu->api->stream_allocate, what);
    if (!status)
        *out_memory = memory;
    return status;
}

braid_status braid_gpu_stream_free(struct backend *backend, struct backend_stream *stream,
                                   void *memory)
{
    static const char what[] = "stream-ordered free";
    struct gpu_backend *gpu = gpu_from(backend);
    struct gpu_scope scope;
    braid_status status = check_pools(gpu);
    if (!status)
        status = braid_gpu_enter(gpu, &scope, what);
    if (status)
        return status;
    gpu_result result = gpu->api->stream_free(memory, gpu_stream_of(stream));
    braid_gpu_leave(gpu, &scope);
    return braid_gpu_check(gpu, result, &gpu->api->stream_free, what);
}
