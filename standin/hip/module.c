// SPDX-License-Identifier: Apache-2.0
// Modules and kernel launches. Images are what the driver below takes: PTX, or a cubin.
#include <stdbool.h>

#include "../standin_symbol.h"
#include "cuda_driver.h"

// Room for what CUDA wants instead of a launch's `extra`: two pairs and the end.
struct extra {
    void *words[5];
};

// False if the list holds anything but one packed buffer and its size.
static bool translate_extra(void **extra, struct extra *out_extra)
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

hipError_t hipModuleLoadData(hipModule_t *out_module, const void *image)
{
    if (!out_module || !image)
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_enter();
    return hip_finish(result ? result : cuda.cuModuleLoadData((CUmodule *)out_module, image));
}

// AMD's library reads none of the options either.
hipError_t hipModuleLoadDataEx(hipModule_t *out_module, const void *image, unsigned num_options,
                               hipJitOption *options, void **values)
{
    (void)num_options;
    (void)options;
    (void)values;
    return hipModuleLoadData(out_module, image);
}

hipError_t hipModuleUnload(hipModule_t module)
{
    if (!module)
        return hip_fail(hipErrorInvalidHandle);
    CUresult result = cuda_enter();
    return hip_finish(result ? result : cuda.cuModuleUnload((CUmodule)module));
}

hipError_t hipModuleGetFunction(hipFunction_t *out_function, hipModule_t module, const char *name)
{
    if (!out_function || !name)
        return hip_fail(hipErrorInvalidValue);
    if (!module)
        return hip_fail(hipErrorInvalidHandle);
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result = cuda.cuModuleGetFunction((CUfunction *)out_function, (CUmodule)module, name);
    return hip_finish(result);
}

// Modules stay loaded, as those that hipcc registers do.
hipError_t hipGetFuncBySymbol(hipFunction_t *out_function, const void *symbol)
{
    hipModule_t module;
    const char *name, *image = standin_find_image(symbol, &name);
    if (!out_function)
        return hip_fail(hipErrorInvalidValue);
    if (!image)
        return hip_fail(hipErrorNotFound);
    hipError_t error = hipModuleLoadData(&module, image);
    return error ? error : hipModuleGetFunction(out_function, module, name);
}

hipError_t hipModuleGetGlobal(hipDeviceptr_t *out_pointer, size_t *out_num_bytes,
                              hipModule_t module, const char *name)
{
    if (!out_pointer || !out_num_bytes || !name)
        return hip_fail(hipErrorInvalidValue);
    if (!module)
        return hip_fail(hipErrorInvalidHandle);
    CUdeviceptr pointer = 0;
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result = cuda.cuModuleGetGlobal_v2(&pointer, out_num_bytes, (CUmodule)module, name);
    if (result == CUDA_SUCCESS)
        *out_pointer = host_view(pointer);
    return hip_finish(result);
}

hipError_t hipFuncGetAttribute(int *out_value, hipFunction_attribute attribute,
                               hipFunction_t function)
{
    if (!out_value)
        return hip_fail(hipErrorInvalidValue);
    if (!function)
        return hip_fail(hipErrorInvalidHandle);
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result = cuda.cuFuncGetAttribute(out_value, (CUfunction_attribute)(int)attribute,
                                         (CUfunction)function);
    return hip_finish(result);
}

hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned grid_x, unsigned grid_y,
                                 unsigned grid_z, unsigned block_x, unsigned block_y,
                                 unsigned block_z, unsigned shared_bytes, hipStream_t stream,
                                 void **params, void **extra)
{
    struct extra translated;
    if (!function)
        return hip_fail(hipErrorInvalidImage);
    if ((params && extra) || (extra && !translate_extra(extra, &translated)))
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result = cuda.cuLaunchKernel((CUfunction)function, grid_x, grid_y, grid_z, block_x, block_y,
                                     block_z, shared_bytes, (CUstream)stream, params,
                                     extra ? translated.words : NULL);
    return hip_finish(result);
}

hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t function, unsigned grid_x,
                                            unsigned grid_y, unsigned grid_z, unsigned block_x,
                                            unsigned block_y, unsigned block_z,
                                            unsigned shared_bytes, hipStream_t stream,
                                            void **params)
{
    if (!function)
        return hip_fail(hipErrorInvalidImage);
    CUlaunchAttribute attribute = { .id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE };
    attribute.value.cooperative = 1;
    const CUlaunchConfig config = { .gridDimX = grid_x,
                                    .gridDimY = grid_y,
                                    .gridDimZ = grid_z,
                                    .blockDimX = block_x,
                                    .blockDimY = block_y,
                                    .blockDimZ = block_z,
                                    .sharedMemBytes = shared_bytes,
                                    .hStream = (CUstream)stream,
                                    .attrs = &attribute,
                                    .numAttrs = 1 };
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result = cuda.cuLaunchKernelEx(&config, (CUfunction)function, params, NULL);
    return hip_finish(result);
}

hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *out_blocks,
                                                              hipFunction_t function,
                                                              int block_threads,
                                                              size_t shared_bytes)
{
    if (!function)
        return hip_fail(hipErrorInvalidHandle);
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result = cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(out_blocks, (CUfunction)function,
                                                                  block_threads, shared_bytes);
    return hip_finish(result);
}
