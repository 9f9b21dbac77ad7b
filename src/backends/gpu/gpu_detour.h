// SPDX-License-Identifier: Apache-2.0
// Substitutes for tasks that the driver is not given as they are.
#ifndef BRAID_BACKENDS_GPU_GPU_DETOUR_H
#define BRAID_BACKENDS_GPU_GPU_DETOUR_H

#include "backends/gpu/gpu_backend.h"

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
    struct gpu_flag *flag;       // if the call blocks: gpu_blocking.c; NULL otherwise
    struct backend_detour *next; // among spare ones
};

// The device is current. Errors: BRAID_NO_MEMORY, BRAID_DEVICE_ERROR.
// `is_signal`: of HIP's own kind, for a word that streams wait for.
braid_status braid_gpu_lease_staging(struct gpu_backend *gpu, uint64_t bytes, bool is_signal,
                                     struct gpu_staging **out_staging);
void braid_gpu_return_staging(struct gpu_backend *gpu, struct gpu_staging *staging); // NULL: none

// gpu_blocking.c: host calls that block, on threads of their own.
// Whether the driver has the calls for that.
bool braid_gpu_can_block_apart(const struct gpu_backend *gpu);
// With the flag of `before`, the detour of the same task until now; NULL: there is none.
braid_status braid_gpu_prepare_blocking(struct gpu_backend *gpu,
                                        const struct backend_detour *before,
                                        struct backend_detour *detour);
// Frees the detour, or keeps it for the next one with its flag, which this hands out; NULL: none.
void braid_gpu_finish_blocking(struct backend_detour *detour);
struct backend_detour *braid_gpu_take_spare(const struct backend_detour *detour);
void braid_gpu_leave_flag(const struct backend_detour *detour); // the detour was not kept
gpu_result braid_gpu_submit_blocking(gpu_stream stream, struct backend_detour *detour,
                                     const void **out_slot);
gpu_result braid_gpu_add_blocking(struct gpu_behind behind, struct backend_detour *detour,
                                  gpu_node *out_node, const void **out_slot);

#endif
