// SPDX-License-Identifier: Apache-2.0
// Launches of graphs with conditional nodes, one after another in a context.
//
// Driver 580 fails with CUDA_ERROR_LAUNCH_FAILED (719) now and then if several such graphs run at
// once on several hardware queues of an H200. The kernel log then tells of
// SKEDCHECK22_INVALIDATE_ACTIVE_QMD. So each launch waits on the device for the one before.
#include "backends/gpu/gpu_conditional_launch.h"

// With the turn's lock held. *out_slot is the call that failed.
static gpu_result launch_behind(struct gpu_backend *gpu, gpu_executable executable,
                                gpu_stream queue, bool *out_queued, const void **out_slot)
{
    const struct gpu_api *api = gpu->api;
    gpu_result result = GPU_SUCCESS;
    *out_slot = &api->event_create; // in the context that records it
    if (!gpu->turn_event)
        result = api->event_create(&gpu->turn_event, GPU_EVENT_DISABLE_TIMING);
    if (result)
        return result;
    *out_slot = &api->stream_wait;
    if (gpu->turn->latest)
        result = api->stream_wait(queue, gpu->turn->latest, 0);
    if (result)
        return result;
    *out_slot = &api->executable_launch;
    result = api->executable_launch(executable, queue);
    if (result)
        return result;
    *out_queued = true;
    *out_slot = &api->event_record;
    result = api->event_record(gpu->turn_event, queue);
    if (!result) {
        gpu->turn->latest = gpu->turn_event;
        return GPU_SUCCESS;
    }
    // Without that event, the next launch cannot wait for this one. If a host call of the frame
    // waits for a thread that wants a lock of the caller's, this never ends.
    const gpu_result waited = api->stream_synchronize(queue);
    if (waited)
        *out_slot = &api->stream_synchronize;
    return waited ? waited : result;
}

gpu_result braid_gpu_launch_conditional(struct gpu_backend *gpu, gpu_executable executable,
                                        gpu_stream queue, bool *out_queued, const void **out_slot)
{
    pthread_mutex_lock(&gpu->turn->lock);
    gpu_result result = launch_behind(gpu, executable, queue, out_queued, out_slot);
    pthread_mutex_unlock(&gpu->turn->lock);
    return result;
}

void braid_gpu_conditional_launch_finish(struct gpu_backend *gpu, bool is_current)
{
    if (!gpu->turn_event)
        return;
    pthread_mutex_lock(&gpu->turn->lock);
    if (gpu->turn->latest == gpu->turn_event)
        gpu->turn->latest = NULL; // its launches have ended
    pthread_mutex_unlock(&gpu->turn->lock);
    if (is_current)
        braid_gpu_check_freed(gpu, gpu->api->event_destroy(gpu->turn_event),
                              &gpu->api->event_destroy, "closing the device");
}
