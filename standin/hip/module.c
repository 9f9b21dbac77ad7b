// SPDX-License-Identifier: Apache-2.0
// Modules and kernel launches. Images are what the driver below takes: PTX, or a cubin.
#include "parameters.h"

#include "../standin_symbol.h"

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
