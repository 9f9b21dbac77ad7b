// SPDX-License-Identifier: Apache-2.0
// Launches of graphs with conditional nodes, one after another in a context.
#ifndef BRAID_BACKENDS_GPU_GPU_CONDITIONAL_LAUNCH_H
#define BRAID_BACKENDS_GPU_GPU_CONDITIONAL_LAUNCH_H

#include "backends/gpu/gpu_backend.h"

// Each context in the process has one. Launches of several contexts do not run at once.
struct gpu_conditional_launch {
    pthread_mutex_t lock; // held while such a graph is launched
    gpu_event latest;     // guarded by lock; behind the latest such launch, or NULL
};

// Launches one behind the one before. The device is current. *out_queued is set as soon as it is
// queued. *out_slot is the call that failed.
gpu_result braid_gpu_launch_conditional(struct gpu_backend *gpu, gpu_executable executable,
                                        gpu_stream queue, bool *out_queued, const void **out_slot);
// Nobody waits for the device from then on. `is_current`: its context can be used.
void braid_gpu_conditional_launch_finish(struct gpu_backend *gpu, bool is_current);

#endif
