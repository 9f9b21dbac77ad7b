// SPDX-License-Identifier: Apache-2.0
// Tasks with a host call in place of a driver call: copies and fills of host memory.
// For these the driver would block the host.
//
// On an H200 with driver 580 a stream's copy between two host memories, pinned or not, or to
// pageable memory waits on the host. A copy from pageable memory to the device reads when it is
// queued, so it misses writes of earlier nodes of the frame. From some megabytes on, the host waits
// instead. The launch of a graph does the same. AMD's runtime waits for all of them, and for fills
// of pinned memory. So the driver never gets pageable memory. If the other end is a device, the
// data goes through pinned memory, and a host call does the rest.
#include "backends/gpu/gpu_detour.h"

#include <stdlib.h>
#include <string.h>

#include "backends/gpu/gpu_layouts.h"
#include "base/error.h"

enum { MAX_FREE_STAGING = 64 }; // blocks kept for nobody, when another is allocated

static void copy_on_host(void *user)
{
    const struct backend_detour *detour = user;
    memmove(detour->task.copy.to, detour->task.copy.from, detour->task.copy.bytes);
}

static void fill_on_host(void *user)
{
    const struct backend_task *task = &((const struct backend_detour *)user)->task;
    uint32_t value = task->fill.value;
    for (uint64_t i = 0; i < task->fill.num_values; i++) {
        if (task->fill.value_bytes == 1)
            ((uint8_t *)task->fill.to)[i] = (uint8_t)value;
        else if (task->fill.value_bytes == 2)
            ((uint16_t *)task->fill.to)[i] = (uint16_t)value;
        else
            ((uint32_t *)task->fill.to)[i] = value;
    }
}

static void free_staging(const struct gpu_backend *gpu, struct gpu_staging *staging, bool current)
{
    while (staging) {
        struct gpu_staging *next = staging->next;
        if (current && staging->is_signal)
            braid_gpu_check_freed(gpu, gpu->api->memory_free(staging->memory),
                                  &gpu->api->memory_free, "release of a word for calls");
        else if (current)
            braid_gpu_check_freed(gpu, gpu->api->host_free(staging->memory), &gpu->api->host_free,
                                  "release of pinned memory for copies");
        free(staging);
        staging = next;
    }
}

// The smallest free block that is large enough and not much too large.
static struct gpu_staging *find_staging(struct gpu_backend *gpu, uint64_t bytes, bool is_signal)
{
    struct gpu_staging **best = NULL;
    pthread_mutex_lock(&gpu->lock);
    for (struct gpu_staging **link = &gpu->free_staging; *link; link = &(*link)->next) {
        if ((*link)->is_signal == is_signal && (*link)->bytes >= bytes &&
            (*link)->bytes / 2 <= bytes && (!best || (*link)->bytes < (*best)->bytes))
            best = link;
    }
    struct gpu_staging *found = best ? *best : NULL;
    if (found) {
        *best = found->next;
        gpu->num_free_staging--;
    }
    pthread_mutex_unlock(&gpu->lock);
    return found;
}

static struct gpu_staging *take_free_staging(struct gpu_backend *gpu, uint32_t least)
{
    struct gpu_staging *all = NULL;
    pthread_mutex_lock(&gpu->lock);
    if (gpu->num_free_staging >= least) {
        all = gpu->free_staging;
        gpu->free_staging = NULL;
        gpu->num_free_staging = 0;
    }
    pthread_mutex_unlock(&gpu->lock);
    return all;
}

static braid_status allocate_staging(const struct gpu_backend *gpu, struct gpu_staging *staging)
{
    const struct gpu_api *api = gpu->api;
    if (staging->is_signal)
        return braid_gpu_check(
            gpu, api->hip_signal_allocate(&staging->memory, staging->bytes, GPU_SIGNAL_MEMORY),
            &api->hip_signal_allocate, "allocation of a word for a host call that blocks");
    return braid_gpu_check(
        gpu,
        api->host_allocate(&staging->memory, staging->bytes, GPU_HOST_PORTABLE | GPU_HOST_MAPPED),
        &api->host_allocate, "allocation of pinned memory for a copy with pageable memory");
}

braid_status braid_gpu_lease_staging(struct gpu_backend *gpu, uint64_t bytes, bool is_signal,
                                     struct gpu_staging **out_staging)
{
    struct gpu_staging *staging = find_staging(gpu, bytes, is_signal);
    if (staging) {
        *out_staging = staging;
        return BRAID_OK;
    }
    free_staging(gpu, take_free_staging(gpu, MAX_FREE_STAGING), true);
    staging = calloc(1, sizeof(*staging));
    if (!staging)
        return braid_error_no_memory("a copy");
    *staging = (struct gpu_staging){ .bytes = bytes, .is_signal = is_signal };
    braid_status status = allocate_staging(gpu, staging);
    if (status) {
        free(staging);
        return status;
    }
    *out_staging = staging;
    return BRAID_OK;
}

void braid_gpu_return_staging(struct gpu_backend *gpu, struct gpu_staging *staging)
{
    if (!staging)
        return;
    pthread_mutex_lock(&gpu->lock);
    staging->next = gpu->free_staging;
    gpu->free_staging = staging;
    gpu->num_free_staging++;
    pthread_mutex_unlock(&gpu->lock);
}

void braid_gpu_staging_finish(struct gpu_backend *gpu, bool current)
{
    free_staging(gpu, take_free_staging(gpu, 0), current);
}

static bool is_host(enum gpu_memory_kind kind)
{
    return kind == GPU_PAGEABLE || kind == GPU_PINNED;
}

static braid_status find_memory(const struct gpu_backend *gpu, const void *memory,
                                enum gpu_memory_kind *out_kind)
{
    const void *slot = NULL;
    gpu_result result = gpu->vendor->find_memory(gpu, memory, out_kind, &slot);
    return braid_gpu_check(gpu, result, slot, "a look at the memory of a copy or fill");
}

// A driver graph plays the bodies of loops and branches without the host. By CUDA's manual its
// copies there reach pinned memory that is mapped, as Braid's own is, and no pageable memory.
static bool does_itself(const struct backend_task *task, enum gpu_memory_kind to,
                        enum gpu_memory_kind from)
{
    return task->is_inside && to == GPU_PINNED && from == GPU_PINNED;
}

static braid_status prepare_copy(struct gpu_backend *gpu, const struct backend_task *task,
                                 struct backend_detour *detour)
{
    enum gpu_memory_kind to = GPU_ELSEWHERE, from = GPU_ELSEWHERE;
    braid_status status = find_memory(gpu, task->copy.to, &to);
    if (!status)
        status = find_memory(gpu, task->copy.from, &from);
    if (status)
        return status;
    if (is_host(to) && is_host(from) && !does_itself(task, to, from)) {
        detour->call = copy_on_host;
        return BRAID_OK;
    }
    if (to != GPU_PAGEABLE && from != GPU_PAGEABLE)
        return BRAID_OK;
    status = braid_gpu_lease_staging(gpu, task->copy.bytes, false, &detour->staging);
    if (status)
        return status;
    detour->call = copy_on_host;
    detour->from_device = to == GPU_PAGEABLE;
    if (detour->from_device)
        detour->task.copy.from = detour->staging->memory;
    else
        detour->task.copy.to = detour->staging->memory;
    return BRAID_OK;
}

static braid_status prepare(struct gpu_backend *gpu, const struct backend_task *task,
                            struct backend_detour *detour)
{
    if (task->kind == WORK_HOST)
        return braid_gpu_prepare_blocking(gpu, task->detour, detour);
    if (task->kind == WORK_COPY)
        return prepare_copy(gpu, task, detour);
    if (!gpu->vendor->fills_of_host_memory_wait)
        return BRAID_OK;
    enum gpu_memory_kind to = GPU_ELSEWHERE;
    braid_status status = find_memory(gpu, task->fill.to, &to);
    if (to == GPU_PINNED)
        detour->call = fill_on_host;
    return status;
}

// A call that once had a detour keeps one: in a graph its node stands for two.
static bool may_need_detour(const struct gpu_backend *gpu, const struct backend_task *task)
{
    if (task->kind == WORK_HOST)
        return task->detour || (task->host.is_blocking && braid_gpu_can_block_apart(gpu));
    return task->kind == WORK_COPY || task->kind == WORK_FILL;
}

braid_status braid_gpu_task_prepare(struct backend *backend, struct backend_task *task)
{
    struct gpu_backend *gpu = gpu_from(backend);
    if (task->kind == WORK_KERNEL)
        return braid_gpu_check_cluster(gpu, &task->launch);
    if (!may_need_detour(gpu, task))
        return BRAID_OK;
    struct backend_detour detour = { .task = *task, .gpu = gpu };
    struct gpu_scope scope;
    braid_status status = braid_gpu_enter(gpu, &scope, "a look at the memory of a copy");
    if (!status) {
        status = prepare(gpu, task, &detour);
        braid_gpu_leave(gpu, &scope);
    }
    if (status || !detour.call)
        return status;
    struct backend_detour *kept = braid_gpu_take_spare(&detour);
    if (!kept)
        kept = malloc(sizeof(*kept));
    if (!kept) {
        braid_gpu_return_staging(gpu, detour.staging);
        braid_gpu_leave_flag(&detour);
        return braid_error_no_memory("a task of the host");
    }
    *kept = detour;
    task->detour = kept;
    return BRAID_OK;
}

void braid_gpu_task_finish(struct backend *backend, struct backend_task *task)
{
    struct backend_detour *detour = task->detour;
    if (!detour)
        return;
    if (detour->flag) {
        braid_gpu_finish_blocking(detour);
    } else {
        braid_gpu_return_staging(gpu_from(backend), detour->staging);
        free(detour);
    }
    task->detour = NULL;
}

// The device's part of a copy.
static struct work_copy copy_on_device(const struct backend_detour *detour,
                                       const struct backend_task *task)
{
    struct work_copy copy = task->copy;
    if (detour->staging && detour->from_device)
        copy.to = detour->staging->memory;
    else if (detour->staging)
        copy.from = detour->staging->memory;
    return copy;
}

braid_status braid_gpu_submit_detour(struct gpu_backend *gpu, gpu_stream stream,
                                     const struct backend_task *task)
{
    struct backend_detour *detour = task->detour;
    const struct work_copy copy = copy_on_device(detour, task);
    const void *slot = NULL;
    gpu_result result = GPU_SUCCESS;
    if (detour->flag) {
        result = braid_gpu_submit_blocking(stream, detour, &slot);
        return braid_gpu_check_task(gpu, result, slot, task, NULL);
    }
    if (detour->staging && detour->from_device)
        result = gpu->vendor->copy(gpu, copy.to, copy.from, copy.bytes, stream, &slot);
    if (result == GPU_SUCCESS)
        result = gpu->vendor->host_call(gpu, stream, detour->call, detour, &slot);
    if (result == GPU_SUCCESS && detour->staging && !detour->from_device)
        result = gpu->vendor->copy(gpu, copy.to, copy.from, copy.bytes, stream, &slot);
    return braid_gpu_check_task(gpu, result, slot, task, NULL);
}

// Adds one node behind those of `behind`. Then `behind` names that node.
static gpu_result add_part(const struct gpu_backend *gpu, struct gpu_behind *behind,
                           const struct work_copy *copy, gpu_node *node, const void **out_slot)
{
    const struct gpu_site site = { .behind = *behind, .node = node };
    gpu_result result = gpu->vendor->nodes->put_copy(gpu, &site, copy, out_slot);
    *behind = (struct gpu_behind){ .graph = behind->graph, .after = node, .num_after = 1 };
    return result;
}

braid_status braid_gpu_add_detour(const struct gpu_backend *gpu, struct gpu_behind behind,
                                  const struct backend_task *task, gpu_node *out_node)
{
    struct backend_detour *detour = task->detour;
    const struct work_copy copy = copy_on_device(detour, task);
    const struct gpu_host_parameters call = { .call = detour->call, .user = detour };
    const void *slot = NULL;
    gpu_node parts[3];
    gpu_result result = GPU_SUCCESS;
    if (detour->flag) {
        result = braid_gpu_add_blocking(behind, detour, out_node, &slot);
        return braid_gpu_check_task(gpu, result, slot, task, NULL);
    }
    if (detour->staging && detour->from_device)
        result = add_part(gpu, &behind, &copy, &parts[0], &slot);
    if (result == GPU_SUCCESS) {
        slot = &gpu->api->graph_add_host;
        result = gpu->api->graph_add_host(&parts[1], behind.graph, behind.after, behind.num_after,
                                          &call);
        behind = (struct gpu_behind){ .graph = behind.graph, .after = &parts[1], .num_after = 1 };
    }
    if (result == GPU_SUCCESS && detour->staging && !detour->from_device)
        result = add_part(gpu, &behind, &copy, &parts[2], &slot);
    if (result)
        return braid_gpu_check_task(gpu, result, slot, task, NULL);
    *out_node = *behind.after;
    return BRAID_OK;
}
