// SPDX-License-Identifier: Apache-2.0
// Prints what a CUDA driver answers to calls that make and describe graphs. probe_graphs.txt beside
// it is the output of driver 580.159 (CUDA 13.0) on an H200; compare_probe.py compares another.
// The stand-in runs it with BRAID_STANDIN_PTX=1.
#include "probe_graphs.h"

#include <string.h>

CUcontext context;
CUdeviceptr word;

void need(CUresult result, const char *what)
{
    if (result)
        printf("FAILED %s %d\n", what, (int)result);
}

static const char text[] =
    ".version 7.8\n.target sm_80\n.address_size 64\n"
    ".visible .entry add_one(.param .u64 word)\n{\n"
    ".reg .u64 %a; .reg .u32 %v;\nld.param.u64 %a, [word];\n"
    "ld.global.u32 %v, [%a];\nadd.u32 %v, %v, 1;\nst.global.u32 [%a], %v;\nret;\n}\n";
static CUmodule module;
static CUfunction add_one;

static void probe_wrong_kinds(CUgraphNode node)
{
    CUDA_MEMSET_NODE_PARAMS fill;
    CUDA_HOST_NODE_PARAMS host;
    CUevent event;
    CUDA_MEM_ALLOC_NODE_PARAMS allocation;
    CUDA_BATCH_MEM_OP_NODE_PARAMS batch;
    CUgraph child;
    P(cuGraphMemsetNodeGetParams(node, &fill));
    P(cuGraphHostNodeGetParams(node, &host));
    P(cuGraphEventRecordNodeGetEvent(node, &event));
    P(cuGraphMemAllocNodeGetParams(node, &allocation));
    P(cuGraphBatchMemOpNodeGetParams(node, &batch));
    P(cuGraphChildGraphNodeGetGraph(node, &child));
}

static void probe_packed(CUgraphNode node)
{
    CUDA_KERNEL_NODE_PARAMS told;
    NEED(cuGraphKernelNodeGetParams_v2(node, &told));
    SAY("func %s kern %s ctx %s params %s extra %s", told.func == add_one ? "same" : "other",
        told.kern ? "there" : "none",
        told.ctx == context ? "same"
        : told.ctx          ? "other"
                            : "none",
        told.kernelParams ? "there" : "none", told.extra ? "there" : "none");
    size_t bytes = 8;
    void *extra[] = { (void *)1, &word, (void *)2, &bytes, (void *)0 };
    CUDA_KERNEL_NODE_PARAMS packed = { add_one, 4, 1, 1, 32, 1, 1, 0, NULL, extra };
    P(cuGraphKernelNodeSetParams_v2(node, &packed));
    NEED(cuGraphKernelNodeGetParams_v2(node, &told));
    SAY("params %s extra %s", told.kernelParams ? "there" : "none", told.extra ? "there" : "none");
}

static void probe_attributes(void)
{
    CUgraph graph;
    CUgraphNode node;
    void *params[] = { &word };
    const CUDA_KERNEL_NODE_PARAMS kernel = { add_one, 4, 1, 1, 32, 1, 1, 0, params };
    SAY("== attributes of a kernel node");
    NEED(cuGraphCreate(&graph, 0));
    NEED(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &kernel));
    for (int id = 0; id < 17; id++) {
        CUlaunchAttributeValue value;
        memset(&value, 0, sizeof(value));
        int numbers[4];
        CUresult result = cuGraphKernelNodeGetAttribute(node, (CUkernelNodeAttrID)id, &value);
        memcpy(numbers, &value, sizeof(numbers));
        SAY("get %d: %d: %d %d %d %d", id, result, numbers[0], numbers[1], numbers[2], numbers[3]);
    }
    CUlaunchAttributeValue value = { .programmaticStreamSerializationAllowed = 1 };
    P(cuGraphKernelNodeSetAttribute(node, 6, &value));
    value = (CUlaunchAttributeValue){ .clusterDim = { 3, 1, 1 } };
    P(cuGraphKernelNodeSetAttribute(node, 4, &value));
    value = (CUlaunchAttributeValue){ .accessPolicyWindow = { .hitRatio = 2 } };
    P(cuGraphKernelNodeSetAttribute(node, 1, &value));
    probe_wrong_kinds(node);
    probe_packed(node);
    NEED(cuGraphDestroy(graph));
}

static void probe_kernels(void)
{
    CUlibrary library;
    CUkernel kernel;
    CUgraph graph;
    CUgraphNode node;
    CUDA_KERNEL_NODE_PARAMS told;
    CUDA_KERNEL_NODE_PARAMS_v1 told_v1;
    CUstream stream;
    size_t count = 1, offset, bytes;
    unsigned number = 0;
    int version = 0;
    void *params[] = { &word };
    SAY("== kernels of libraries");
    P(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
    P(cuLibraryGetKernel(&kernel, library, "add_one"));
    P(cuLibraryGetKernel(&kernel, library, "none"));
    P(cuLibraryGetKernel(&kernel, library, "add_one"));
    P(cuLibraryGetKernelCount(&number, library));
    P(cuKernelGetParamInfo(kernel, 1, &offset, &bytes));
    P(cuFuncGetParamInfo(add_one, 1, &offset, &bytes));
    P(cuFuncGetAttribute(&version, CU_FUNC_ATTRIBUTE_PTX_VERSION, add_one));
    SAY("count %u, text for %d", number, version);
    NEED(cuStreamCreate(&stream, 1));
    NEED(cuStreamBeginCapture_v2(stream, 2));
    P(cuLaunchKernel((CUfunction)(void *)kernel, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
    NEED(cuStreamEndCapture(stream, &graph));
    NEED(cuGraphGetNodes(graph, &node, &count));
    P(cuGraphKernelNodeGetParams_v2(node, &told));
    SAY("func %s kern %s ctx %s", told.func ? "there" : "none",
        told.kern == kernel ? "same"
        : told.kern         ? "other"
                            : "none",
        told.ctx == context ? "same"
        : told.ctx          ? "other"
                            : "none");
    P(cuGraphKernelNodeGetParams(node, &told_v1));
    SAY("func %s", told_v1.func == (CUfunction)(void *)kernel ? "the kernel"
                   : told_v1.func                             ? "a function"
                                                              : "none");
    NEED(cuGraphDestroy(graph));
    P(cuLibraryUnload(library));
}

static void probe_copies(void)
{
    CUstream stream;
    CUgraph graph;
    CUgraphNode nodes[8];
    CUDA_MEMCPY3D copy;
    CUDA_MEMSET_NODE_PARAMS fill;
    CUdeviceptr memory;
    static unsigned host[64];
    size_t count = 8;
    SAY("== captured copies and fills");
    NEED(cuMemAlloc_v2(&memory, 4096));
    NEED(cuStreamCreate(&stream, 1));
    const CUDA_MEMCPY2D rows = { .srcMemoryType = 2,
                                 .srcDevice = memory,
                                 .srcPitch = 32,
                                 .dstMemoryType = 2,
                                 .dstDevice = memory + 1024,
                                 .dstPitch = 64,
                                 .WidthInBytes = 16,
                                 .Height = 3 };
    NEED(cuStreamBeginCapture_v2(stream, 2));
    P(cuMemcpyHtoDAsync_v2(memory, host, 64, stream));
    P(cuMemcpyDtoHAsync_v2(host, memory, 64, stream));
    P(cuMemcpyDtoDAsync_v2(memory, memory + 1024, 64, stream));
    P(cuMemcpyAsync(memory, memory + 1024, 64, stream));
    P(cuMemcpy2DAsync_v2(&rows, stream));
    P(cuMemsetD32Async(memory, 7, 16, stream));
    P(cuMemsetD2D16Async(memory, 64, 7, 16, 3, stream));
    P(cuMemsetD2D8Async(memory, 64, 7, 16, 1, stream));
    NEED(cuStreamEndCapture(stream, &graph));
    NEED(cuGraphGetNodes(graph, nodes, &count));
    for (int i = 0; i < 5; i++) {
        NEED(cuGraphMemcpyNodeGetParams(nodes[i], &copy));
        SAY("copy %d: from %d host %d pitch %zu height %zu to %d host %d pitch %zu height %zu size "
            "%zu %zu %zu",
            i, copy.srcMemoryType, copy.srcHost != NULL, copy.srcPitch, copy.srcHeight,
            copy.dstMemoryType, copy.dstHost != NULL, copy.dstPitch, copy.dstHeight,
            copy.WidthInBytes, copy.Height, copy.Depth);
    }
    for (int i = 5; i < 8; i++) {
        NEED(cuGraphMemsetNodeGetParams(nodes[i], &fill));
        SAY("fill %d: pitch %zu value %u bytes %u width %zu height %zu", i, fill.pitch, fill.value,
            fill.elementSize, fill.width, fill.height);
    }
    P(cuMemsetD2D8_v2(memory, 4, 1, 5, 2));
    P(cuMemsetD2D16_v2(memory, 7, 1, 2, 2));
}

static const CUlaunchAttribute serial = { .id = 6,
                                          .value.programmaticStreamSerializationAllowed = 1 };

static void launch(CUstream stream, CUlaunchAttribute attribute)
{
    void *params[] = { &word };
    const CUlaunchConfig config = { 1, 1, 1, 1, 1, 1, 0, stream, &attribute, 1 };
    P(cuLaunchKernelEx(&config, add_one, params, NULL));
}

static void say_edges(CUgraph graph)
{
    CUgraphNode nodes[8], before[8];
    CUgraphEdgeData edges[8];
    size_t count = 8;
    if (graph == NULL)
        return;
    NEED(cuGraphGetNodes(graph, nodes, &count));
    for (size_t i = 0; i < count; i++) {
        size_t num = 8;
        NEED(cuGraphNodeGetDependencies_v2(nodes[i], before, edges, &num));
        for (size_t j = 0; j < num; j++)
            SAY("node %zu: edge type %d from port %d to port %d", i, edges[j].type,
                edges[j].from_port, edges[j].to_port);
    }
    NEED(cuGraphDestroy(graph));
}

// A kernel follows on another stream by the event, and one more behind both.
static void probe_edges_of_event(CUstream a, CUstream b, CUevent early, CUevent join,
                                 CUlaunchAttribute record)
{
    CUgraph graph;
    CUstreamCaptureStatus status;
    const CUgraphNode *after;
    size_t count;
    void *params[] = { &word };
    NEED(cuStreamBeginCapture_v2(a, 2));
    launch(a, record);
    P(cuStreamWaitEvent(b, early, 0));
    P(cuStreamGetCaptureInfo_v2(b, &status, NULL, NULL, &after, &count));
    P(cuLaunchKernel(add_one, 1, 1, 1, 1, 1, 1, 0, b, params, NULL));
    P(cuEventRecord(join, b));
    P(cuStreamWaitEvent(a, join, 0));
    launch(a, serial); // behind two
    P(cuStreamEndCapture(a, &graph));
    say_edges(graph);
}

static void probe_edges_of_stream(CUstream a)
{
    CUgraph graph;
    CUstreamCaptureStatus status;
    const CUgraphNode *after;
    const CUgraphEdgeData *edges = NULL;
    size_t count;
    NEED(cuStreamBeginCapture_v2(a, 2));
    NEED(cuMemsetD32Async(word, 0, 1, a));
    launch(a, serial);
    launch(a, serial);
    P(cuStreamGetCaptureInfo_v3(a, &status, NULL, NULL, &after, &edges, &count));
    NEED(cuMemsetD32Async(word, 0, 1, a));
    P(cuStreamEndCapture(a, &graph));
    say_edges(graph);
}

static void probe_edges_to_fill(CUstream a, CUstream b, CUevent early, CUevent join)
{
    CUgraph graph;
    NEED(cuStreamBeginCapture_v2(a, 2));
    launch(a, (CUlaunchAttribute){ .id = 7, .value.programmaticEvent = { early, 0, 0 } });
    P(cuStreamWaitEvent(b, early, 0));
    P(cuMemsetD32Async(word, 0, 1, b)); // no kernel
    P(cuEventRecord(join, b));
    P(cuStreamWaitEvent(a, join, 0));
    P(cuStreamEndCapture(a, &graph));
    say_edges(graph);
}

static void probe_edges(void)
{
    CUstream a, b;
    CUevent early, join, timed;
    SAY("== early starts");
    NEED(cuStreamCreate(&a, 1));
    NEED(cuStreamCreate(&b, 1));
    NEED(cuEventCreate(&early, 2));
    NEED(cuEventCreate(&join, 2));
    NEED(cuEventCreate(&timed, 0));
    probe_edges_of_stream(a);
    for (int i = 0; i < 3; i++) {
        CUlaunchAttribute record = { .id = 7, .value.programmaticEvent = { early, 0, i } };
        if (i == 2)
            record = (CUlaunchAttribute){ .id = 12, .value.launchCompletionEvent = { early, 0 } };
        probe_edges_of_event(a, b, early, join, record);
    }
    probe_edges_to_fill(a, b, early, join);
    launch(a, (CUlaunchAttribute){ .id = 7, .value.programmaticEvent = { timed, 0, 0 } });
    launch(a, (CUlaunchAttribute){ .id = 7, .value.programmaticEvent = { early, 1, 0 } });
    launch(a, (CUlaunchAttribute){ .id = 12, .value.launchCompletionEvent = { NULL, 0 } });
    P(cuStreamSynchronize(a));
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    NEED(cuInit(0));
    NEED(cuDevicePrimaryCtxRetain(&context, 0));
    NEED(cuCtxSetCurrent(context));
    NEED(cuModuleLoadData(&module, text));
    NEED(cuModuleGetFunction(&add_one, module, "add_one"));
    NEED(cuMemAlloc_v2(&word, 4));
    probe_pointers();
    probe_attributes();
    probe_kernels();
    probe_copies();
    probe_edges();
    probe_captured_memory();
    probe_memory();
    return 0;
}
