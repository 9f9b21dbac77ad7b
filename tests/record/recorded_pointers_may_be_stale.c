// SPDX-License-Identifier: Apache-2.0
// A recorded kernel that loads a pointer is not proven where a copy may have changed the pointer in
// a way that the record's bytes do not tell.
#include "record/program.h"

#include <braid/import.h>
#include <string.h>

enum { BUFFERS = 4, BYTES = 256 };

static const char follow_text[] =
    ".version 7.8\n.target sm_90\n.address_size 64\n"
    ".visible .entry follow(.param .u64 at, .param .u64 to)\n{\n"
    ".reg .b64 %d<3>;\n.reg .b32 %r;\nld.param.u64 %d0, [at];\nld.param.u64 %d1, [to];\n"
    "ld.u64 %d2, [%d0+8];\nld.u32 %r, [%d2];\nst.u32 [%d1], %r;\nret;\n}\n";

static CUmodule module;
static CUfunction follow;
static CUstream stream;
static CUdeviceptr memory[BUFFERS], table, source;
static CUgraphExec executable;
static uint64_t *pinned;
static const braid_record_contents *record;

static void launch_follow(CUdeviceptr at)
{
    void *arguments[] = { &at, &memory[2] };
    must(cuLaunchKernel(follow, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
    launch_add(stream, memory[3], 5);
}

// Word 1 is a pointer.
static void send(CUdeviceptr to, CUdeviceptr pointer)
{
    const uint64_t words[] = { 0, pointer };
    must(cuMemcpyHtoD_v2(to, words, sizeof(words)));
}

// ---- the program: each frame uses the pointer memory[3] ----

static void change_by_rows(void)
{
    static uint64_t rows[2][2]; // the copy may read them later
    rows[0][1] = memory[3];
    const CUDA_MEMCPY2D copy = { .srcMemoryType = CU_MEMORYTYPE_HOST,
                                 .srcHost = rows,
                                 .srcPitch = sizeof(rows[0]),
                                 .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                 .dstDevice = table,
                                 .dstPitch = 32,
                                 .WidthInBytes = sizeof(rows[0]),
                                 .Height = 2 };
    must(cuMemcpy2DAsync_v2(&copy, stream));
    launch_follow(table);
}

static void change_by_graph(void)
{
    must(cuGraphLaunch(executable, stream));
}

static void use_pointer(void)
{
    launch_follow(table);
}

// When the program calls for the second copy, the first has not run perhaps.
static void change_what_is_sent(void)
{
    must(cuMemcpyDtoHAsync_v2(pinned, source, 16, stream));
    must(cuMemcpyHtoDAsync_v2(table, pinned, 16, stream));
    launch_follow(table);
}

static void change_memory_of_the_host(void)
{
    const uint64_t words[] = { 0, memory[1] };
    must(cuMemcpy((uintptr_t)pinned, (uintptr_t)words, sizeof(words)));
    pinned[1] = memory[3];
    launch_follow((uintptr_t)pinned);
    must(cuStreamSynchronize(stream));
}

static const struct {
    const char *name;
    void (*run)(void);
    uint32_t num_unproven;
} frames[] = {
    { "rows", change_by_rows, 1 },
    { "a graph", change_by_graph, 0 },
    { "what a graph changed", use_pointer, 1 },
    { "what is sent", change_what_is_sent, 1 },
    { "memory of the host", change_memory_of_the_host, 1 },
    { "nothing", use_pointer, 0 },
};

enum { FRAMES = sizeof(frames) / sizeof(frames[0]) };

static int run_program(void **state)
{
    CUgraph graph;
    open_program(state);
    must(cuModuleLoadData(&module, follow_text));
    must(cuModuleGetFunction(&follow, module, "follow"));
    must(cuStreamCreate(&stream, 0));
    must(cuMemAlloc_v2(&table, BYTES));
    must(cuMemAlloc_v2(&source, BYTES));
    must(cuMemHostAlloc((void **)&pinned, BYTES, 0));
    for (int i = 0; i < BUFFERS; i++)
        must(cuMemAlloc_v2(&memory[i], BYTES));
    must(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    must(cuMemcpyDtoDAsync_v2(table, source, 16, stream));
    must(cuStreamEndCapture(stream, &graph));
    must(cuGraphInstantiateWithFlags(&executable, graph, 0));
    must(cuGraphDestroy(graph));
    for (int frame = 0; frame < FRAMES; frame++) {
        assert_true(braid_record_frame_mark());
        if (frame != 2)
            send(table, memory[1]);
        send(source, memory[3]);
        frames[frame].run();
        must(cuStreamSynchronize(stream));
    }
    assert_true(braid_record_frame_mark());
    record = open_own_record();
    assert_int_equal(record->num_frames, FRAMES);
    return 0;
}

static int end_program(void **state)
{
    close_own_record();
    must(cuGraphExecDestroy(executable));
    for (int i = 0; i < BUFFERS; i++)
        must(cuMemFree_v2(memory[i]));
    must(cuMemFree_v2(table));
    must(cuMemFree_v2(source));
    must(cuMemFreeHost(pinned));
    must(cuStreamDestroy_v2(stream));
    must(cuModuleUnload(module));
    return close_program(state);
}

static void expect(uint32_t frame, uint32_t num_unproven)
{
    const braid_import_options options = { .is_unwatched = true, .follows_pointers = true };
    braid_import *import;
    braid_import_info info;
    check_ok(braid_import_create_recorded(record, frame, &options, &import));
    braid_import_get_info(import, &info);
    if (info.num_unproven != num_unproven)
        fail_msg("%s: %u nodes are not proven", frames[frame].name, info.num_unproven);
    braid_import_destroy(import);
}

static void changed_pointers_prove_nothing(void **state)
{
    (void)state;
    for (uint32_t frame = 0; frame < FRAMES; frame++)
        expect(frame, frames[frame].num_unproven);
}

// It may have a second address, by which a copy writes. The stand-in maps none, so the test says
// so.
static void mapped_memory_proves_nothing(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < record->num_allocations; i++) {
        braid_record_allocation *of = (braid_record_allocation *)(uintptr_t)&record->allocations[i];
        if (of->address == table)
            of->kind = BRAID_RECORD_MAPPED;
    }
    expect(FRAMES - 1, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(changed_pointers_prove_nothing),
                                        cmocka_unit_test(mapped_memory_proves_nothing) };
    return cmocka_run_group_tests(tests, run_program, end_program);
}
