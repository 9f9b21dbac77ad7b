// SPDX-License-Identifier: Apache-2.0
// Field by field from HIP's descriptions to CUDA's.
#include "parameters.h"

bool translate_extra(void **extra, struct extra *out_extra)
{
    struct extra translated;
    int num_words = 0;
    for (; extra[num_words] != HIP_LAUNCH_PARAM_END; num_words += 2) {
        void *tag = extra[num_words];
        if (num_words == 4 ||
            (tag != HIP_LAUNCH_PARAM_BUFFER_POINTER && tag != HIP_LAUNCH_PARAM_BUFFER_SIZE))
            return false;
        translated.words[num_words] = tag;
        translated.words[num_words + 1] = extra[num_words + 1];
    }
    translated.words[num_words] = CU_LAUNCH_PARAM_END;
    *out_extra = translated;
    return true;
}

bool translate_kernel(const hipKernelNodeParams *params, struct extra *out_extra,
                      CUDA_KERNEL_NODE_PARAMS_v1 *out_params)
{
    if (params->extra && !translate_extra(params->extra, out_extra))
        return false;
    *out_params = (CUDA_KERNEL_NODE_PARAMS_v1){
        .func = (CUfunction)params->func,
        .gridDimX = params->gridDim.x,
        .gridDimY = params->gridDim.y,
        .gridDimZ = params->gridDim.z,
        .blockDimX = params->blockDim.x,
        .blockDimY = params->blockDim.y,
        .blockDimZ = params->blockDim.z,
        .sharedMemBytes = params->sharedMemBytes,
        .kernelParams = params->kernelParams,
        .extra = params->extra ? out_extra->words : NULL,
    };
    return true;
}

CUDA_MEMSET_NODE_PARAMS translate_fill(const hipMemsetParams *params)
{
    return (CUDA_MEMSET_NODE_PARAMS){
        .dst = device_pointer(params->dst),
        .pitch = params->pitch,
        .value = params->value,
        .elementSize = params->elementSize,
        .width = params->width,
        .height = params->height,
    };
}

CUDA_MEMCPY3D linear_copy(void *to, const void *from, size_t num_bytes)
{
    return (CUDA_MEMCPY3D){
        .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
        .srcDevice = device_pointer(from),
        .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
        .dstDevice = device_pointer(to),
        .WidthInBytes = num_bytes,
        .Height = 1,
        .Depth = 1,
    };
}

CUDA_MEMCPY3D translate_copy(const hipMemcpy3DParms *params)
{
    CUDA_MEMCPY3D copy = linear_copy(params->dstPtr.ptr, params->srcPtr.ptr, params->extent.width);
    copy.srcXInBytes = params->srcPos.x;
    copy.srcY = params->srcPos.y;
    copy.srcZ = params->srcPos.z;
    copy.srcPitch = params->srcPtr.pitch;
    copy.srcHeight = params->srcPtr.ysize;
    copy.dstXInBytes = params->dstPos.x;
    copy.dstY = params->dstPos.y;
    copy.dstZ = params->dstPos.z;
    copy.dstPitch = params->dstPtr.pitch;
    copy.dstHeight = params->dstPtr.ysize;
    copy.Height = params->extent.height;
    copy.Depth = params->extent.depth;
    return copy;
}
