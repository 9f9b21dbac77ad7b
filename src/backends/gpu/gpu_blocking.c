// SPDX-License-Identifier: Apache-2.0
// Blocking host calls: the driver's thread hands each to a thread of Braid's.
// The stream or graph waits for a word that this thread writes when the call has ended.
//
// The driver makes host calls one after another on a thread of its own: one that sleeps there holds
// up those of all streams. A wait for a word in memory is the device's to make, and no thread's.
//
// On streams the word counts ended calls, and each wait is for the number of queued calls. If
// queueing the wait fails, the call is still made, the count stays right, and the launching thread
// waits for it. A graph has the same wait in each launch. So there the driver's thread sets the
// word back before it hands the call over, which is behind the wait of the launch before.
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "backends/gpu/gpu_detour.h"
#include "backends/gpu/gpu_layouts.h"
#include "base/error.h"

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

bool braid_gpu_can_block_apart(const struct gpu_backend *gpu)
{
    if (gpu->vendor->index == GPU_HIP)
        return gpu->api->hip_stream_wait_value && gpu->api->hip_signal_allocate &&
               gpu->attributes[GPU_STREAM_WAITS];
    return gpu->api->stream_wait_value && gpu->api->graph_add_memory_operations;
}

braid_status braid_gpu_prepare_blocking(struct gpu_backend *gpu,
                                        const struct backend_detour *before,
                                        struct backend_detour *detour)
{
    struct gpu_flag *flag = before ? before->flag : calloc(1, sizeof(*flag));
    if (!flag)
        return braid_error_no_memory("a host call that blocks");
    if (!before) {
        braid_status status = braid_gpu_lease_staging(gpu, sizeof(uint64_t),
                                                      gpu->vendor->index == GPU_HIP, &flag->memory);
        if (status) {
            free(flag);
            return status;
        }
        atomic_store_explicit(word_of(flag), 0, memory_order_release);
    }
    flag->num_users++;
    detour->call = hand_over;
    detour->flag = flag;
    return BRAID_OK;
}

struct backend_detour *braid_gpu_take_spare(const struct backend_detour *detour)
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
void braid_gpu_leave_flag(const struct backend_detour *detour)
{
    struct gpu_flag *flag = detour->flag;
    if (!flag || --flag->num_users > 0)
        return;
    await_calls(flag);
    while (flag->spare) {
        struct backend_detour *spare = flag->spare;
        flag->spare = spare->next;
        free(spare);
    }
    braid_gpu_return_staging(detour->gpu, flag->memory);
    free(flag);
}

// A call that changes every frame needs no more memory than was ever in use at once.
void braid_gpu_finish_blocking(struct backend_detour *detour)
{
    struct gpu_flag *flag = detour->flag;
    if (flag->num_users > 1) {
        detour->next = flag->spare;
        flag->spare = detour;
        flag->num_users--;
        return;
    }
    braid_gpu_leave_flag(detour);
    free(detour);
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

gpu_result braid_gpu_submit_blocking(gpu_stream stream, struct backend_detour *detour,
                                     const void **out_slot)
{
    struct gpu_backend *gpu = detour->gpu;
    struct gpu_flag *flag = detour->flag;
    gpu_result result = gpu->vendor->host_call(gpu, stream, hand_over, detour, out_slot);
    if (result)
        return result;
    flag->num_queued++;
    result = queue_wait(gpu, stream, flag, out_slot);
    flag->goes_on = result != GPU_SUCCESS;
    return result;
}

gpu_result braid_gpu_add_blocking(struct gpu_behind behind, struct backend_detour *detour,
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
