// SPDX-License-Identifier: Apache-2.0
// Launches of graphs with conditional nodes, one after another on a device.
//
// Driver 580 fails with CUDA_ERROR_LAUNCH_FAILED (719) now and then if several such graphs run at
// once on several hardware queues of an H200. The kernel log then tells of
// SKEDCHECK22_INVALIDATE_ACTIVE_QMD. So each launch waits on the device for the one before.
#include "backends/gpu/gpu_backend.h"

// With turn_lock held. *out_slot is the call that failed.
static gpu_result launch_behind(struct gpu_backend *gpu, gpu_executable executable,
                                gpu_stream queue, bool *out_queued, const void **out_slot)
{
    const struct gpu_api *api = gpu->api;
    gpu_result result = GPU_SUCCESS;
    *out_slot = &api->event_create;
    if (!gpu->turn)
        result = api->event_create(&gpu->turn, GPU_EVENT_DISABLE_TIMING);
    if (result)
        return result;
    *out_slot = &api->stream_wait; // which ends at once before the first record
    result = api->stream_wait(queue, gpu->turn, 0);
    if (result)
        return result;
    *out_slot = &api->executable_launch;
    result = api->executable_launch(executable, queue);
    if (result)
        return result;
    *out_queued = true;
    *out_slot = &api->event_record;
    return api->event_record(gpu->turn, queue);
}

gpu_result braid_gpu_launch_in_turn(struct gpu_backend *gpu, gpu_executable executable,
                                    gpu_stream queue, bool *out_queued, const void **out_slot)
{
    pthread_mutex_lock(&gpu->turn_lock);
    gpu_result result = launch_behind(gpu, executable, queue, out_queued, out_slot);
    pthread_mutex_unlock(&gpu->turn_lock);
    return result;
}

void braid_gpu_turn_finish(struct gpu_backend *gpu)
{
    if (gpu->turn)
        braid_gpu_check_freed(gpu, gpu->api->event_destroy(gpu->turn), &gpu->api->event_destroy,
                              "closing the device");
}
