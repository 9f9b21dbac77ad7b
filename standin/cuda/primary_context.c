// SPDX-License-Identifier: Apache-2.0
// The primary context of each device: retained, released, reset.
#include "context.h"
#include "entry.h"
#include "world.h"

CUresult cuDevicePrimaryCtxRetain(CUcontext *out_context, CUdevice device)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    CUcontext context = context_of_device(device);
    if (out_context == NULL || context == NULL)
        return out_context == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_DEVICE;
    world_lock();
    context->primary = true;
    result = context->fault;
    if (result == CUDA_SUCCESS)
        result = context_revive(context, device);
    if (result == CUDA_SUCCESS) {
        context->retains++;
        *out_context = context;
    }
    world_unlock();
    return result;
}

static CUresult release_primary(CUdevice device)
{
    CUcontext context = context_of_device(device);
    if (context == NULL)
        return CUDA_ERROR_INVALID_DEVICE;
    world_lock();
    CUresult result = context->retains == 0 ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
    if (result == CUDA_SUCCESS && --context->retains == 0)
        context_end(context);
    world_unlock();
    return result;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    CUresult result = entry_begin(__func__);
    return result != CUDA_SUCCESS ? result : release_primary(device);
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
    CUresult result = entry_begin(__func__);
    return result != CUDA_SUCCESS ? result : release_primary(device);
}

// After a fault no new primary context can be had in this process, as with the driver.
static CUresult reset_primary(CUdevice device)
{
    CUcontext context = context_of_device(device);
    if (context == NULL)
        return CUDA_ERROR_INVALID_DEVICE;
    world_lock();
    if (context->alive) {
        unsigned retains = context->retains;
        context_end(context);
        if (retains > 0 && context->fault == CUDA_SUCCESS &&
            context_revive(context, device) == CUDA_SUCCESS)
            context->retains = retains;
    }
    world_unlock();
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device)
{
    CUresult result = entry_begin(__func__);
    return result != CUDA_SUCCESS ? result : reset_primary(device);
}

CUresult cuDevicePrimaryCtxReset(CUdevice device)
{
    CUresult result = entry_begin(__func__);
    return result != CUDA_SUCCESS ? result : reset_primary(device);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *out_flags, int *out_active)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    CUcontext context = context_of_device(device);
    if (context == NULL)
        return CUDA_ERROR_INVALID_DEVICE;
    world_lock();
    *out_flags = context->flags;
    *out_active = context->alive;
    world_unlock();
    return CUDA_SUCCESS;
}
