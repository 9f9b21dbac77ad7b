// SPDX-License-Identifier: Apache-2.0
// A device of the stand-in for CUDA, with a stream to capture, a module and memory.
#include "import/here.h"

struct here here;

void must(CUresult result)
{
    if (result)
        fail_msg("the driver returns %d, with seed %llu%s%s", (int)result,
                 (unsigned long long)here.seed, here.doing ? ", while " : "",
                 here.doing ? here.doing : "");
}

void open_here(const char *text, size_t bytes)
{
    CUcontext context;
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cuda" }, &here.device));
    must(cuDevicePrimaryCtxRetain(&context, 0));
    must(cuCtxSetCurrent(context));
    must(cuModuleLoadData(&here.module, text));
    must(cuStreamCreate(&here.stream, CU_STREAM_NON_BLOCKING));
    must(cuEventCreate(&here.event, CU_EVENT_DISABLE_TIMING));
    for (int i = 0; i < MEMORIES; i++)
        must(cuMemAlloc_v2(&here.memory[i], bytes));
}

void close_here(void)
{
    for (int i = 0; i < MEMORIES; i++)
        must(cuMemFree_v2(here.memory[i]));
    must(cuEventDestroy_v2(here.event));
    must(cuStreamDestroy_v2(here.stream));
    must(cuModuleUnload(here.module));
    check_ok(braid_device_close(here.device));
    must(cuDevicePrimaryCtxRelease_v2(0));
}

void launch_on(CUstream on, const char *name, const uint64_t *args)
{
    CUfunction function;
    void *params[MOST_ARGS];
    for (int i = 0; i < MOST_ARGS; i++)
        params[i] = (void *)(uintptr_t)&args[i];
    must(cuModuleGetFunction(&function, here.module, name));
    must(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, on, params, NULL));
}
