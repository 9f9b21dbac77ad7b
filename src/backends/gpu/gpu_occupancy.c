// SPDX-License-Identifier: Apache-2.0
// How many blocks of a launch the device runs at once.
#include "backends/gpu/gpu_backend.h"

static gpu_result ask_driver(const struct gpu_backend *gpu, const struct backend_launch *launch,
                             int *out_blocks, const void **out_slot)
{
    const braid_dim3 *block = &launch->block;
    gpu_result result = braid_gpu_allow_shared(gpu, launch, out_slot);
    if (result)
        return result;
    *out_slot = &gpu->api->function_occupancy;
    return gpu->api->function_occupancy(out_blocks, gpu_kernel_from(launch->kernel)->function,
                                        (int)(block->x * block->y * block->z),
                                        launch->shared_bytes);
}

braid_status braid_gpu_count_blocks(struct backend *backend, const struct backend_launch *launch,
                                    uint64_t *out_num)
{
    struct gpu_backend *gpu = gpu_from(backend);
    struct gpu_scope scope;
    const void *slot = NULL;
    int blocks = 0;
    *out_num = 0;
    if (!gpu->api->function_occupancy)
        return BRAID_OK;
    braid_status status = braid_gpu_enter(gpu, &scope, "asking for a kernel's occupancy");
    if (status)
        return status;
    gpu_result result = ask_driver(gpu, launch, &blocks, &slot);
    braid_gpu_leave(gpu, &scope);
    if (result == GPU_INVALID_VALUE) // a launch that the driver will refuse, with a reason
        return BRAID_OK;
    if (result)
        return braid_gpu_check(gpu, result, slot, "asking for a kernel's occupancy");
    *out_num = (uint64_t)blocks * (uint64_t)gpu->attributes[GPU_NUM_UNITS];
    return BRAID_OK;
}
