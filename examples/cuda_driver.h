// SPDX-License-Identifier: Apache-2.0
// The few CUDA driver functions that some examples call as a program of its own would, loaded by
// hand so that the examples need no CUDA header to compile. int is CUresult, uint64_t is
// CUdeviceptr.
#ifndef EXAMPLES_CUDA_DRIVER_H
#define EXAMPLES_CUDA_DRIVER_H

#include <dlfcn.h>
#include <string.h>

#include "check.h"

struct cuda_driver {
    int (*init)(unsigned flags);
    int (*device_get)(int *out_device, int ordinal);
    int (*context_retain)(void **out_context, int device);
    int (*context_release)(int device);
    int (*context_set_current)(void *context);
    int (*stream_create)(void **out_stream, unsigned flags);
    int (*stream_synchronize)(void *stream);
    int (*stream_destroy)(void *stream);
    int (*memory_allocate)(uint64_t *out_memory, size_t bytes);
    int (*memory_free)(uint64_t memory);
    int (*memory_fill)(uint64_t memory, unsigned value, size_t num_values, void *stream);
    int (*memory_read)(void *to, uint64_t from, size_t bytes, void *stream);
    int (*memory_write)(uint64_t to, const void *from, size_t bytes, void *stream);
    int (*module_load)(void **out_module, const void *image);
    int (*module_unload)(void *module);
    int (*module_function)(void **out_function, void *module, const char *name);
    int (*launch)(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                  unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                  void *stream, void **args, void **extra);
    int (*capture_begin)(void *stream, int mode);
    int (*capture_end)(void *stream, void **out_graph);
    int (*graph_instantiate)(void **out_executable, void *graph, unsigned long long flags);
    int (*graph_launch)(void *executable, void *stream);
    int (*graph_destroy)(void *graph);
    int (*executable_destroy)(void *executable);
};

static inline void check_cuda(int result, const char *call)
{
    if (result == 0)
        return;
    fprintf(stderr, "%s: error %d\n", call, result);
    exit(EXIT_FAILURE);
}

static inline bool load(void *library, const char *name, void *out_function)
{
    void *symbol = dlsym(library, name);
    memcpy(out_function, &symbol, sizeof(symbol));
    return symbol != NULL;
}

// Loads the driver and makes device 0's context current; the caller skips where this is false.
static inline bool start_cuda(struct cuda_driver *driver, void **out_context)
{
    int device;
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    bool loaded = library && load(library, "cuInit", &driver->init) &&
                  load(library, "cuDeviceGet", &driver->device_get) &&
                  load(library, "cuDevicePrimaryCtxRetain", &driver->context_retain) &&
                  load(library, "cuDevicePrimaryCtxRelease_v2", &driver->context_release) &&
                  load(library, "cuCtxSetCurrent", &driver->context_set_current) &&
                  load(library, "cuStreamCreate", &driver->stream_create) &&
                  load(library, "cuStreamSynchronize", &driver->stream_synchronize) &&
                  load(library, "cuStreamDestroy_v2", &driver->stream_destroy) &&
                  load(library, "cuMemAlloc_v2", &driver->memory_allocate) &&
                  load(library, "cuMemFree_v2", &driver->memory_free) &&
                  load(library, "cuMemsetD32Async", &driver->memory_fill) &&
                  load(library, "cuMemcpyDtoHAsync_v2", &driver->memory_read) &&
                  load(library, "cuMemcpyHtoDAsync_v2", &driver->memory_write) &&
                  load(library, "cuModuleLoadData", &driver->module_load) &&
                  load(library, "cuModuleUnload", &driver->module_unload) &&
                  load(library, "cuModuleGetFunction", &driver->module_function) &&
                  load(library, "cuLaunchKernel", &driver->launch) &&
                  load(library, "cuStreamBeginCapture_v2", &driver->capture_begin) &&
                  load(library, "cuStreamEndCapture", &driver->capture_end) &&
                  load(library, "cuGraphInstantiateWithFlags", &driver->graph_instantiate) &&
                  load(library, "cuGraphLaunch", &driver->graph_launch) &&
                  load(library, "cuGraphDestroy", &driver->graph_destroy) &&
                  load(library, "cuGraphExecDestroy", &driver->executable_destroy);
    if (!loaded || driver->init(0) != 0 || driver->device_get(&device, 0) != 0)
        return false;
    check_cuda(driver->context_retain(out_context, device), "retain");
    check_cuda(driver->context_set_current(*out_context), "set current");
    return true;
}

#endif
