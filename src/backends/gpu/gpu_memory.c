// SPDX-License-Identifier: Apache-2.0
// Device memory, pinned host memory, and access of one device to the memory of another.
#include "backends/gpu/gpu_backend.h"

#include <stdio.h>

#include "base/error.h"

braid_status braid_gpu_allocate(struct backend *backend, braid_memory_kind kind, uint64_t bytes,
                                void **out_memory)
{
    static const char *const kinds[] = { "device", "pinned host", "managed" };
    char what[96];
    snprintf(what, sizeof(what), "allocation of %llu bytes of %s memory", (unsigned long long)bytes,
             kinds[kind]);
    if (kind == BRAID_MEMORY_MANAGED && !gpu_from(backend)->api->managed_allocate)
        return braid_error(BRAID_UNSUPPORTED, "%s: the driver of %s has none", what,
                           gpu_from(backend)->label);
    struct gpu_call call;
    braid_status status = braid_gpu_begin(&call, backend, what);
    if (status)
        return status;
    void *memory = NULL;
    const void *slot = &call.api->memory_allocate;
    gpu_result result = GPU_SUCCESS;
    if (kind == BRAID_MEMORY_MANAGED) {
        slot = &call.api->managed_allocate;
        result = call.api->managed_allocate(&memory, bytes, GPU_MANAGED_GLOBAL);
    } else if (kind == BRAID_MEMORY_HOST) {
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
    const struct work_copy copy = { .to = to, .from = from, .bytes = bytes };
    result = gpu->vendor->copy(gpu, &copy, stream, &slot);
    if (!result) {
        slot = &api->stream_synchronize;
        result = api->stream_synchronize(stream);
    }
    braid_gpu_check_freed(gpu, api->stream_destroy(stream), &api->stream_destroy, what);
    return braid_gpu_check(gpu, result, slot, what);
}

// ---- access of one device to the memory of another ----

enum { PEER_UNSUPPORTED = 217, PEER_ALREADY_ENABLED = 704 };

static gpu_result enable(const struct gpu_backend *gpu, const struct gpu_backend *peer,
                         const void **out_slot)
{
    const struct gpu_api *api = gpu->api;
    if (api->context_enable_peer) {
        *out_slot = &api->context_enable_peer;
        return api->context_enable_peer(peer->context, 0);
    }
    *out_slot = &api->hip_enable_peer;
    return api->hip_enable_peer(peer->device, 0);
}

// If others enabled it before, that is as good. HIP's runtime also remembers that answer as the
// thread's last error, which nothing of Braid reads.
braid_status braid_gpu_reach(struct backend *backend, struct backend *peer, bool *out_reaches)
{
    static const char what[] = "access to another device's memory";
    const struct gpu_backend *gpu = gpu_from(backend), *other = gpu_from(peer);
    const struct gpu_api *api = gpu->api;
    int can = 0;
    *out_reaches = false;
    struct gpu_scope scope;
    braid_status status = braid_gpu_enter(gpu, &scope, what);
    if (status)
        return status;
    const void *slot = &api->device_can_access_peer;
    gpu_result result = api->device_can_access_peer(&can, gpu->device, other->device);
    if (result == GPU_SUCCESS && can)
        result = enable(gpu, other, &slot);
    braid_gpu_leave(gpu, &scope);
    if (result == PEER_UNSUPPORTED)
        return BRAID_OK;
    *out_reaches = can && (result == GPU_SUCCESS || result == PEER_ALREADY_ENABLED);
    return *out_reaches ? BRAID_OK : braid_gpu_check(gpu, result, slot, what);
}

// Measured between two H200s of one host with driver 580 (bench_gpu_places;
// docs/measured/places.md). Inside one graph, as here, a copy takes longer to start than on a
// stream. Without access copies go through the host over PCIe. This was not measured: the numbers
// are two crossings of 16 lanes of its fourth generation.
static const braid_place_link reached = { .latency_ns = 16000,
                                          .bytes_per_us = 391000,
                                          .wait_ns = 4300 };
static const braid_place_link staged = { .latency_ns = 30000,
                                         .bytes_per_us = 12000,
                                         .wait_ns = 4300 };

// Places of one device, each with memory of its own in the same.
static const braid_place_link same = { .latency_ns = 2500,
                                       .bytes_per_us = 1500000,
                                       .wait_ns = 800 };

void braid_gpu_get_link(struct backend *backend, struct backend *peer, bool reaches,
                        braid_place_link *out_link)
{
    if (backend == peer)
        *out_link = same;
    else
        *out_link = reaches ? reached : staged;
}
