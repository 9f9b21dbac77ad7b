// SPDX-License-Identifier: Apache-2.0
// CUDA: library names, contexts, attribute numbers, and the driver's row in the table of backends.
#include "backends/cuda/cuda_vendor.h"

#include <stdio.h>

#include "backends/gpu/gpu_backend.h"
#include "base/error.h"

static const char *const libraries[] = { "libcuda.so.1", "libcuda.so", NULL };

static const char *const compiler_libraries[] = {
    "libnvrtc.so.13",
    "libnvrtc.so.12",
    "libnvrtc.so.11.2",
    "libnvrtc.so",
    "/usr/local/cuda/lib64/libnvrtc.so",
    NULL,
};

static gpu_result enter(const struct gpu_backend *gpu, struct gpu_scope *scope)
{
    gpu_context before = NULL;
    gpu_result result = gpu->api->context_get_current(&before);
    if (result || before == gpu->context)
        return result;
    scope->context = before;
    result = gpu->api->context_set_current(gpu->context);
    scope->changed = result == GPU_SUCCESS;
    return result;
}

static gpu_result leave(const struct gpu_backend *gpu, const struct gpu_scope *scope,
                        const void **out_slot)
{
    *out_slot = &gpu->api->context_set_current;
    return gpu->api->context_set_current(scope->context);
}

static void describe(const struct gpu_api *api, gpu_result result, const char **out_name,
                     const char **out_text)
{
    if (api->error_name(result, out_name))
        *out_name = NULL;
    if (api->error_string(result, out_text))
        *out_text = NULL;
}

// The program's context, and the device it is on.
static braid_status open_adopted(struct gpu_backend *gpu)
{
    static const char what[] = "adopting a context";
    const struct gpu_api *api = gpu->api;
    gpu_result result = gpu->context ? GPU_SUCCESS : api->context_get_current(&gpu->context);
    if (result)
        return braid_gpu_check(gpu, result, &api->context_get_current, what);
    if (!gpu->context)
        return braid_error_invalid("there is no context to adopt: none is current on this thread");
    struct gpu_scope scope;
    braid_status status = braid_gpu_enter(gpu, &scope, what);
    if (status)
        return status;
    result = api->context_device(&gpu->device);
    braid_gpu_leave(gpu, &scope);
    if (result)
        return braid_gpu_check(gpu, result, &api->context_device, what);
    gpu->info.ordinal = (uint32_t)gpu->device; // a CUdevice is its ordinal
    snprintf(gpu->label, sizeof(gpu->label), "cuda:%u", gpu->info.ordinal);
    return BRAID_OK;
}

static braid_status open_device(struct gpu_backend *gpu)
{
    static const char what[] = "opening the device";
    gpu_result result = gpu->api->driver_version(&gpu->version);
    if (result)
        return braid_gpu_check(gpu, result, &gpu->api->driver_version, what);
    if (gpu->adopted)
        return open_adopted(gpu);
    result = gpu->api->device_get(&gpu->device, (int)gpu->info.ordinal);
    if (result)
        return braid_gpu_check(gpu, result, &gpu->api->device_get, what);
    result = gpu->api->context_retain(&gpu->context, gpu->device);
    return braid_gpu_check(gpu, result, &gpu->api->context_retain, what);
}

static void close_device(struct gpu_backend *gpu)
{
    if (!gpu->adopted)
        braid_gpu_check_freed(gpu, gpu->api->context_release(gpu->device),
                              &gpu->api->context_release, "closing the device");
}

static braid_status read_architecture(struct gpu_backend *gpu)
{
    snprintf(gpu->architecture, sizeof(gpu->architecture), "%d%d", gpu->attributes[GPU_MAJOR],
             gpu->attributes[GPU_MINOR]);
    return BRAID_OK;
}

static gpu_result copy(const struct gpu_backend *gpu, void *to, const void *from, size_t bytes,
                       gpu_stream stream, const void **out_slot)
{
    *out_slot = &gpu->api->copy;
    return gpu->api->copy(to, from, bytes, stream);
}

static gpu_result host_call(struct gpu_backend *gpu, gpu_stream stream, gpu_host_function *call,
                            void *user, const void **out_slot)
{
    *out_slot = &gpu->api->host_call;
    return gpu->api->host_call(stream, call, user);
}

// The driver refuses addresses that it does not know. Every other error says nothing of the memory.
static gpu_result find_memory(const struct gpu_backend *gpu, const void *memory,
                              enum gpu_memory_kind *out_kind, const void **out_slot)
{
    unsigned type = 0;
    *out_slot = &gpu->api->pointer_attribute;
    gpu_result result =
        gpu->api->pointer_attribute(&type, GPU_POINTER_MEMORY_TYPE, (void *)(uintptr_t)memory);
    if (result && result != GPU_INVALID_VALUE)
        return result;
    if (result == GPU_INVALID_VALUE || type == 0)
        *out_kind = GPU_PAGEABLE;
    else
        *out_kind = type == GPU_MEMORY_HOST ? GPU_PINNED : GPU_ELSEWHERE;
    return GPU_SUCCESS;
}

const struct gpu_vendor braid_gpu_cuda = {
    .index = GPU_CUDA,
    .name = "cuda",
    .libraries = libraries,
    .compiler_libraries = compiler_libraries,
    // CUdevice_attribute
    .attributes = {
        [GPU_MAX_THREADS] = 1,
        [GPU_MAX_BLOCK_X] = 2,
        [GPU_MAX_BLOCK_Y] = 3,
        [GPU_MAX_BLOCK_Z] = 4,
        [GPU_MAX_GRID_X] = 5,
        [GPU_MAX_GRID_Y] = 6,
        [GPU_MAX_GRID_Z] = 7,
        [GPU_MAX_SHARED] = 8,
        [GPU_NUM_UNITS] = 16,
        [GPU_UNIT_THREADS] = 39,
        [GPU_MAJOR] = 75,
        [GPU_MINOR] = 76,
        [GPU_MAX_SHARED_OPTIN] = 97,
        [GPU_CLUSTERS] = 120,
        [GPU_STREAM_WAITS] = GPU_NO_ATTRIBUTE,
        [GPU_COOPERATIVE] = 95,
    },
    .players = braid_cuda_players,
    .enter = enter,
    .leave = leave,
    .describe = describe,
    .open_device = open_device,
    .read_architecture = read_architecture,
    .close_device = close_device,
    .find_memory = find_memory,
    .copy = copy,
    .host_call = host_call,
    .nodes = &braid_cuda_nodes,
    .stream_cost_model = braid_cuda_stream_cost_model,
    .graph_cost_model = braid_cuda_graph_cost_model,
};

const struct backend_driver braid_cuda_driver = {
    .name = "cuda",
    .own = &braid_gpu_cuda,
    .query = braid_gpu_query,
    .open = braid_gpu_open,
};
