// SPDX-License-Identifier: Apache-2.0
// Kernel launches: checking the shape and taking a copy of the arguments.
#include "launch.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "cuda_abi_constants.h"
#include "entry.h"
#include "event.h"
#include "library.h"
#include "module.h"
#include "report.h"
#include "settings.h"
#include "stream.h"

enum {
    MAX_THREADS_PER_MULTIPROCESSOR = 2048,
    MAX_BLOCKS_PER_MULTIPROCESSOR = 32,
    SHARED_PER_MULTIPROCESSOR = 233472,
    RESERVED_SHARED_PER_BLOCK = 1024,
};

int launch_shared_limit(CUfunction function)
{
    return function->max_dynamic_shared > MAX_SHARED_DEFAULT ? function->max_dynamic_shared
                                                             : MAX_SHARED_DEFAULT;
}

int launch_blocks_at_once(int block_threads, size_t shared_bytes)
{
    int warps = (block_threads + 31) / 32;
    int blocks = MAX_THREADS_PER_MULTIPROCESSOR / (warps * 32);
    size_t by_shared = SHARED_PER_MULTIPROCESSOR / (shared_bytes + RESERVED_SHARED_PER_BLOCK);
    if (blocks > MAX_BLOCKS_PER_MULTIPROCESSOR)
        blocks = MAX_BLOCKS_PER_MULTIPROCESSOR;
    if ((size_t)blocks > by_shared)
        blocks = (int)by_shared;
    return block_threads > MAX_BLOCK_THREADS ? 0 : blocks;
}

CUresult launch_check_room(const struct work *work)
{
    if (work->kind != WORK_KERNEL || !work->kernel.attributes.cooperative)
        return CUDA_SUCCESS;
    const unsigned *grid = work->kernel.grid, *block = work->kernel.block;
    unsigned long long blocks = (unsigned long long)grid[0] * grid[1] * grid[2];
    int at_once =
        launch_blocks_at_once((int)(block[0] * block[1] * block[2]), work->kernel.shared_bytes);
    unsigned long long room = (unsigned long long)at_once * setting(SETTING_MULTIPROCESSORS);
    return blocks > room ? CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE : CUDA_SUCCESS;
}

static CUresult check_shape(const struct launch_shape *shape, CUfunction function)
{
    const unsigned *grid = shape->grid, *block = shape->block;
    const unsigned largest_grid[3] = { 2147483647u, 65535, 65535 };
    const unsigned largest_block[3] = { 1024, 1024, 64 };
    for (int i = 0; i < 3; i++)
        if (grid[i] < 1 || grid[i] > largest_grid[i] || block[i] < 1 || block[i] > largest_block[i])
            return CUDA_ERROR_INVALID_VALUE;
    if (block[0] * block[1] * block[2] > MAX_BLOCK_THREADS)
        return CUDA_ERROR_INVALID_VALUE;
    if (shape->shared_bytes > (unsigned)launch_shared_limit(function))
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

// The array stands at the next address that is right for pointers.
static size_t array_start(CUfunction function)
{
    size_t align = _Alignof(max_align_t);
    return (function->argument_bytes + align) / align * align;
}

enum { NUM_EXTRA = 5 }; // pointer, its value, size, its value, end

unsigned char *launch_new_arguments(CUfunction function)
{
    size_t num_pointers =
        function->num_parameters < NUM_EXTRA ? NUM_EXTRA : function->num_parameters;
    return calloc(1, array_start(function) + num_pointers * sizeof(void *) + sizeof(size_t));
}

void launch_tell_arguments(const struct kernel_call *call, void ***out_params, void ***out_extra)
{
    CUfunction function = call->function;
    void **array = (void **)(void *)(call->arguments + array_start(function));
    *out_params = call->is_packed ? NULL : array;
    *out_extra = call->is_packed ? array : NULL;
    if (!call->is_packed) {
        for (size_t i = 0; i < function->num_parameters; i++)
            array[i] = call->arguments + function->parameters[i].offset;
        return;
    }
    size_t *bytes = (size_t *)(void *)(array + NUM_EXTRA);
    *bytes = call->packed_bytes;
    array[0] = CU_LAUNCH_PARAM_BUFFER_POINTER;
    array[1] = call->arguments;
    array[2] = CU_LAUNCH_PARAM_BUFFER_SIZE;
    array[3] = bytes;
    array[4] = CU_LAUNCH_PARAM_END;
}

// A packed buffer: the parameters at their offsets. The driver refuses one that is longer than the
// last parameter's end, be it by a struct's padding, and reads a shorter one as far as it goes. Any
// bytes are behind it.
static CUresult copy_packed(struct kernel_call *call, void **extra)
{
    const void *buffer = NULL;
    size_t bytes = 0;
    for (int i = 0; extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
        if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            buffer = extra[i + 1];
        else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE)
            bytes = *(const size_t *)extra[i + 1];
        else
            return CUDA_ERROR_INVALID_VALUE;
    }
    if (bytes > call->function->argument_bytes || buffer == NULL)
        return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    memcpy(call->arguments, buffer, bytes);
    memset(call->arguments + bytes, 0xEE, call->function->argument_bytes - bytes);
    call->is_packed = true;
    call->packed_bytes = bytes;
    return CUDA_SUCCESS;
}

static CUresult copy_arguments(const struct launch_shape *shape, struct kernel_call *call)
{
    CUfunction function = call->function;
    if (shape->params != NULL && shape->extra != NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (shape->extra != NULL)
        return copy_packed(call, shape->extra);
    if (shape->params == NULL && function->num_parameters > 0)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < function->num_parameters; i++) {
        if (shape->params[i] == NULL)
            return CUDA_ERROR_INVALID_VALUE;
        memcpy(call->arguments + function->parameters[i].offset, shape->params[i],
               function->parameters[i].bytes);
    }
    return CUDA_SUCCESS;
}

CUresult launch_prepare(const struct launch_shape *shape, struct work *out_work)
{
    CUfunction function;
    CUkernel kernel;
    CUresult result = library_resolve(shape->function,
                                      shape->context != NULL ? shape->context : context_current(),
                                      &function, &kernel);
    if (result == CUDA_SUCCESS)
        result = check_shape(shape, function);
    if (result != CUDA_SUCCESS)
        return result;
    struct work work = { .kind = WORK_KERNEL, .context = function->module->context };
    work.kernel.function = function;
    work.kernel.kernel = kernel;
    // aligned_alloc-like guarantees for vector types come from malloc's own alignment
    work.kernel.arguments = launch_new_arguments(function);
    if (work.kernel.arguments == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    result = copy_arguments(shape, &work.kernel);
    if (result != CUDA_SUCCESS) {
        free(work.kernel.arguments);
        return result;
    }
    work.kernel.attributes.domains.remote = 1;
    memcpy(work.kernel.grid, shape->grid, sizeof(work.kernel.grid));
    memcpy(work.kernel.block, shape->block, sizeof(work.kernel.block));
    work.kernel.shared_bytes = shape->shared_bytes;
    module_hold(function->module);
    *out_work = work;
    return CUDA_SUCCESS;
}

static CUresult set_cluster(struct kernel_call *call, const CUlaunchAttributeValue *value)
{
    const unsigned cluster[3] = { value->clusterDim.x, value->clusterDim.y, value->clusterDim.z };
    for (int i = 0; i < 3; i++)
        if (cluster[i] == 0 || call->grid[i] % cluster[i] != 0)
            return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    memcpy(call->attributes.cluster, cluster, sizeof(call->attributes.cluster));
    return CUDA_SUCCESS;
}

CUresult launch_set_attribute(struct work *work, CUlaunchAttributeID id,
                              const CUlaunchAttributeValue *value)
{
    if (work->kind != WORK_KERNEL || value == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    struct kernel_attributes *attributes = &work->kernel.attributes;
    switch (id) {
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
        break;
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
        if (!(value->accessPolicyWindow.hitRatio >= 0 && value->accessPolicyWindow.hitRatio <= 1))
            return CUDA_ERROR_INVALID_VALUE;
        attributes->window = value->accessPolicyWindow;
        break;
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: // one call runs the whole grid anyway
        attributes->cooperative = value->cooperative;
        break;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        return set_cluster(&work->kernel, value);
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        attributes->cluster_policy = value->clusterSchedulingPolicyPreference;
        break;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
        attributes->priority = value->priority;
        break;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
        attributes->domains = value->memSyncDomainMap;
        break;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
        attributes->domain = value->memSyncDomain;
        break;
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
        if (attributes->device_updatable && !value->deviceUpdatableKernelNode.deviceUpdatable)
            return CUDA_ERROR_INVALID_VALUE; // once it is so, it stays so
        attributes->device_updatable = value->deviceUpdatableKernelNode.deviceUpdatable != 0;
        break;
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        attributes->carveout = value->sharedMemCarveout;
        break;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult launch_get_attribute(const struct work *work, CUlaunchAttributeID id,
                              CUlaunchAttributeValue *out_value)
{
    if (work->kind != WORK_KERNEL || out_value == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUlaunchAttributeValue value = { .pad = { 0 } };
    const struct kernel_attributes *attributes = &work->kernel.attributes;
    switch (id) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
        value.accessPolicyWindow = attributes->window;
        break;
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        value.cooperative = attributes->cooperative;
        break;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        value.clusterDim.x = attributes->cluster[0];
        value.clusterDim.y = attributes->cluster[1];
        value.clusterDim.z = attributes->cluster[2];
        break;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        value.clusterSchedulingPolicyPreference = attributes->cluster_policy;
        break;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
        value.priority = attributes->priority;
        break;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
        value.memSyncDomainMap = attributes->domains;
        break;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
        value.memSyncDomain = attributes->domain;
        break;
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE: // no function of the device takes it
        value.deviceUpdatableKernelNode.deviceUpdatable = attributes->device_updatable;
        break;
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        value.sharedMemCarveout = attributes->carveout;
        break;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    *out_value = value;
    return CUDA_SUCCESS;
}

static bool has_priority(const CUlaunchAttribute *attributes, unsigned num)
{
    bool found = false;
    for (unsigned i = 0; i < num; i++)
        found = found || attributes[i].id == CU_LAUNCH_ATTRIBUTE_PRIORITY;
    return found;
}

// A kernel without a priority of its own has the stream's, also where it is captured.
static CUresult submit(CUstream stream, struct work *work, bool has_own)
{
    if (!has_own)
        work->kernel.attributes.priority = stream->priority;
    if (stream->capture == NULL)
        report_priority(work->kernel.function->name, work->kernel.attributes.priority);
    return stream_submit(stream, work, NULL);
}

// An event that the launch records, among its attributes, and the edge that leads from it where the
// launch is captured. False: the attribute is another. Driver 580 makes an ordinary edge of the
// event that comes when all blocks have begun, by the same port as the programmatic one.
static bool read_event(const CUlaunchAttribute *attribute, CUevent *out_event, int *out_flags,
                       CUgraphEdgeData *out_edge)
{
    const CUlaunchAttributeValue *value = &attribute->value;
    bool begun = attribute->id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT;
    if (!begun && attribute->id != CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT)
        return false;
    *out_event = begun ? value->launchCompletionEvent.event : value->programmaticEvent.event;
    *out_flags = begun ? value->launchCompletionEvent.flags : value->programmaticEvent.flags;
    bool at_begin = begun || value->programmaticEvent.triggerAtBlockStart;
    *out_edge = (CUgraphEdgeData){ .from_port = at_begin ? PORT_BEGUN : PORT_TRIGGERED,
                                   .type = begun ? 0 : EDGE_PROGRAMMATIC };
    return true;
}

static CUresult take_attribute(struct work *work, CUstream stream,
                               const CUlaunchAttribute *attribute)
{
    CUevent event;
    int flags;
    CUgraphEdgeData edge;
    if (read_event(attribute, &event, &flags, &edge))
        return event_check_early(event, stream, flags);
    if (attribute->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) {
        work->kernel.serialization = attribute->value.programmaticStreamSerializationAllowed;
        return CUDA_SUCCESS;
    }
    return launch_set_attribute(work, attribute->id, &attribute->value);
}

static CUresult record_events(CUstream stream, const CUlaunchAttribute *attributes, unsigned num)
{
    CUevent event;
    int flags;
    CUgraphEdgeData edge;
    CUresult result = CUDA_SUCCESS;
    for (unsigned i = 0; i < num && result == CUDA_SUCCESS; i++)
        if (read_event(&attributes[i], &event, &flags, &edge))
            result = event_record_early(event, stream, edge);
    return result;
}

static CUresult launch(const struct launch_shape *shape, CUstream handle,
                       const CUlaunchAttribute *attributes, unsigned num_attributes)
{
    struct work work;
    CUstream stream;
    CUresult result = launch_prepare(shape, &work);
    if (result != CUDA_SUCCESS)
        return result;
    result = stream_resolve(handle, &stream);
    for (unsigned i = 0; i < num_attributes && result == CUDA_SUCCESS; i++)
        result = take_attribute(&work, stream, &attributes[i]);
    if (result == CUDA_SUCCESS)
        result = launch_check_room(&work);
    if (result == CUDA_SUCCESS && stream->context != context_current())
        result = CUDA_ERROR_INVALID_HANDLE; // the stream of another device than the current one
    if (result != CUDA_SUCCESS) {
        work_finish(&work);
        return result;
    }
    result = submit(stream, &work, has_priority(attributes, num_attributes));
    return result == CUDA_SUCCESS ? record_events(stream, attributes, num_attributes) : result;
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                        CUstream stream, void **params, void **extra)
{
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    const struct launch_shape shape = { .function = function,
                                        .grid = { grid_x, grid_y, grid_z },
                                        .block = { block_x, block_y, block_z },
                                        .shared_bytes = shared_bytes,
                                        .params = params,
                                        .extra = extra };
    world_lock();
    result = launch(&shape, stream, NULL, 0);
    world_unlock();
    return result;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **params,
                          void **extra)
{
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (config == NULL || (config->attrs == NULL && config->numAttrs > 0))
        return CUDA_ERROR_INVALID_VALUE;
    const struct launch_shape shape = {
        .function = function,
        .grid = { config->gridDimX, config->gridDimY, config->gridDimZ },
        .block = { config->blockDimX, config->blockDimY, config->blockDimZ },
        .shared_bytes = config->sharedMemBytes,
        .params = params,
        .extra = extra,
    };
    world_lock();
    result = launch(&shape, config->hStream, config->attrs, config->numAttrs);
    world_unlock();
    return result;
}
