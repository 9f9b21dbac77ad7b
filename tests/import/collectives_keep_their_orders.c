// SPDX-License-Identifier: Apache-2.0
// All-reduces of NCCL by one process with two devices, captured and imported into a group.
//
// NCCL's kernels have no PTX, so that nothing of theirs is proven. Graphs that NCCL is captured in
// keep memory of its own, and live as long as what was imported from them.
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include <braid/braid.h>

#include "cuda_abi.h"
#include "support/check.h"

// twice(at): each of 256 words is doubled. By one block.
static const char text[] =
    ".version 7.8\n.target sm_90\n.address_size 64\n"
    ".visible .entry twice(.param .u64 at) {\n"
    ".reg .u64 %d<3>; .reg .u32 %r<3>;\nld.param.u64 %d0, [at]; mov.u32 %r0, %tid.x;\n"
    "mul.wide.u32 %d1, %r0, 4; add.u64 %d2, %d0, %d1;\n"
    "ld.global.u32 %r1, [%d2]; add.u32 %r2, %r1, %r1; st.global.u32 [%d2], %r2;\nret;\n}\n";

enum { DEVICES = 2, WORDS = 256, TURNS = 3, FRAMES = 4, UINT32 = 3, SUM = 0 };

typedef struct {
    char internal[128];
} nccl_id;

static struct {
    int (*get_id)(nccl_id *id);
    int (*init)(void **out_comm, int num, nccl_id id, int rank);
    int (*destroy)(void *comm);
    int (*group_start)(void);
    int (*group_end)(void);
    int (*all_reduce)(const void *from, void *to, size_t count, int type, int op, void *comm,
                      CUstream stream);
} nccl;

static struct one {
    braid_device *device;
    CUcontext context;
    CUmodule module;
    CUfunction twice;
    CUstream stream;
    CUevent event;
    CUdeviceptr words, others; // reduced by turns
    void *comm;
} ones[DEVICES];
static braid_device *group;
static nccl_id id;

static void must(CUresult result)
{
    assert_int_equal(result, CUDA_SUCCESS);
}

static bool find(void *library, const char *name, void *out_function)
{
    void *found = dlsym(library, name);
    memcpy(out_function, &found, sizeof(found));
    return found;
}

static bool open_nccl(void)
{
    void *library = dlopen("libnccl.so.2", RTLD_NOW);
    return library && find(library, "ncclGetUniqueId", &nccl.get_id) &&
           find(library, "ncclCommInitRank", &nccl.init) &&
           find(library, "ncclCommDestroy", &nccl.destroy) &&
           find(library, "ncclGroupStart", &nccl.group_start) &&
           find(library, "ncclGroupEnd", &nccl.group_end) &&
           find(library, "ncclAllReduce", &nccl.all_reduce);
}

// ---- the world ----

static void on(int device)
{
    must(cuCtxSetCurrent(ones[device].context));
}

static void open_one(int i)
{
    struct one *one = &ones[i];
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cuda", .ordinal = (uint32_t)i },
                               &one->device));
    must(cuDevicePrimaryCtxRetain(&one->context, i));
    on(i);
    must(cuModuleLoadData(&one->module, text));
    must(cuModuleGetFunction(&one->twice, one->module, "twice"));
    must(cuStreamCreate(&one->stream, CU_STREAM_NON_BLOCKING));
    must(cuEventCreate(&one->event, CU_EVENT_DISABLE_TIMING));
    must(cuMemAlloc_v2(&one->words, WORDS * sizeof(uint32_t)));
    must(cuMemAlloc_v2(&one->others, WORDS * sizeof(uint32_t)));
}

static void close_one(int i)
{
    struct one *one = &ones[i];
    on(i);
    assert_int_equal(nccl.destroy(one->comm), 0);
    must(cuMemFree_v2(one->words));
    must(cuMemFree_v2(one->others));
    must(cuEventDestroy_v2(one->event));
    must(cuStreamDestroy_v2(one->stream));
    must(cuModuleUnload(one->module));
    check_ok(braid_device_close(one->device));
    must(cuDevicePrimaryCtxRelease_v2(i));
}

// Each rank waits for the other.
static void *join(void *user)
{
    const int rank = (int)((struct one *)user - ones);
    return cuCtxSetCurrent(ones[rank].context) || nccl.init(&ones[rank].comm, DEVICES, id, rank)
               ? user
               : NULL;
}

static void open_comms(void)
{
    pthread_t threads[DEVICES];
    assert_int_equal(nccl.get_id(&id), 0);
    for (int i = 0; i < DEVICES; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, join, &ones[i]), 0);
    for (int i = 0; i < DEVICES; i++) {
        void *failed;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
}

// ---- the work ----

static void wait_for(int device, int before)
{
    on(before);
    must(cuEventRecord(ones[before].event, ones[before].stream));
    on(device);
    must(cuStreamWaitEvent(ones[device].stream, ones[before].event, 0));
}

static void reduce(bool others)
{
    assert_int_equal(nccl.group_start(), 0);
    for (int i = 0; i < DEVICES; i++) {
        void *at = (void *)(uintptr_t)(others ? ones[i].others : ones[i].words);
        assert_int_equal(nccl.all_reduce(at, at, WORDS, UINT32, SUM, ones[i].comm, ones[i].stream),
                         0);
    }
    assert_int_equal(nccl.group_end(), 0);
}

static void twice(int device, CUdeviceptr at)
{
    void *args[] = { &at };
    on(device);
    must(cuLaunchKernel(ones[device].twice, 1, 1, 1, WORDS, 1, 1, 0, ones[device].stream, args,
                        NULL));
}

// Both devices double what they have, and add it up. The words double again meanwhile.
static CUgraph capture(void)
{
    CUgraph graph;
    on(0);
    must(cuStreamBeginCapture_v2(ones[0].stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    wait_for(1, 0);
    for (int turn = 0; turn < TURNS; turn++) {
        for (int i = 0; i < DEVICES; i++) {
            twice(i, ones[i].words);
            twice(i, ones[i].others);
        }
        reduce(turn % 2);
    }
    wait_for(0, 1);
    on(0);
    must(cuStreamEndCapture(ones[0].stream, &graph));
    return graph;
}

static void reset(void)
{
    for (int i = 0; i < DEVICES; i++) {
        uint32_t numbers[WORDS];
        for (uint32_t k = 0; k < WORDS; k++)
            numbers[k] = k + 1000 * (uint32_t)i;
        must(cuMemcpyHtoD_v2(ones[i].words, numbers, sizeof(numbers)));
        must(cuMemcpyHtoD_v2(ones[i].others, numbers, sizeof(numbers)));
    }
}

static void copy_all(uint32_t *out)
{
    for (int i = 0; i < DEVICES; i++) {
        must(cuMemcpyDtoH_v2(out + (size_t)(2 * i) * WORDS, ones[i].words,
                             WORDS * sizeof(uint32_t)));
        must(cuMemcpyDtoH_v2(out + (size_t)(2 * i + 1) * WORDS, ones[i].others,
                             WORDS * sizeof(uint32_t)));
    }
}

static void play_captured(CUgraph graph, uint32_t *out)
{
    CUgraphExec exec;
    must(cuGraphInstantiateWithFlags(&exec, graph, 0));
    reset();
    for (int i = 0; i < FRAMES; i++)
        must(cuGraphLaunch(exec, ones[0].stream));
    must(cuStreamSynchronize(ones[0].stream));
    copy_all(out);
    must(cuGraphExecDestroy(exec));
}

static void play_imported(const braid_graph *graph, braid_exec_mode mode, uint32_t *out)
{
    braid_exec *exec;
    const braid_exec_options options = { .mode = mode };
    check_ok(braid_exec_create(group, graph, &options, &exec));
    reset();
    for (int i = 0; i < FRAMES; i++)
        check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    copy_all(out);
    braid_exec_destroy(exec);
}

static void collectives_keep_their_orders(void **state)
{
    (void)state;
    static uint32_t expected[2 * DEVICES * WORDS], found[2 * DEVICES * WORDS];
    const braid_import_options options = { .texts = (const char *const[]){ text }, .num_texts = 1 };
    braid_import *import;
    braid_import_info info;
    for (int i = 0; i < DEVICES; i++)
        open_one(i);
    check_ok(braid_device_open_group((braid_device *[]){ ones[0].device, ones[1].device }, DEVICES,
                                     &group));
    open_comms();
    reduce(false); // NCCL connects its ranks
    for (int i = 0; i < DEVICES; i++)
        must(cuStreamSynchronize(ones[i].stream));
    CUgraph graph = capture();
    play_captured(graph, expected);
    check_ok(braid_import_create(group, graph, &options, &import));
    braid_import_get_info(import, &info);
    assert_true(info.num_unproven >= DEVICES * TURNS);
    play_imported(braid_import_get_graph(import), BRAID_MODE_STREAMS, found);
    assert_memory_equal(expected, found, sizeof(found));
    play_imported(braid_import_get_graph(import), BRAID_MODE_AUTO, found);
    assert_memory_equal(expected, found, sizeof(found));
    print_message("summary: %u nodes captured, %u not proven, %llu orders captured, %llu kept\n",
                  info.num_nodes, info.num_unproven, (unsigned long long)info.num_captured,
                  (unsigned long long)info.num_kept);
    braid_import_destroy(import);
    must(cuGraphDestroy(graph));
    check_ok(braid_device_close(group));
    for (int i = 0; i < DEVICES; i++)
        close_one(i);
}

int main(void)
{
    int num_devices = 0;
    const struct CMUnitTest tests[] = { cmocka_unit_test(collectives_keep_their_orders) };
    must(cuInit(0));
    must(cuDeviceGetCount(&num_devices));
    if (num_devices < DEVICES || !open_nccl()) {
        puts(num_devices < DEVICES ? "one device is here, and two are needed"
                                   : "there is no NCCL in the loader's folders");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
