// SPDX-License-Identifier: Apache-2.0
// Queueing one task on a stream.
#include "backends/gpu/gpu_driver.h"

#include "backends/note_task.h"
#include "base/error.h"

static bool has_cluster(const struct backend_launch *launch)
{
    return launch->cluster.x != 0;
}

// The kernel may rely on its cluster, or on all its blocks at once, so it does not run without.
braid_status braid_gpu_check_launch(struct gpu_backend *gpu, const struct backend_launch *launch)
{
    const uint64_t blocks = (uint64_t)launch->grid.x * launch->grid.y * launch->grid.z;
    uint64_t most = 0;
    if (has_cluster(launch) && !(gpu->api->launch_config && gpu->attributes[GPU_CLUSTERS]))
        return braid_error(BRAID_UNSUPPORTED, "it has a cluster, and %s has no clusters",
                           gpu->label);
    if (!launch->cooperative)
        return BRAID_OK;
    if (!braid_gpu_has_cooperative(gpu))
        return braid_error(BRAID_UNSUPPORTED, "it is cooperative, and %s has no such launches",
                           gpu->label);
    braid_status status = braid_gpu_count_blocks(&gpu->base, launch, &most);
    if (status || !most || blocks <= most) // the driver refuses one of which no block has room
        return status;
    return braid_error(BRAID_UNSUPPORTED,
                       "it needs %llu blocks at once, and %s has room for a grid of %llu",
                       (unsigned long long)blocks, gpu->label, (unsigned long long)most);
}

uint32_t braid_gpu_list_attributes(const struct gpu_backend *gpu,
                                   const struct backend_launch *launch,
                                   struct gpu_attribute *attributes)
{
    uint32_t num = 0;
    if (has_cluster(launch)) {
        attributes[num] = (struct gpu_attribute){ .id = GPU_LAUNCH_CLUSTER };
        attributes[num].value.cluster.x = launch->cluster.x;
        attributes[num].value.cluster.y = launch->cluster.y;
        attributes[num++].value.cluster.z = launch->cluster.z;
    }
    if (launch->priority) {
        attributes[num] = (struct gpu_attribute){ .id = GPU_LAUNCH_PRIORITY };
        attributes[num++].value.priority = braid_gpu_clamp_priority(gpu, launch->priority);
    }
    if (launch->cooperative) {
        attributes[num] = (struct gpu_attribute){ .id = GPU_LAUNCH_COOPERATIVE };
        attributes[num++].value.cooperative = 1;
    }
    if (launch->start) {
        attributes[num] = (struct gpu_attribute){ .id = GPU_LAUNCH_PROGRAMMATIC };
        attributes[num++].value.programmatic = 1;
    }
    return num;
}

static gpu_result launch_with_attributes(const struct gpu_backend *gpu, gpu_stream stream,
                                         const struct backend_launch *launch)
{
    struct gpu_attribute attributes[GPU_MOST_ATTRIBUTES];
    uint32_t num = braid_gpu_list_attributes(gpu, launch, attributes);
    struct gpu_launch_config config = {
        .grid = { launch->grid.x, launch->grid.y, launch->grid.z },
        .block = { launch->block.x, launch->block.y, launch->block.z },
        .shared_bytes = launch->shared_bytes,
        .stream = stream,
        .attributes = attributes,
        .num_attributes = num,
    };
    return gpu->api->launch_config(&config, gpu_kernel_from(launch->kernel)->function,
                                   (void **)(uintptr_t)launch->args, NULL);
}

static gpu_result launch_plain(const struct gpu_backend *gpu, gpu_stream stream,
                               const struct backend_launch *launch)
{
    const braid_dim3 *grid = &launch->grid, *block = &launch->block;
    return gpu->api->launch(gpu_kernel_from(launch->kernel)->function, grid->x, grid->y, grid->z,
                            block->x, block->y, block->z, launch->shared_bytes, stream,
                            (void **)(uintptr_t)launch->args, NULL);
}

bool braid_gpu_has_cooperative(const struct gpu_backend *gpu)
{
    return gpu->attributes[GPU_COOPERATIVE] && gpu->api->function_occupancy &&
           (gpu->api->launch_config || gpu->api->hip_launch_cooperative);
}

gpu_result braid_gpu_launch(const struct gpu_backend *gpu, gpu_stream stream,
                            const struct backend_launch *launch, const void **out_slot)
{
    const struct gpu_api *api = gpu->api;
    const braid_dim3 *grid = &launch->grid, *block = &launch->block;
    *out_slot = &api->launch_config;
    if (api->launch_config)
        return launch_with_attributes(gpu, stream, launch);
    *out_slot = &api->hip_launch_cooperative;
    if (launch->cooperative && api->hip_launch_cooperative)
        return api->hip_launch_cooperative(
            gpu_kernel_from(launch->kernel)->function, grid->x, grid->y, grid->z, block->x,
            block->y, block->z, launch->shared_bytes, stream, (void **)(uintptr_t)launch->args);
    *out_slot = &api->launch;
    return launch_plain(gpu, stream, launch);
}

static braid_status submit_kernel(const struct gpu_backend *gpu, gpu_stream stream,
                                  const struct backend_task *task)
{
    const struct backend_launch *launch = &task->launch;
    // Priority and early start are hints: a driver that has no call for them runs the kernel
    // without.
    bool special = has_cluster(launch) || launch->priority || launch->start || launch->cooperative;
    const void *slot = NULL;
    gpu_result result = braid_gpu_allow_shared(gpu, launch, &slot);
    if (result == GPU_SUCCESS && special) {
        result = braid_gpu_launch(gpu, stream, launch, &slot);
    } else if (result == GPU_SUCCESS) {
        slot = &gpu->api->launch;
        result = launch_plain(gpu, stream, launch);
    }
    if (result == GPU_SUCCESS)
        return BRAID_OK;
    char detail[200];
    braid_gpu_explain_launch(gpu, launch, result, detail, sizeof(detail));
    return braid_gpu_check_task(gpu, result, slot, task, detail);
}

static braid_status submit_copy(const struct gpu_backend *gpu, gpu_stream stream,
                                const struct backend_task *task)
{
    const void *slot = NULL;
    gpu_result result = gpu->vendor->copy(gpu, &task->copy, stream, &slot);
    return braid_gpu_check_task(gpu, result, slot, task, NULL);
}

static gpu_result fill_rows(const struct gpu_api *api, gpu_stream stream,
                            const struct work_fill *fill, const void **out_slot)
{
    const size_t pitch = fill->rows.to_pitch, height = fill->rows.num;
    switch (fill->value_bytes) {
    case 1:
        *out_slot = &api->fill_rows8;
        return api->fill_rows8(fill->to, pitch, (unsigned char)fill->value, fill->num_values,
                               height, stream);
    case 2:
        *out_slot = &api->fill_rows16;
        return api->fill_rows16(fill->to, pitch, (unsigned short)fill->value, fill->num_values,
                                height, stream);
    default:
        *out_slot = &api->fill_rows32;
        return api->fill_rows32(fill->to, pitch, fill->value, fill->num_values, height, stream);
    }
}

static braid_status submit_fill(const struct gpu_backend *gpu, gpu_stream stream,
                                const struct backend_task *task)
{
    const struct gpu_api *api = gpu->api;
    void *to = task->fill.to;
    uint32_t value = task->fill.value;
    uint64_t count = task->fill.num_values;
    if (task->fill.rows.num) {
        const void *slot = NULL;
        gpu_result result = fill_rows(api, stream, &task->fill, &slot);
        return braid_gpu_check_task(gpu, result, slot, task, NULL);
    }
    switch (task->fill.value_bytes) {
    case 1:
        return braid_gpu_check_task(gpu, api->fill8(to, (unsigned char)value, count, stream),
                                    &api->fill8, task, NULL);
    case 2:
        return braid_gpu_check_task(gpu, api->fill16(to, (unsigned short)value, count, stream),
                                    &api->fill16, task, NULL);
    default:
        return braid_gpu_check_task(gpu, api->fill32(to, value, count, stream), &api->fill32, task,
                                    NULL);
    }
}

static braid_status submit_host(struct gpu_backend *gpu, gpu_stream stream,
                                const struct backend_task *task)
{
    const void *slot = NULL;
    if (task->node == BACKEND_NO_NODE)
        return braid_gpu_submit_marked(gpu, stream, task);
    gpu_result result =
        gpu->vendor->host_call(gpu, stream, task->host.call, task->host.user, &slot);
    return braid_gpu_check_task(gpu, result, slot, task, NULL);
}

braid_status braid_gpu_post(gpu_stream stream, const struct backend_task *task)
{
    return task->post.operation->ops->enqueue(task->post.operation, task->post.from, task->post.to,
                                              stream);
}

bool braid_gpu_post_joins(const struct backend_task *task)
{
    return task->post.operation->joins_next;
}

static braid_status submit_other(struct gpu_backend *gpu, gpu_stream stream,
                                 const struct backend_task *task)
{
    switch (task->kind) {
    case WORK_COPY:
        return submit_copy(gpu, stream, task);
    case WORK_FILL:
        return submit_fill(gpu, stream, task);
    case WORK_HOST:
        return submit_host(gpu, stream, task);
    case WORK_EMPTY:
        return BRAID_OK; // its place in the stream is all there is to it
    case WORK_POST:
        return braid_gpu_post(stream, task);
    case WORK_AWAIT:
        return BRAID_OK; // its place is all there is to it: it is behind its post
    case WORK_KERNEL:
    case WORK_QUEUE:
    case WORK_LOOP:
    case WORK_BRANCH:
        break;
    }
    return braid_error(BRAID_INTERNAL, "'%s' was submitted to the device", task->name);
}

static braid_status submit_note(const struct gpu_backend *gpu, gpu_stream stream,
                                const struct backend_task *task, bool ended)
{
    const struct backend_task note = note_task(task, ended);
    return submit_fill(gpu, stream, &note);
}

// A kernel, which most tasks are, takes the shortest way.
braid_status braid_gpu_submit(struct backend *backend, struct backend_stream *stream,
                              const struct backend_task *task)
{
    struct gpu_backend *gpu = gpu_from(backend);
    struct gpu_scope scope;
    bool at_once;
    braid_status status = braid_gpu_driver_submit(gpu, stream, task, &at_once);
    if (!at_once)
        return status;
    status = braid_gpu_enter_task(gpu, &scope, task);
    if (status)
        return status;
    braid_gpu_note_stream(gpu, gpu_stream_of(stream));
    if (task->notes_begin)
        status = submit_note(gpu, gpu_stream_of(stream), task, false);
    if (status)
        ;
    else if (task->detour)
        status = braid_gpu_submit_detour(gpu, gpu_stream_of(stream), task);
    else if (task->kind == WORK_KERNEL)
        status = submit_kernel(gpu, gpu_stream_of(stream), task);
    else
        status = submit_other(gpu, gpu_stream_of(stream), task);
    if (!status && task->notes_end)
        status = submit_note(gpu, gpu_stream_of(stream), task, true);
    braid_gpu_leave(gpu, &scope);
    return status;
}
