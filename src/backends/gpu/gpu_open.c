// SPDX-License-Identifier: Apache-2.0
// Loading a vendor's library once for the process, counting its devices, opening and closing one.
#include <stdio.h>
#include <string.h>

#include "backends/gpu/gpu_backend.h"
#include "backends/gpu/gpu_conditional_launch.h"
#include "backends/gpu/gpu_disk_cache.h"
#include "backends/gpu/gpu_driver.h"
#include "backends/gpu/gpu_kept_memory.h"
#include "base/array.h"
#include "base/error.h"
#include "base/host_memory.h"
#include "base/process.h"
#include "base/ranges.h"

enum { MOST_TURNS = 64 }; // contexts may share them

// A vendor's library. This is the only state of the process that the backend keeps.
struct library {
    pthread_mutex_t lock;
    bool tried;         // guarded by lock
    uint32_t process;   // that loaded it; constant once tried
    void *handle;       // NULL: not loaded; constant once tried
    struct gpu_api api; // constant once tried
    char reason[512];   // why it is not loaded; constant once tried
    struct gpu_conditional_launch turns[MOST_TURNS];
};

static struct library libraries[GPU_NUM_VENDORS] = {
    [GPU_CUDA] = { .lock = PTHREAD_MUTEX_INITIALIZER },
    [GPU_HIP] = { .lock = PTHREAD_MUTEX_INITIALIZER },
};

static struct library *load_library(const struct gpu_vendor *vendor)
{
    struct library *library = &libraries[vendor->index];
    pthread_mutex_lock(&library->lock);
    if (!library->tried) {
        library->handle = braid_gpu_load(&braid_gpu_symbols, vendor->index, vendor->libraries,
                                         &library->api, library->reason, sizeof(library->reason));
        library->tried = true;
        library->process = braid_process_number();
        for (int i = 0; i < MOST_TURNS; i++)
            pthread_mutex_init(&library->turns[i].lock, NULL);
        if (library->handle && vendor->index == GPU_CUDA)
            braid_ranges_find_nvtx();
        else if (library->handle)
            braid_ranges_find_roctx();
    }
    pthread_mutex_unlock(&library->lock);
    return library;
}

// That there is no device is an answer, and so is a library for linking only; HIP calls a device
// that is not there invalid. Any other failure leaves open whether there are devices.
static braid_status explain_result(const struct gpu_vendor *vendor, const struct gpu_api *api,
                                   gpu_result result, const void *slot, char *reason, size_t size)
{
    const char *name = NULL, *text = NULL;
    size_t offset = (size_t)((const char *)slot - (const char *)api);
    vendor->describe(api, result, &name, &text);
    snprintf(reason, size, "%s: %s (%d)%s%s",
             braid_gpu_symbol_name(&braid_gpu_symbols, vendor->index, offset),
             name ? name : "unknown error", result, text ? ": " : "", text ? text : "");
    bool has_none = result == GPU_NO_DEVICE || result == GPU_STUB_LIBRARY ||
                    (vendor->index == GPU_HIP && result == GPU_INVALID_DEVICE);
    return has_none ? BRAID_OK : BRAID_DEVICE_ERROR;
}

static braid_status count_devices(const struct gpu_vendor *vendor, const struct gpu_api *api,
                                  uint32_t *out_num_devices, char *out_reason, size_t reason_size)
{
    int count = 0;
    gpu_result result = api->initialize(0);
    if (result)
        return explain_result(vendor, api, result, &api->initialize, out_reason, reason_size);
    result = api->device_count(&count);
    if (result)
        return explain_result(vendor, api, result, &api->device_count, out_reason, reason_size);
    if (count <= 0)
        snprintf(out_reason, reason_size, "the library is there and finds no device");
    else
        *out_num_devices = (uint32_t)count;
    return BRAID_OK;
}

braid_status braid_gpu_query(const struct backend_driver *driver, uint32_t *out_num_devices,
                             char *out_reason, size_t reason_size)
{
    const struct gpu_vendor *vendor = driver->own;
    struct library *library = load_library(vendor);
    *out_num_devices = 0;
    if (reason_size > 0)
        *out_reason = '\0';
    if (!library->handle) {
        snprintf(out_reason, reason_size, "%s", library->reason);
        return BRAID_OK;
    }
    if (library->process != braid_process_number()) { // the driver's threads are not here
        snprintf(out_reason, reason_size,
                 "a parent of this process loaded the driver before a fork");
        return BRAID_OK;
    }
    const int error = braid_gpu_keep_error(&library->api);
    braid_status status =
        count_devices(vendor, &library->api, out_num_devices, out_reason, reason_size);
    braid_gpu_restore_error(&library->api, error);
    return status;
}

// An attribute that an older driver does not know, and refuses as a number, stays 0, which means
// "not known". Any other failure is no answer.
static gpu_result read_attribute(struct gpu_backend *gpu, size_t index)
{
    int number = gpu->vendor->attributes[index], value = 0;
    if (number == GPU_NO_ATTRIBUTE)
        return GPU_SUCCESS;
    gpu_result result = gpu->api->device_attribute(&value, number, gpu->device);
    if (result == GPU_SUCCESS)
        gpu->attributes[index] = value;
    return result == GPU_INVALID_VALUE || result == GPU_NOT_SUPPORTED ? GPU_SUCCESS : result;
}

static gpu_result read_attributes(struct gpu_backend *gpu)
{
    gpu_result result = GPU_SUCCESS;
    for (size_t i = 0; i < GPU_NUM_ATTRIBUTES && !result; i++)
        result = read_attribute(gpu, i);
    return result;
}

// The driver needs no context for these.
static braid_status read_info(struct gpu_backend *gpu)
{
    static const char what[] = "reading the device's properties";
    const struct gpu_api *api = gpu->api;
    size_t memory = 0;
    gpu_result result = api->device_name(gpu->name, (int)sizeof(gpu->name), gpu->device);
    if (result)
        return braid_gpu_check(gpu, result, &api->device_name, what);
    gpu->name[sizeof(gpu->name) - 1] = '\0';
    gpu->info.name = gpu->name;
    result = api->device_memory(&memory, gpu->device);
    if (result)
        return braid_gpu_check(gpu, result, &api->device_memory, what);
    result = read_attributes(gpu);
    if (result)
        return braid_gpu_check(gpu, result, &api->device_attribute, what);
    gpu->info.memory_bytes = memory;
    gpu->info.num_units = (uint32_t)gpu->attributes[GPU_NUM_UNITS];
    gpu->info.max_threads_per_block = (uint32_t)gpu->attributes[GPU_MAX_THREADS];
    return BRAID_OK;
}

static braid_status read_priorities(struct gpu_backend *gpu)
{
    return braid_gpu_check(gpu,
                           gpu->api->priority_range(&gpu->least_priority, &gpu->greatest_priority),
                           &gpu->api->priority_range, "reading the priorities of streams");
}

static braid_status open_device(struct gpu_backend *gpu)
{
    const int error = braid_gpu_keep_error(gpu->api);
    braid_status status = gpu->vendor->open_device(gpu);
    braid_gpu_restore_error(gpu->api, error);
    if (status)
        return status;
    struct gpu_scope scope;
    status = braid_gpu_enter(gpu, &scope, "opening the device");
    if (!status) {
        status = read_info(gpu);
        if (!status)
            status = read_priorities(gpu);
        if (!status)
            status = gpu->vendor->read_architecture(gpu);
        braid_gpu_leave(gpu, &scope);
    }
    if (status && gpu->vendor->close_device)
        gpu->vendor->close_device(gpu);
    return status;
}

static braid_status check_available(const struct backend_driver *driver, uint32_t ordinal)
{
    char reason[512];
    uint32_t num_devices = 0;
    (void)braid_gpu_query(driver, &num_devices, reason, sizeof(reason));
    if (num_devices == 0)
        return braid_error(BRAID_UNAVAILABLE, "%s not available: %s", driver->name, reason);
    if (ordinal >= num_devices)
        return braid_error_invalid("%s has %u device%s: there is no ordinal %u", driver->name,
                                   num_devices, num_devices == 1 ? "" : "s", ordinal);
    return BRAID_OK;
}

// The driver refuses to answer for a device that is on no bus.
static braid_status read_bus_id(const struct gpu_backend *gpu, char *id, size_t size)
{
    gpu_result result = gpu->api->device_bus_id(id, (int)size, gpu->device);
    if (result == GPU_SUCCESS)
        return BRAID_OK;
    *id = '\0';
    if (result == GPU_INVALID_VALUE || result == GPU_NOT_SUPPORTED)
        return BRAID_OK;
    return braid_gpu_check(gpu, result, &gpu->api->device_bus_id, "reading the device's bus id");
}

static braid_status find_device(struct gpu_backend *gpu, braid_found_device *found)
{
    braid_status status =
        braid_gpu_check(gpu, gpu->api->device_get(&gpu->device, (int)gpu->info.ordinal),
                        &gpu->api->device_get, "finding the device");
    if (!status)
        status = read_info(gpu);
    if (!status)
        status = read_bus_id(gpu, found->bus_id, sizeof(found->bus_id));
    if (status)
        return status;
    snprintf(found->name, sizeof(found->name), "%s", gpu->name);
    found->memory_bytes = gpu->info.memory_bytes;
    found->num_units = gpu->info.num_units;
    found->max_threads_per_block = gpu->info.max_threads_per_block;
    return BRAID_OK;
}

// By a backend that is never opened, so that messages are the same.
braid_status braid_gpu_find(const struct backend_driver *driver, uint32_t ordinal,
                            braid_found_device *out_device)
{
    const struct gpu_vendor *vendor = driver->own;
    braid_status status = check_available(driver, ordinal);
    if (status)
        return status;
    struct gpu_backend *gpu = braid_allocate_zeroed(1, sizeof(*gpu));
    if (!gpu)
        return braid_error_no_memory("the description of a device");
    gpu->vendor = vendor;
    gpu->api = &libraries[vendor->index].api;
    gpu->info.ordinal = ordinal;
    snprintf(gpu->label, sizeof(gpu->label), "%s:%u", vendor->name, ordinal);
    const int error = braid_gpu_keep_error(gpu->api);
    status = find_device(gpu, out_device);
    braid_gpu_restore_error(gpu->api, error);
    braid_free(gpu);
    return status;
}

// Frees a backend whose device is not open.
static void free_backend(struct gpu_backend *gpu)
{
    braid_blockers_finish(&gpu->blockers);
    pthread_cond_destroy(&gpu->callbacks_ended);
    pthread_mutex_destroy(&gpu->record_lock);
    pthread_mutex_destroy(&gpu->lock);
    pthread_cond_destroy(&gpu->claim_ended);
    pthread_mutex_destroy(&gpu->claim_lock);
    braid_disk_cache_close(gpu->cache);
    braid_free(gpu);
}

static void gpu_close(struct backend *backend)
{
    static const char what[] = "closing the device";
    struct gpu_backend *gpu = gpu_from(backend);
    struct gpu_scope scope;
    braid_gpu_driver_finish(gpu, NULL);
    bool current = braid_gpu_enter_to_free(gpu, &scope, what);
    if (current)
        braid_gpu_await_default_stream(gpu);
    for (int i = 0; i < GPU_NUM_OWN && current; i++) {
        if (gpu->own[i].module)
            braid_gpu_check_freed(gpu, gpu->api->module_unload(gpu->own[i].module),
                                  &gpu->api->module_unload, what);
    }
    braid_gpu_modules_finish(gpu, current);
    braid_gpu_kept_memory_free(gpu, current);
    if (gpu->finish_island_codes)
        gpu->finish_island_codes(gpu, current);
    braid_gpu_staging_finish(gpu, current);
    braid_gpu_conditional_launch_finish(gpu, current);
    if (current)
        braid_gpu_leave(gpu, &scope);
    braid_gpu_host_records_finish(gpu);
    if (gpu->vendor->close_device)
        gpu->vendor->close_device(gpu);
    free_backend(gpu);
}

static void get_info(struct backend *backend, braid_device_info *out_info)
{
    *out_info = gpu_from(backend)->info;
}

static void get_cost_model(struct backend *backend, braid_cost_model *out_model)
{
    struct gpu_backend *gpu = gpu_from(backend);
    gpu->vendor->stream_cost_model(gpu, out_model);
}

// The same for every vendor, except for the fields that braid_gpu_open sets.
static const struct backend_ops common_ops = {
    .close = gpu_close,
    .get_info = get_info,
    .get_cost_model = get_cost_model,
    .enter = braid_gpu_hold,
    .leave = braid_gpu_let_go,
    GPU_OPERATIONS(BACKEND_FILLS) // defined in other files
};

braid_status braid_gpu_open(const struct backend_driver *driver,
                            const braid_device_options *options, struct backend **out_backend)
{
    const struct gpu_vendor *vendor = driver->own;
    uint32_t ordinal = options->context ? 0 : options->ordinal;
    braid_status status = check_available(driver, ordinal);
    if (status)
        return status;
    struct gpu_backend *gpu = braid_allocate_pages(sizeof(*gpu));
    if (!gpu)
        return braid_error_no_memory("a device");
    gpu->ops = common_ops;
    gpu->ops.name = vendor->name;
    gpu->ops.players = vendor->players;
    gpu->ops.why_no_graphs = vendor->why_no_graphs;
    // AMD's runtime waits for a fill of host memory.
    gpu->ops.notes = vendor->index == GPU_CUDA ? BACKEND_NOTES_LANES : BACKEND_NOTES_NOTHING;
    gpu->ops.kernel_changes = vendor->index == GPU_CUDA ? ~0u : 0;
    gpu->ops.rank_engine = vendor->index == GPU_CUDA ? RANK_ENGINE_NCCL : RANK_ENGINE_RCCL;
    // On an H200 kernels of 1, 10 and 50 us are seen to take 6.9, 14.4 and 55.5 us. HIP: unknown.
    gpu->ops.timing_adds_ns = vendor->index == GPU_CUDA ? 4400 : 0;
    gpu->ops.event_step_ns = 500; // by both manuals; %globaltimer goes by 32 ns on an H200
    gpu->ops.stamp_step_ns = 32;
    gpu->base.ops = &gpu->ops;
    gpu->vendor = vendor;
    gpu->api = &libraries[vendor->index].api;
    gpu->ops.kernels_have_priorities = gpu->api->launch_config;
    gpu->library = libraries[vendor->index].handle;
    gpu->adopted = options->context;
    gpu->context = options->context == BRAID_CURRENT_CONTEXT ? NULL : options->context;
    gpu->info.backend = vendor->name;
    gpu->info.ordinal = ordinal;
    snprintf(gpu->label, sizeof(gpu->label), "%s:%u", vendor->name, ordinal);
    pthread_mutex_init(&gpu->claim_lock, NULL);
    pthread_cond_init(&gpu->claim_ended, NULL);
    pthread_mutex_init(&gpu->lock, NULL);
    pthread_mutex_init(&gpu->record_lock, NULL);
    pthread_cond_init(&gpu->callbacks_ended, NULL);
    braid_gpu_blocking_start(gpu);
    status = open_device(gpu);
    if (status) {
        free_backend(gpu);
        return status;
    }
    if (gpu->attributes[GPU_MAJOR] < 9)
        gpu->ops.kernel_changes &= ~(unsigned)KERNEL_WAITS_FIRST;
    gpu->turn =
        &libraries[vendor->index].turns[(uintptr_t)gpu->context / sizeof(gpu_context) % MOST_TURNS];
    gpu->cache = braid_disk_cache_open(options->cache);
    braid_gpu_note_architecture(gpu);
    *out_backend = &gpu->base;
    return BRAID_OK;
}
