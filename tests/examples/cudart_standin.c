// SPDX-License-Identifier: Apache-2.0
// What the example own_kernels calls of CUDA's runtime library, on the stand-in driver.
#include "standin/cuda/cuda_abi.h"
#include "standin/standin_symbol.h"

enum { TO_DEVICE = 1 };

#pragma GCC visibility push(default)
CUresult cudaMalloc(void **out_memory, size_t bytes);
CUresult cudaFree(void *memory);
CUresult cudaStreamCreate(CUstream *out_stream);
CUresult cudaStreamDestroy(CUstream stream);
CUresult cudaStreamSynchronize(CUstream stream);
CUresult cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, CUstream stream);
CUresult cudaGetFuncBySymbol(CUfunction *out_function, const void *symbol);
#pragma GCC visibility pop

// The runtime makes the device's primary context current at the first call.
static CUresult enter(void)
{
    CUcontext context;
    CUresult result = cuInit(0);
    if (!result)
        result = cuCtxGetCurrent(&context);
    if (!result && !context)
        result = cuDevicePrimaryCtxRetain(&context, 0);
    return result ? result : cuCtxSetCurrent(context);
}

CUresult cudaMalloc(void **out_memory, size_t bytes)
{
    CUdeviceptr memory = 0;
    CUresult result = enter();
    if (!result)
        result = cuMemAlloc_v2(&memory, bytes);
    *out_memory = (void *)memory;
    return result;
}

CUresult cudaFree(void *memory)
{
    return cuMemFree_v2((CUdeviceptr)memory);
}

CUresult cudaStreamCreate(CUstream *out_stream)
{
    CUresult result = enter();
    return result ? result : cuStreamCreate(out_stream, 0);
}

CUresult cudaStreamDestroy(CUstream stream)
{
    return cuStreamDestroy_v2(stream);
}

CUresult cudaStreamSynchronize(CUstream stream)
{
    return cuStreamSynchronize(stream);
}

CUresult cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, CUstream stream)
{
    return kind == TO_DEVICE ? cuMemcpyHtoDAsync_v2((CUdeviceptr)to, from, bytes, stream)
                             : cuMemcpyDtoHAsync_v2(to, (CUdeviceptr)from, bytes, stream);
}

// Modules stay loaded, as the runtime's do.
CUresult cudaGetFuncBySymbol(CUfunction *out_function, const void *symbol)
{
    CUmodule module;
    const char *name, *image = standin_find_image(symbol, &name);
    if (!image)
        return CUDA_ERROR_NOT_FOUND;
    CUresult result = enter();
    if (!result)
        result = cuModuleLoadData(&module, image);
    return result ? result : cuModuleGetFunction(out_function, module, name);
}
