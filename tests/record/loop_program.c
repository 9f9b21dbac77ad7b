// SPDX-License-Identifier: Apache-2.0
// A program with frames, for the tool: it copies, launches three kernels and waits, many times.
//
// loop_program FRAMES [mark | fail | pinned | loop]: `pinned` marks, too, and copies to pinned
// memory, of which the host writes a second word. `loop` marks, too, and a graph adds 2 in each
// iteration of a loop, of which a frame has one more than the frame before.
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

static const char loop_text[] =
    ".version 8.3\n.target sm_90\n.address_size 64\n"
    ".extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);\n"
    ".visible .entry next(.param .u64 handle, .param .u64 slot)\n{\n"
    ".reg .b32 %r;\n.reg .b64 %d<3>;\n.param .b64 h;\n.param .b32 v;\n"
    "ld.param.u64 %d0, [handle];\nld.param.u64 %d1, [slot];\n"
    "ld.u64 %d2, [%d1];\nld.u32 %r, [%d2];\n"
    "st.param.b64 [h], %d0;\nst.param.b32 [v], %r;\n"
    "call.uni cudaGraphSetConditional, (h, v);\nret;\n}\n";

struct loop {
    CUmodule module;
    CUdeviceptr left, slot; // iterations, and where they stand
    CUgraphExec executable;
};

static void must(CUresult result)
{
    if (result == CUDA_SUCCESS)
        return;
    fprintf(stderr, "the driver returns %d\n", (int)result);
    exit(1);
}

// ---- a loop ----

static CUgraphNode add_kernel(CUgraph graph, CUgraphNode after, CUfunction function, void *first,
                              void *second)
{
    CUgraphNode node;
    void *arguments[] = { first, second };
    const CUDA_KERNEL_NODE_PARAMS parameters = { .func = function,
                                                 .gridDimX = 1,
                                                 .gridDimY = 1,
                                                 .gridDimZ = 1,
                                                 .blockDimX = 1,
                                                 .blockDimY = 1,
                                                 .blockDimZ = 1,
                                                 .kernelParams = arguments };
    must(cuGraphAddKernelNode_v2(&node, graph, &after, after ? 1 : 0, &parameters));
    return node;
}

static void make_loop(CUcontext context, CUfunction add, CUdeviceptr sum, struct loop *loop)
{
    CUgraph graph;
    CUgraphNode node;
    CUfunction next;
    CUgraphNodeParams parameters = { .type = CU_GRAPH_NODE_TYPE_CONDITIONAL,
                                     .conditional = { .type = CU_GRAPH_COND_TYPE_WHILE,
                                                      .size = 1 } };
    uint32_t two = 2, less = UINT32_MAX;
    parameters.conditional.ctx = context;
    must(cuModuleLoadData(&loop->module, loop_text));
    must(cuModuleGetFunction(&next, loop->module, "next"));
    must(cuMemAlloc_v2(&loop->left, 4));
    must(cuMemAlloc_v2(&loop->slot, sizeof(loop->left)));
    must(cuMemcpyHtoD_v2(loop->slot, &loop->left, sizeof(loop->left)));
    must(cuGraphCreate(&graph, 0));
    must(cuGraphConditionalHandleCreate(&parameters.conditional.handle, graph, context, 1,
                                        CU_GRAPH_COND_ASSIGN_DEFAULT));
    must(cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, &parameters));
    CUgraph body = parameters.conditional.phGraph_out[0];
    node = add_kernel(body, NULL, add, &sum, &two);
    node = add_kernel(body, node, add, &loop->left, &less);
    add_kernel(body, node, next, &parameters.conditional.handle, &loop->slot);
    must(cuGraphInstantiateWithFlags(&loop->executable, graph, 0));
    must(cuGraphDestroy(graph));
}

static void run_loop(const struct loop *loop, uint32_t times, CUstream stream)
{
    must(cuMemsetD32Async(loop->left, times, 1, stream));
    must(cuGraphLaunch(loop->executable, stream));
}

static void end_loop(const struct loop *loop)
{
    must(cuGraphExecDestroy(loop->executable));
    must(cuMemFree_v2(loop->left));
    must(cuMemFree_v2(loop->slot));
    must(cuModuleUnload(loop->module));
}

// ---- the program ----

int main(int argc, char **argv)
{
    CUcontext context;
    CUmodule module;
    CUfunction add, nothing;
    CUdeviceptr memory;
    CUstream stream;
    uint32_t number = 0, pageable = 0, *sum = &pageable;
    const char *extra = argc > 2 ? argv[2] : "";
    struct loop loop = { 0 };
    const bool is_pinned = strcmp(extra, "pinned") == 0, loops = strcmp(extra, "loop") == 0;
    must(cuInit(0));
    must(cuDevicePrimaryCtxRetain(&context, 0));
    must(cuCtxSetCurrent(context));
    must(cuModuleLoadData(&module, text));
    must(cuModuleGetFunction(&add, module, "add"));
    must(cuModuleGetFunction(&nothing, module, "nothing"));
    must(cuMemAlloc_v2(&memory, 4));
    if (is_pinned)
        must(cuMemAllocHost_v2((void **)&sum, 8));
    if (loops)
        make_loop(context, add, memory, &loop);
    must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    void *arguments[] = { &memory, &number };
    must(cuLaunchKernel(nothing, 9, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
    must(cuStreamSynchronize(stream));
    for (uint32_t frame = 0; frame < (uint32_t)atoi(argv[1]); frame++) {
        if (is_pinned || loops || strcmp(extra, "mark") == 0)
            braid_record_frame_mark();
        must(cuMemcpyHtoDAsync_v2(memory, &frame, 4, stream));
        if (loops)
            run_loop(&loop, 1 + frame, stream);
        for (number = 1; number <= 2 && !loops; number++)
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
    if (loops)
        end_loop(&loop);
    must(cuStreamDestroy_v2(stream));
    must(cuMemFree_v2(memory));
    must(cuModuleUnload(module));
    must(cuDevicePrimaryCtxRelease_v2(0));
    return strcmp(extra, "fail") == 0 ? 3 : 0;
}
