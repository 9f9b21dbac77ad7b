// SPDX-License-Identifier: Apache-2.0
// Device memory and pinned host memory.
#include "backends/gpu/gpu_backend.h"

#include <stdio.h>

braid_status braid_gpu_allocate(struct backend *backend, braid_memory_kind kind, uint64_t bytes,
                                void **out_memory)
{
    bool host = kind == BRAID_MEMORY_HOST;
    char what[96];
    snprintf(what, sizeof(what), "allocation of %llu bytes of %s memory", (unsigned long long)bytes,
             host ? "pinned host" : "device");
    struct gpu_call call;
    braid_status status = braid_gpu_begin(&call, backend, what);
    if (status)
        return status;
    void *memory = NULL;
    const void *slot = &call.api->memory_allocate;
    gpu_result result = GPU_SUCCESS;
    if (host) {
        slot = &call.api->host_allocate;
        result = call.api->host_allocate(&memory, bytes, GPU_HOST_PORTABLE | GPU_HOST_MAPPED);
    } else {
        result = call.api->memory_allocate(&memory, bytes);
    }
    status = braid_gpu_end(&call, result, slot);
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
    if (!memory || !braid_gpu_enter_to_free(gpu, &scope, what))
        return;
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
