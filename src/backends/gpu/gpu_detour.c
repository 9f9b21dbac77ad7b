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
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "backends/gpu/gpu_backend.h"
#include "backends/gpu/gpu_layouts.h"
#include "base/error.h"
#include "base/host_memory.h"

// Pinned memory, kept by the device for later execs: freeing it waits for all work on the device.
struct gpu_staging {
    struct gpu_staging *next;
    void *memory;
    uint64_t bytes;
    bool is_signal; // streams of HIP can wait for it
};

// The host's part of a task, and the device's part before or after it.
struct backend_detour {
    gpu_host_function *call;
    struct backend_task task;    // the work of the call
    struct gpu_staging *staging; // a copy's; NULL: the host does it all
    bool from_device;            // for a copy: the device's part comes first
    struct gpu_backend *gpu;
    struct gpu_flag *flag;       // if the call blocks; NULL otherwise
    struct backend_detour *next; // among spare ones
};

// ---- pinned memory ----

enum { MAX_FREE_STAGING = 64 }; // blocks kept for nobody, when another is allocated

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
        braid_free(staging);
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

// The device is current. Errors: BRAID_NO_MEMORY, BRAID_DEVICE_ERROR.
// `is_signal`: of HIP's own kind, for a word that streams wait for.
static braid_status lease_staging(struct gpu_backend *gpu, uint64_t bytes, bool is_signal,
                                  struct gpu_staging **out_staging)
{
    struct gpu_staging *staging = find_staging(gpu, bytes, is_signal);
    if (staging) {
        *out_staging = staging;
        return BRAID_OK;
    }
    free_staging(gpu, take_free_staging(gpu, MAX_FREE_STAGING), true);
    staging = braid_allocate_zeroed(1, sizeof(*staging));
    if (!staging)
        return braid_error_no_memory("a copy");
    *staging = (struct gpu_staging){ .bytes = bytes, .is_signal = is_signal };
    braid_status status = allocate_staging(gpu, staging);
    if (status) {
        braid_free(staging);
        return status;
    }
    *out_staging = staging;
    return BRAID_OK;
}

static void return_staging(struct gpu_backend *gpu, struct gpu_staging *staging)
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

// ---- blocking host calls: the driver's thread hands each to a thread of Braid's ----

// The stream or graph waits for a word that this thread writes when the call has ended.
//
// The driver makes host calls one after another on a thread of its own: one that sleeps there holds
// up those of all streams. A wait for a word in memory is the device's to make, and no thread's.
//
// On streams the word counts ended calls, and each wait is for the number of queued calls. If
// queueing the wait fails, the call is still made, the count stays right, and the launching thread
// waits for it. A graph has the same wait in each launch. So there the driver's thread sets the
// word back before it hands the call over, which is behind the wait of the launch before. An audit
// queues a graph's task on a stream, which then has the graph's wait.

// A task has one in a frame slot, also when its call changes.
struct gpu_flag {
    struct gpu_staging *memory; // the word, which is the driver's too
    uint32_t num_users;         // detours
    struct backend_detour *spare;
    uint64_t num_queued;            // on streams
    _Atomic uint64_t num_under_way; // handed to a thread of ours, which writes it last
    bool goes_on;                   // on streams: nothing waits for the last one
    bool in_graph;
    gpu_node call; // in a graph: it hands the call over
};

// CUDA waits for the lower half, where the numbers may wrap around; HIP for all of it.
static _Atomic uint64_t *word_of(const struct gpu_flag *flag)
{
    return flag->memory->memory;
}

// As soon as the word is written the detour may be another call's.
static void end_call(void *owner, void *user)
{
    const struct backend_detour *detour = user;
    struct gpu_flag *flag = detour->flag;
    (void)owner;
    atomic_fetch_add_explicit(word_of(flag), 1, memory_order_release);
    atomic_fetch_sub_explicit(&flag->num_under_way, 1, memory_order_release);
}

static void make_call(void *user)
{
    const struct backend_detour *detour = user;
    detour->task.host.call(detour->task.host.user);
}

// On a thread of the driver's, which must not wait.
static void hand_over(void *user)
{
    struct backend_detour *detour = user;
    atomic_fetch_add_explicit(&detour->flag->num_under_way, 1, memory_order_relaxed);
    if (detour->flag->in_graph)
        atomic_store_explicit(word_of(detour->flag), 0, memory_order_release);
    if (braid_blockers_run(&detour->gpu->blockers, detour))
        return;
    make_call(detour);
    end_call(NULL, detour);
}

void braid_gpu_blocking_start(struct gpu_backend *gpu)
{
    braid_blockers_init(&gpu->blockers, make_call, end_call, NULL);
}

// Whether the driver has the calls for that.
static bool can_block_apart(const struct gpu_backend *gpu)
{
    if (gpu->vendor->index == GPU_HIP)
        return gpu->api->hip_stream_wait_value && gpu->api->hip_signal_allocate &&
               gpu->attributes[GPU_STREAM_WAITS];
    return gpu->api->stream_wait_value && gpu->api->graph_add_memory_operations;
}

// With the flag of `before`, the detour of the same task until now; NULL: there is none.
static braid_status prepare_blocking(struct gpu_backend *gpu, const struct backend_detour *before,
                                     struct backend_detour *detour)
{
    struct gpu_flag *flag = before ? before->flag : braid_allocate_zeroed(1, sizeof(*flag));
    if (!flag)
        return braid_error_no_memory("a host call that blocks");
    if (!before) {
        braid_status status =
            lease_staging(gpu, sizeof(uint64_t), gpu->vendor->index == GPU_HIP, &flag->memory);
        if (status) {
            braid_free(flag);
            return status;
        }
        atomic_store_explicit(word_of(flag), 0, memory_order_release);
    }
    flag->num_users++;
    detour->call = hand_over;
    detour->flag = flag;
    return BRAID_OK;
}

static struct backend_detour *take_spare(const struct backend_detour *detour)
{
    struct backend_detour *spare = detour->flag ? detour->flag->spare : NULL;
    if (spare)
        detour->flag->spare = spare->next;
    return spare;
}

// If the stream has ended, all of its calls were handed over.
static void await_calls(const struct gpu_flag *flag)
{
    const struct timespec pause = { .tv_nsec = 50000 };
    while (atomic_load_explicit(&flag->num_under_way, memory_order_acquire))
        nanosleep(&pause, NULL);
}

bool braid_gpu_task_goes_on(struct backend *backend, const struct backend_task *task, bool wait)
{
    struct gpu_flag *flag = task->detour ? task->detour->flag : NULL;
    (void)backend;
    if (!flag || !flag->goes_on)
        return false;
    if (wait) {
        await_calls(flag);
        flag->goes_on = false;
    }
    return flag->goes_on;
}

// No frame uses it. If the device has failed, a call may still run on a thread of ours.
static void leave_flag(const struct backend_detour *detour)
{
    struct gpu_flag *flag = detour->flag;
    if (!flag || --flag->num_users > 0)
        return;
    await_calls(flag);
    while (flag->spare) {
        struct backend_detour *spare = flag->spare;
        flag->spare = spare->next;
        braid_free(spare);
    }
    return_staging(detour->gpu, flag->memory);
    braid_free(flag);
}

// A call that changes every frame needs no more memory than was ever in use at once.
// Frees the detour, or keeps it for the next one with its flag, which this hands out; NULL: none.
static void finish_blocking(struct backend_detour *detour)
{
    struct gpu_flag *flag = detour->flag;
    if (flag->num_users > 1) {
        detour->next = flag->spare;
        flag->spare = detour;
        flag->num_users--;
        return;
    }
    leave_flag(detour);
    braid_free(detour);
}

static gpu_result queue_wait(const struct gpu_backend *gpu, gpu_stream stream,
                             const struct gpu_flag *flag, const void **out_slot)
{
    if (gpu->vendor->index == GPU_HIP) {
        *out_slot = &gpu->api->hip_stream_wait_value;
        return gpu->api->hip_stream_wait_value(stream, flag->memory->memory, flag->num_queued,
                                               GPU_WAIT_FOR_AT_LEAST, UINT64_MAX);
    }
    *out_slot = &gpu->api->stream_wait_value;
    return gpu->api->stream_wait_value(stream, flag->memory->memory, (uint32_t)flag->num_queued,
                                       GPU_WAIT_FOR_AT_LEAST);
}

static gpu_result submit_blocking(gpu_stream stream, struct backend_detour *detour,
                                  const void **out_slot)
{
    struct gpu_backend *gpu = detour->gpu;
    struct gpu_flag *flag = detour->flag;
    gpu_result result = gpu->vendor->host_call(gpu, stream, hand_over, detour, out_slot);
    if (result)
        return result;
    flag->num_queued = flag->in_graph ? 1 : flag->num_queued + 1;
    result = queue_wait(gpu, stream, flag, out_slot);
    flag->goes_on = result != GPU_SUCCESS;
    return result;
}

static gpu_result add_blocking(struct gpu_behind behind, struct backend_detour *detour,
                               gpu_node *out_node, const void **out_slot)
{
    struct gpu_backend *gpu = detour->gpu;
    struct gpu_flag *flag = detour->flag;
    const struct gpu_host_parameters call = { .call = hand_over, .user = detour };
    *out_slot = &gpu->api->graph_add_host;
    gpu_result result =
        gpu->api->graph_add_host(&flag->call, behind.graph, behind.after, behind.num_after, &call);
    *out_node = flag->call;
    if (result)
        return result;
    flag->in_graph = true;
    behind = (struct gpu_behind){ .graph = behind.graph, .after = &flag->call, .num_after = 1 };
    return gpu->vendor->nodes->add_wait_value(gpu, &behind, flag->memory->memory, 1, out_node,
                                              out_slot);
}

gpu_result braid_gpu_set_blocking(gpu_executable executable, const struct backend_task *task,
                                  const void **out_slot)
{
    struct backend_detour *detour = task->detour;
    const struct gpu_api *api = detour->gpu->api;
    const struct gpu_host_parameters call = { .call = hand_over, .user = detour };
    *out_slot = &api->executable_set_host;
    return api->executable_set_host(executable, detour->flag->call, &call);
}

// ---- detours ----

static void copy_on_host(void *user)
{
    const struct work_copy *copy = &((const struct backend_detour *)user)->task.copy;
    for (uint64_t row = 0; row < work_num_rows(&copy->rows); row++)
        memmove((char *)copy->to + work_row_at(&copy->rows, false, row),
                (const char *)copy->from + work_row_at(&copy->rows, true, row), copy->bytes);
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

// Puts the pinned memory in place of one end. There the rows follow each other.
static void stage(const struct backend_detour *detour, struct work_copy *copy, bool is_from)
{
    braid_rows *rows = &copy->rows;
    const uint32_t pitch = rows->num ? (uint32_t)copy->bytes : 0;
    if (is_from) {
        copy->from = detour->staging->memory;
        rows->from_pitch = pitch;
        rows->from_height = rows->num;
    } else {
        copy->to = detour->staging->memory;
        rows->to_pitch = pitch;
        rows->to_height = rows->num;
    }
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
    status = lease_staging(gpu, task->copy.bytes * work_num_rows(&task->copy.rows), false,
                           &detour->staging);
    if (status)
        return status;
    detour->call = copy_on_host;
    detour->from_device = to == GPU_PAGEABLE;
    stage(detour, &detour->task.copy, detour->from_device);
    return BRAID_OK;
}

static braid_status prepare(struct gpu_backend *gpu, const struct backend_task *task,
                            struct backend_detour *detour)
{
    if (task->kind == WORK_HOST)
        return prepare_blocking(gpu, task->detour, detour);
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
        return task->detour || (task->host.is_blocking && can_block_apart(gpu));
    return task->kind == WORK_COPY || task->kind == WORK_FILL;
}

static bool has_rows(const struct backend_task *task)
{
    return (task->kind == WORK_COPY && task->copy.rows.num) ||
           (task->kind == WORK_FILL && task->fill.rows.num);
}

static bool moves_rows(const struct gpu_api *api)
{
    return api->copy_rows && api->fill_rows8 && api->fill_rows16 && api->fill_rows32;
}

braid_status braid_gpu_task_prepare(struct backend *backend, struct backend_task *task)
{
    struct gpu_backend *gpu = gpu_from(backend);
    if (task->kind == WORK_KERNEL)
        return braid_gpu_check_launch(gpu, &task->launch);
    if (has_rows(task) && !moves_rows(gpu->api))
        return braid_error(BRAID_UNSUPPORTED, "it has several rows, and %s moves one alone",
                           gpu->label);
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
    struct backend_detour *kept = take_spare(&detour);
    if (!kept)
        kept = braid_allocate(sizeof(*kept));
    if (!kept) {
        return_staging(gpu, detour.staging);
        leave_flag(&detour);
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
        finish_blocking(detour);
    } else {
        return_staging(gpu_from(backend), detour->staging);
        braid_free(detour);
    }
    task->detour = NULL;
}

// The device's part of a copy.
static struct work_copy copy_on_device(const struct backend_detour *detour,
                                       const struct backend_task *task)
{
    struct work_copy copy = task->copy;
    if (detour->staging)
        stage(detour, &copy, !detour->from_device);
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
        result = submit_blocking(stream, detour, &slot);
        return braid_gpu_check_task(gpu, result, slot, task, NULL);
    }
    if (detour->staging && detour->from_device)
        result = gpu->vendor->copy(gpu, &copy, stream, &slot);
    if (result == GPU_SUCCESS)
        result = gpu->vendor->host_call(gpu, stream, detour->call, detour, &slot);
    if (result == GPU_SUCCESS && detour->staging && !detour->from_device)
        result = gpu->vendor->copy(gpu, &copy, stream, &slot);
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
        result = add_blocking(behind, detour, out_node, &slot);
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
