// SPDX-License-Identifier: Apache-2.0
// A captured graph with a node of each kind that can be imported.
#include "import/captured_world.h"

#include <string.h>

#include "support/check.h"

const char captured_world_text[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry move(\n.param .align 8 .b8 all[24]\n)\n{\n"
    ".reg .b32 %r<3>;\n.reg .b64 %d<2>;\n"
    "ld.param.u64 %d0, [all];\nld.param.u64 %d1, [all+8];\nld.param.u32 %r0, [all+16];\n"
    "ld.global.u32 %r1, [%d0];\nadd.u32 %r2, %r1, %r0;\nst.global.u32 [%d1], %r2;\nret;\n}\n"
    ".visible .entry add(\n.param .u64 from,\n.param .u64 to\n)\n{\n"
    ".reg .b32 %r<3>;\n.reg .b64 %d<2>;\n"
    "ld.param.u64 %d0, [from];\nld.param.u64 %d1, [to];\n"
    "ld.global.u32 %r0, [%d0];\nld.global.u32 %r1, [%d1];\nadd.u32 %r2, %r1, %r0;\n"
    "st.global.u32 [%d1], %r2;\nret;\n}\n";

static void must(CUresult result)
{
    assert_int_equal(result, CUDA_SUCCESS);
}

static unsigned char *bytes_of(const struct captured_world *world, int buffer)
{
    return (unsigned char *)(uintptr_t)world->buffers[buffer]; // NOLINT
}

// ---- capturing ----

static void move(const struct captured_world *world, CUstream stream, CUdeviceptr from,
                 CUdeviceptr to, uint32_t number)
{
    struct {
        CUdeviceptr from, to;
        uint32_t number, unused;
    } all = { from, to, number, 0 };
    void *args[] = { &all };
    must(cuLaunchKernel(world->move, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL));
}

static void add(const struct captured_world *world, CUstream stream, int from, int to)
{
    CUdeviceptr addresses[] = { world->buffers[from], world->buffers[to] };
    void *args[] = { &addresses[0], &addresses[1] };
    must(cuLaunchKernel(world->add, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL));
}

static void wait_for(CUstream stream, CUstream before)
{
    CUevent event;
    must(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    must(cuEventRecord(event, before));
    must(cuStreamWaitEvent(stream, event, 0));
    must(cuEventDestroy_v2(event));
}

static void use_allocation(const struct captured_world *world, CUstream stream)
{
    CUdeviceptr memory;
    must(cuMemAllocAsync(&memory, WORLD_BYTES, stream));
    must(cuMemsetD32Async(memory, 7, WORLD_BYTES / 4, stream));
    move(world, stream, memory, world->buffers[2], 5);
    must(cuMemFreeAsync(memory, stream));
}

static void copy_rows(const struct captured_world *world, CUstream stream, int from, int to)
{
    const CUDA_MEMCPY2D rows = {
        .srcMemoryType = CU_MEMORYTYPE_DEVICE,
        .srcDevice = world->buffers[from],
        .srcPitch = 32,
        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
        .dstDevice = world->buffers[to],
        .dstPitch = 64,
        .WidthInBytes = 24,
        .Height = 3,
    };
    must(cuMemcpy2DAsync_v2(&rows, stream));
}

static void count_call(void *user)
{
    ++*(unsigned *)user;
}

static CUgraph capture_child(const struct captured_world *world)
{
    CUgraph child;
    must(cuStreamBeginCapture_v2(world->streams[0], CU_STREAM_CAPTURE_MODE_RELAXED));
    move(world, world->streams[0], world->buffers[2], world->buffers[7], 11);
    must(cuMemsetD8Async(world->buffers[8], 3, 64, world->streams[0]));
    add(world, world->streams[0], 7, 8);
    must(cuStreamEndCapture(world->streams[0], &child));
    return child;
}

// The second stream branches off behind the first kernel, and joins at the end.
static void capture(struct captured_world *world)
{
    const CUstream first = world->streams[0], second = world->streams[1];
    CUgraph child = capture_child(world), graph;
    CUgraphNode node;
    CUstreamCaptureStatus state;
    const CUgraphNode *after;
    size_t num_after;
    must(cuStreamBeginCapture_v2(first, CU_STREAM_CAPTURE_MODE_RELAXED));
    must(cuMemcpyDtoDAsync_v2(world->buffers[4], world->buffers[3], 128, first));
    add(world, first, 0, 1);
    wait_for(second, first);
    use_allocation(world, first);
    copy_rows(world, second, 4, 5);
    must(cuMemsetD16Async(world->buffers[6], 9, 16, second));
    add(world, second, 4, 6);
    must(cuLaunchHostFunc(first, count_call, &world->num_calls));
    add(world, first, 1, 3);
    wait_for(first, second);
    must(cuStreamGetCaptureInfo_v2(first, &state, NULL, &graph, &after, &num_after));
    must(cuGraphAddChildGraphNode(&node, graph, after, num_after, child));
    must(cuStreamUpdateCaptureDependencies(first, &node, 1, 1)); // in place of those before
    must(cuStreamEndCapture(first, &world->graph));
    must(cuGraphDestroy(child)); // its node has a copy
}

// ---- playing ----

static void reset(struct captured_world *world)
{
    for (int i = 0; i < WORLD_BUFFERS; i++)
        memset(bytes_of(world, i), 16 + i, WORLD_BYTES);
    world->num_calls = 0;
}

static void copy_all(const struct captured_world *world, unsigned char *to)
{
    for (int i = 0; i < WORLD_BUFFERS; i++)
        memcpy(to + (size_t)i * WORLD_BYTES, bytes_of(world, i), WORLD_BYTES);
}

static bool has_expected(const struct captured_world *world)
{
    unsigned char found[sizeof(world->expected)];
    copy_all(world, found);
    return world->num_calls == 1 && memcmp(found, world->expected, sizeof(found)) == 0;
}

static void play(struct captured_world *world)
{
    CUgraphExec exec;
    must(cuGraphInstantiateWithFlags(&exec, world->graph, 0));
    reset(world);
    must(cuGraphLaunch(exec, world->streams[0]));
    must(cuStreamSynchronize(world->streams[0]));
    must(cuGraphExecDestroy(exec));
}

bool captured_world_plays(struct captured_world *world)
{
    play(world);
    return has_expected(world);
}

bool captured_world_plays_as(struct captured_world *world, braid_device *device,
                             const braid_graph *graph)
{
    braid_exec *exec = NULL;
    braid_stream *stream = NULL;
    reset(world);
    braid_status status = braid_stream_create(device, NULL, &stream);
    if (!status)
        status = braid_exec_create(device, graph, &(braid_exec_options){ .max_lanes = 3 }, &exec);
    if (!status)
        status = braid_exec_launch(exec, stream);
    if (!status)
        status = braid_exec_wait(exec);
    braid_exec_destroy(exec);
    braid_stream_destroy(stream);
    return !status && has_expected(world);
}

// ---- the world ----

void captured_world_make(struct captured_world *world)
{
    *world = (struct captured_world){ 0 };
    must(cuInit(0));
    must(cuDevicePrimaryCtxRetain(&world->context, 0));
    must(cuCtxSetCurrent(world->context));
    must(cuModuleLoadData(&world->module, captured_world_text));
    must(cuModuleGetFunction(&world->move, world->module, "move"));
    must(cuModuleGetFunction(&world->add, world->module, "add"));
    for (int i = 0; i < WORLD_STREAMS; i++)
        must(cuStreamCreate(&world->streams[i], CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < WORLD_BUFFERS; i++)
        must(cuMemAlloc_v2(&world->buffers[i], WORLD_BYTES));
    capture(world);
    play(world);
    copy_all(world, world->expected);
    assert_int_equal(world->num_calls, 1);
}

void captured_world_finish(struct captured_world *world)
{
    must(cuGraphDestroy(world->graph));
    for (int i = 0; i < WORLD_BUFFERS; i++)
        must(cuMemFree_v2(world->buffers[i]));
    for (int i = 0; i < WORLD_STREAMS; i++)
        must(cuStreamDestroy_v2(world->streams[i]));
    must(cuModuleUnload(world->module));
    must(cuDevicePrimaryCtxRelease_v2(0));
}
