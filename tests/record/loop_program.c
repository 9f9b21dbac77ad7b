// SPDX-License-Identifier: Apache-2.0
// A program with frames, for the tool: it copies, launches three kernels and waits, many times.
//
// loop_program FRAMES [mark | fail | pinned]: `pinned` marks, too, and copies to pinned memory,
// of which the host writes a second word.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <braid/record.h>

#include "cuda_abi.h"

static const char text[] = ".version 7.8\n.target sm_90\n.address_size 64\n"
                           ".visible .entry add(.param .u64 memory, .param .u32 number)\n{\n"
                           ".reg .b64 %rd<3>;\n.reg .b32 %r<4>;\n"
                           "ld.param.u64 %rd1, [memory];\n"
                           "ld.param.u32 %r1, [number];\n"
                           "ld.global.u32 %r2, [%rd1];\n"
                           "add.u32 %r3, %r2, %r1;\n"
                           "st.global.u32 [%rd1], %r3;\nret;\n}\n"
                           ".visible .entry nothing()\n{\nret;\n}\n";

static void must(CUresult result)
{
    if (result == CUDA_SUCCESS)
        return;
    fprintf(stderr, "the driver returns %d\n", (int)result);
    exit(1);
}

int main(int argc, char **argv)
{
    CUcontext context;
    CUmodule module;
    CUfunction add, nothing;
    CUdeviceptr memory;
    CUstream stream;
    uint32_t number = 0, pageable = 0, *sum = &pageable;
    const char *extra = argc > 2 ? argv[2] : "";
    const bool is_pinned = strcmp(extra, "pinned") == 0;
    must(cuInit(0));
    must(cuDevicePrimaryCtxRetain(&context, 0));
    must(cuCtxSetCurrent(context));
    must(cuModuleLoadData(&module, text));
    must(cuModuleGetFunction(&add, module, "add"));
    must(cuModuleGetFunction(&nothing, module, "nothing"));
    must(cuMemAlloc_v2(&memory, 4));
    if (is_pinned)
        must(cuMemAllocHost_v2((void **)&sum, 8));
    must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    void *arguments[] = { &memory, &number };
    must(cuLaunchKernel(nothing, 9, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
    must(cuStreamSynchronize(stream));
    for (uint32_t frame = 0; frame < (uint32_t)atoi(argv[1]); frame++) {
        if (is_pinned || strcmp(extra, "mark") == 0)
            braid_record_frame_mark();
        must(cuMemcpyHtoDAsync_v2(memory, &frame, 4, stream));
        for (number = 1; number <= 2; number++)
            must(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
        must(cuLaunchKernel(nothing, 3, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
        must(cuMemcpyDtoHAsync_v2(sum, memory, 4, stream));
        must(cuStreamSynchronize(stream));
        if (is_pinned)
            sum[1] = frame;
    }
    printf("sum %u\n", *sum);
    if (is_pinned)
        must(cuMemFreeHost(sum));
    must(cuStreamDestroy_v2(stream));
    must(cuMemFree_v2(memory));
    must(cuModuleUnload(module));
    must(cuDevicePrimaryCtxRelease_v2(0));
    return strcmp(extra, "fail") == 0 ? 3 : 0;
}
