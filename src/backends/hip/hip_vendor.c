// SPDX-License-Identifier: Apache-2.0
// HIP: library names, devices, attribute numbers, limits of its versions, and the driver's row in
// the table of backends.
#include "backends/hip/hip_vendor.h"

#include <stdio.h>
#include <string.h>

#include "backends/gpu/gpu_backend.h"
#include "base/error.h"

// Only development packages have the plain name.
static const char *const libraries[] = {
    "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so", NULL,
};

static const char *const compiler_libraries[] = {
    "libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5", "libhiprtc.so", NULL,
};

// hipRuntimeGetVersion: major * 10000000 + minor * 100000 + patch.
enum {
    DEFAULT_LANES = 4,               // hardware queues that a process gets by default
    VERSION_MEMORY_TYPES = 60000000, // see find_memory
    PROPERTIES_BYTES = 8192,         // more than hipDeviceProp_t of any version has
};

// hipMemoryType: of versions before 6, and since.
enum { HIP_5_HOST = 0, HIP_HOST = 1 };

enum { HIP_INVALID_DEVICE_POINTER = 17 };

static gpu_result enter(const struct gpu_backend *gpu, struct gpu_scope *scope)
{
    gpu_result result = gpu->api->device_get_current(&scope->device);
    int wanted = (int)gpu->info.ordinal;
    if (result || scope->device == wanted)
        return result;
    result = gpu->api->device_set_current(wanted);
    scope->changed = result == GPU_SUCCESS;
    return result;
}

static gpu_result leave(const struct gpu_backend *gpu, const struct gpu_scope *scope,
                        const void **out_slot)
{
    *out_slot = &gpu->api->device_set_current;
    return gpu->api->device_set_current(scope->device);
}

static void describe(const struct gpu_api *api, gpu_result result, const char **out_name,
                     const char **out_text)
{
    *out_name = api->hip_error_name(result);
    *out_text = api->hip_error_string(result);
    // HIP 5 gives the name as the text as well.
    if (*out_name && *out_text && strcmp(*out_name, *out_text) == 0)
        *out_text = NULL;
}

static braid_status open_device(struct gpu_backend *gpu)
{
    static const char what[] = "opening the device";
    gpu_result result = gpu->api->runtime_version(&gpu->version);
    if (result)
        return braid_gpu_check(gpu, result, &gpu->api->runtime_version, what);
    result = gpu->api->device_get(&gpu->device, (int)gpu->info.ordinal);
    return braid_gpu_check(gpu, result, &gpu->api->device_get, what);
}

// No attribute tells the architecture's full name; hipGetDeviceProperties does, in a struct whose
// layout changed between versions. The name is looked for in its bytes instead of at an offset.
static const char *find_architecture(const char *bytes, size_t size)
{
    for (size_t i = 0; i + 4 < size; i++) {
        bool at_start = i == 0 || bytes[i - 1] == '\0';
        if (at_start && (strncmp(bytes + i, "gfx", 3) == 0 || strncmp(bytes + i, "sm_", 3) == 0))
            return bytes + i;
    }
    return NULL;
}

static braid_status read_architecture(struct gpu_backend *gpu)
{
    _Alignas(16) char properties[PROPERTIES_BYTES] = { 0 };
    if (!gpu->api->device_properties)
        return BRAID_OK; // not known
    gpu_result result = gpu->api->device_properties(properties, (int)gpu->info.ordinal);
    if (result == GPU_NOT_SUPPORTED)
        return BRAID_OK; // not known either
    if (result)
        return braid_gpu_check(gpu, result, &gpu->api->device_properties,
                               "reading the device's architecture");
    const char *name = find_architecture(properties, sizeof(properties) - 64);
    snprintf(gpu->architecture, sizeof(gpu->architecture), "%.63s", name ? name : "");
    return BRAID_OK;
}

// Whether the runtime knows the address at all. It must be asked first: hipPointerGetAttribute of
// 5.2.3 may crash where it does not.
static gpu_result find_range(const struct gpu_backend *gpu, const void *memory, bool *out_known)
{
    void *base = NULL;
    size_t bytes = 0;
    gpu_result result = gpu->api->hip_address_range(&base, &bytes, (void *)(uintptr_t)memory);
    bool unknown = result == HIP_INVALID_DEVICE_POINTER || result == GPU_INVALID_VALUE ||
                   result == GPU_NOT_FOUND;
    *out_known = result == GPU_SUCCESS;
    return unknown ? GPU_SUCCESS : result;
}

// The numbers of the types are others since version 6. Errors that do not mean "not known" say
// nothing of the memory.
static gpu_result find_memory(const struct gpu_backend *gpu, const void *memory,
                              enum gpu_memory_kind *out_kind, const void **out_slot)
{
    int type = 0;
    bool known = false;
    *out_kind = GPU_ELSEWHERE;
    if (!gpu->api->hip_address_range || !gpu->api->pointer_attribute)
        return GPU_SUCCESS;
    *out_slot = &gpu->api->hip_address_range;
    gpu_result result = find_range(gpu, memory, &known);
    if (result || !known) {
        *out_kind = GPU_PAGEABLE;
        return result;
    }
    *out_slot = &gpu->api->pointer_attribute;
    result = gpu->api->pointer_attribute(&type, GPU_POINTER_MEMORY_TYPE, (void *)(uintptr_t)memory);
    if (type == (gpu->version < VERSION_MEMORY_TYPES ? HIP_5_HOST : HIP_HOST))
        *out_kind = GPU_PINNED;
    return result;
}

static gpu_result copy(const struct gpu_backend *gpu, void *to, const void *from, size_t bytes,
                       gpu_stream stream, const void **out_slot)
{
    *out_slot = &gpu->api->hip_copy;
    return gpu->api->hip_copy(to, from, bytes, GPU_COPY_DEFAULT, stream);
}

// HIP 5.2 declares hipLaunchHostFunc and does not export it.
static gpu_result host_call(struct gpu_backend *gpu, gpu_stream stream, gpu_host_function *call,
                            void *user, const void **out_slot)
{
    *out_slot = &gpu->api->host_call;
    if (gpu->api->host_call)
        return gpu->api->host_call(stream, call, user);
    *out_slot = &gpu->api->stream_callback;
    return braid_gpu_host_call_by_callback(gpu, stream, call, user);
}

// Not measured: no AMD device was at hand. The lanes are as many as a process has hardware queues.
static void cost_model(const struct gpu_backend *gpu, braid_cost_model *out_model)
{
    (void)gpu;
    *out_model = (braid_cost_model){
        .default_cost_ns = 5000,
        .node_ns = 1500,
        .wait_ns = 2500,
        .root_ns = 500,
        .max_concurrent = DEFAULT_LANES,
    };
}

const struct gpu_vendor braid_gpu_hip = {
    .index = GPU_HIP,
    .name = "hip",
    .libraries = libraries,
    .compiler_libraries = compiler_libraries,
    // hipDeviceAttribute_t
    .attributes = {
        [GPU_MAX_THREADS] = 56,
        [GPU_MAX_BLOCK_X] = 26,
        [GPU_MAX_BLOCK_Y] = 27,
        [GPU_MAX_BLOCK_Z] = 28,
        [GPU_MAX_GRID_X] = 29,
        [GPU_MAX_GRID_Y] = 30,
        [GPU_MAX_GRID_Z] = 31,
        [GPU_MAX_SHARED] = 74,
        [GPU_NUM_UNITS] = 63,
        [GPU_UNIT_THREADS] = 57,
        [GPU_MAJOR] = 23,
        [GPU_MINOR] = 61,
        [GPU_MAX_SHARED_OPTIN] = GPU_NO_ATTRIBUTE,
        [GPU_CLUSTERS] = GPU_NO_ATTRIBUTE,
        [GPU_STREAM_WAITS] = 10013,
        [GPU_COOPERATIVE] = GPU_NO_ATTRIBUTE,
    },
    .players = braid_hip_players,
    // hip::Event::synchronize() keeps the event's lock until the event has happened. Recording it,
    // asking for it and making a stream wait for it take the same lock.
    .waiting_locks_events = true,
    .enter = enter,
    .leave = leave,
    .describe = describe,
    .open_device = open_device,
    .read_architecture = read_architecture,
    .check_image = braid_hip_check_image,
    .find_memory = find_memory,
    .fills_of_host_memory_wait = true, // the runtime writes such memory with the CPU
    .copy = copy,
    .host_call = host_call,
    // Before 5.4 a graph that is launched again in flight loses host nodes, and its launch may block
    // the host (seen with 5.2.3). Before 7.3 a node of more than four successors may lose edges
    // (ROCm/rocm-systems issue 11499).
    .why_no_graphs = "HIP's driver graphs lose edges or block in some versions",
    .stream_cost_model = cost_model,
};

const struct backend_driver braid_hip_driver = {
    .name = "hip",
    .own = &braid_gpu_hip,
    .query = braid_gpu_query,
    .open = braid_gpu_open,
};
