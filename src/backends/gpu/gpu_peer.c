// SPDX-License-Identifier: Apache-2.0
// Access of one device to the memory of another.
#include "backends/gpu/gpu_backend.h"

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
