// SPDX-License-Identifier: Apache-2.0
// A captured graph of two devices is imported into a group node by node where each belongs, or it
// is refused by a node's name.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <braid/braid.h>

#include "cuda_abi.h"
#include "graph/graph.h"
#include "support/check.h"

// move(from, to): *to = *from + 1.
static const char text[] =
    ".version 7.8\n.target sm_90\n.address_size 64\n"
    ".visible .entry move(.param .u64 from, .param .u64 to) {\n"
    ".reg .u64 %d<3>; .reg .u32 %r;\nld.param.u64 %d0, [from]; ld.param.u64 %d1, [to];\n"
    "ld.global.u32 %r, [%d0]; add.u32 %r, %r, 1; st.global.u32 [%d1], %r;\nret;\n}\n";

enum { DEVICES = 2, WORDS = 4 };

struct one {
    braid_device *device;
    CUcontext context;
    CUmodule module;
    CUfunction move;
    CUstream stream;
    CUevent event, told;      // the second is external
    CUdeviceptr words[WORDS]; // each an allocation
};
static struct one ones[DEVICES];
static braid_device *group;
static braid_import *import;

static void must(CUresult result)
{
    assert_int_equal(result, CUDA_SUCCESS);
}

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
    must(cuModuleGetFunction(&one->move, one->module, "move"));
    must(cuStreamCreate(&one->stream, CU_STREAM_NON_BLOCKING));
    must(cuEventCreate(&one->event, CU_EVENT_DISABLE_TIMING));
    must(cuEventCreate(&one->told, CU_EVENT_DISABLE_TIMING));
    for (int k = 0; k < WORDS; k++) {
        must(cuMemAlloc_v2(&one->words[k], sizeof(uint32_t)));
        must(cuMemsetD32_v2(one->words[k], 0, 1));
    }
}

static int open_world(void **state)
{
    (void)state;
    for (int i = 0; i < DEVICES; i++)
        open_one(i);
    check_ok(braid_device_open_group((braid_device *[]){ ones[0].device, ones[1].device }, DEVICES,
                                     &group));
    on(0);
    return 0;
}

static int close_world(void **state)
{
    (void)state;
    check_ok(braid_device_close(group));
    for (int i = 0; i < DEVICES; i++) {
        on(i);
        for (int k = 0; k < WORDS; k++)
            must(cuMemFree_v2(ones[i].words[k]));
        must(cuEventDestroy_v2(ones[i].event));
        must(cuEventDestroy_v2(ones[i].told));
        must(cuStreamDestroy_v2(ones[i].stream));
        must(cuModuleUnload(ones[i].module));
        check_ok(braid_device_close(ones[i].device));
        must(cuDevicePrimaryCtxRelease_v2(i));
    }
    return 0;
}

// ---- capturing ----

static void wait_for(int device, int before)
{
    on(before);
    must(cuEventRecord(ones[before].event, ones[before].stream));
    on(device);
    must(cuStreamWaitEvent(ones[device].stream, ones[before].event, 0));
}

// The stream of the first device, and with it that of the second.
static void begin(void)
{
    on(0);
    must(cuStreamBeginCapture_v2(ones[0].stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    wait_for(1, 0);
}

static void launch(int device, CUdeviceptr from, CUdeviceptr to)
{
    void *args[] = { &from, &to };
    on(device);
    must(cuLaunchKernel(ones[device].move, 1, 1, 1, 1, 1, 1, 0, ones[device].stream, args, NULL));
}

static braid_status end(braid_device *device, const braid_import_options *options)
{
    const braid_import_options usual = { .texts = (const char *const[]){ text }, .num_texts = 1 };
    CUgraph graph;
    wait_for(0, 1);
    on(0);
    must(cuStreamEndCapture(ones[0].stream, &graph));
    const braid_status status =
        braid_import_create(device, graph, options ? options : &usual, &import);
    must(cuGraphDestroy(graph));
    return status;
}

static void refuses(braid_status status, braid_status expected, const char *message)
{
    assert_int_equal(status, expected);
    if (!strstr(braid_error_get_message(), message))
        fail_msg("'%s' is not in: %s", message, braid_error_get_message());
}

static uint32_t word_of(CUdeviceptr word)
{
    uint32_t value;
    must(cuMemcpyDtoH_v2(&value, word, sizeof(value)));
    return value;
}

// The places of nodes, one digit each; 0: any will do.
static void expect_places(const char *expected)
{
    const braid_graph *graph = braid_import_get_graph(import);
    char found[16] = "";
    for (uint32_t i = 0; i < graph_num_nodes(graph); i++)
        found[i] = (char)('0' + graph_nodes(graph)[i].place);
    assert_string_equal(found, expected);
}

// On streams, and once more in a mode.
static void play(braid_device *device, braid_exec_mode mode)
{
    const braid_exec_mode modes[] = { BRAID_MODE_STREAMS, mode };
    for (int i = 0; i < 2; i++) {
        braid_exec *exec;
        check_ok(braid_exec_create(device, braid_import_get_graph(import),
                                   &(braid_exec_options){ .mode = modes[i] }, &exec));
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        braid_exec_destroy(exec);
    }
}

// ---- taken ----

static void count_call(void *user)
{
    ++*(int *)user;
}

static void each_node_is_on_its_device(void **state)
{
    (void)state;
    const CUdeviceptr *a = ones[0].words, *b = ones[1].words;
    int num_calls = 0;
    begin();
    must(cuMemsetD32Async(a[0], 10, 1, ones[0].stream));
    launch(0, a[0], a[1]); // 11
    on(1);
    must(cuMemsetD32Async(b[0], 20, 1, ones[1].stream));
    launch(1, b[0], b[1]); // 21
    on(0);
    must(cuMemcpyDtoDAsync_v2(b[2], a[1], sizeof(uint32_t), ones[0].stream)); // 11
    wait_for(1, 0);
    launch(1, a[1], b[3]); // reads the other's: 12
    must(cuMemcpyDtoDAsync_v2(a[2], b[1], sizeof(uint32_t), ones[1].stream)); // 21
    must(cuLaunchHostFunc(ones[1].stream, count_call, &num_calls));
    wait_for(0, 1);
    must(cuLaunchHostFunc(ones[0].stream, count_call, &num_calls));
    launch(0, a[2], b[0]); // writes the other's: 22
    check_ok(end(group, NULL));
    expect_places("1122122211");
    play(group, BRAID_MODE_GRAPH);
    assert_int_equal(num_calls, 4);
    assert_int_equal(word_of(b[2]), 11);
    assert_int_equal(word_of(b[3]), 12);
    assert_int_equal(word_of(a[2]), 21);
    assert_int_equal(word_of(b[0]), 22);
    assert_int_equal(word_of(b[1]), 21);
    braid_import_destroy(import);
}

static void graphs_of_one_device_are_taken_by_both(void **state)
{
    (void)state;
    const CUdeviceptr *b = ones[1].words;
    braid_device *const devices[] = { ones[1].device, group };
    for (int i = 0; i < 2; i++) {
        on(1);
        must(cuMemsetD32_v2(b[0], 7, 1));
        must(cuStreamBeginCapture_v2(ones[1].stream, CU_STREAM_CAPTURE_MODE_RELAXED));
        wait_for(0, 1);
        launch(1, b[0], b[1]);
        launch(1, b[1], b[2]);
        wait_for(1, 0);
        CUgraph graph;
        must(cuStreamEndCapture(ones[1].stream, &graph));
        check_ok(braid_import_create(devices[i], graph, NULL, &import));
        must(cuGraphDestroy(graph));
        expect_places(i ? "22" : "00");
        play(devices[i], BRAID_MODE_GRAPH);
        assert_int_equal(word_of(b[2]), 9);
        braid_exec *exec;
        refuses(braid_exec_create(devices[!i], braid_import_get_graph(import), NULL, &exec),
                BRAID_UNSUPPORTED,
                i ? "a graph imported for several devices runs on them"
                  : "an imported graph runs on the devices of its import");
        braid_import_destroy(import);
    }
}

static void events_are_where_their_stream_was(void **state)
{
    (void)state;
    const CUdeviceptr *b = ones[1].words;
    begin();
    launch(1, b[0], b[1]);
    must(cuEventRecordWithFlags(ones[1].told, ones[1].stream, CU_EVENT_RECORD_EXTERNAL));
    on(0);
    launch(0, ones[0].words[0], ones[0].words[1]);
    must(cuStreamWaitEvent(ones[0].stream, ones[1].told, CU_EVENT_WAIT_EXTERNAL));
    launch(0, ones[0].words[1], ones[0].words[2]);
    check_ok(end(group, NULL));
    expect_places("22111");
    play(group, BRAID_MODE_AUTO); // a graph takes no events
    must(cuEventSynchronize(ones[1].told));
    braid_import_destroy(import);

    begin();
    on(0);
    must(cuEventRecordWithFlags(ones[0].told, ones[0].stream, CU_EVENT_RECORD_EXTERNAL));
    refuses(end(group, NULL), BRAID_UNSUPPORTED,
            "node 0 of the captured graph, a record of an event, may be of any of several devices");
}

static void semaphores_are_where_their_streams_were(void **state)
{
    (void)state;
    const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal = { .params.fence.value = 1 };
    const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait = { .params.fence.value = 1 };
    const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC desc = {
        .type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD,
        .handle.fd = memfd_create("semaphore", MFD_CLOEXEC)
    };
    const CUdeviceptr *b = ones[1].words;
    CUexternalSemaphore semaphore;
    assert_int_equal(ftruncate(desc.handle.fd, sizeof(uint64_t)), 0);
    on(1);
    if (cuImportExternalSemaphore(&semaphore, &desc))
        skip_because("the driver takes no file of memory as a semaphore");
    begin();
    launch(1, b[0], b[1]);
    must(cuSignalExternalSemaphoresAsync(&semaphore, &signal, 1, ones[1].stream));
    must(cuWaitExternalSemaphoresAsync(&semaphore, &wait, 1, ones[1].stream));
    launch(1, b[1], b[2]);
    check_ok(end(group, NULL));
    expect_places("2222");
    play(group, BRAID_MODE_STREAMS);
    braid_import_destroy(import);
    for (int waits = 0; waits < 2; waits++) {
        begin();
        on(1);
        if (waits)
            must(cuWaitExternalSemaphoresAsync(&semaphore, &wait, 1, ones[1].stream));
        else
            must(cuSignalExternalSemaphoresAsync(&semaphore, &signal, 1, ones[1].stream));
        refuses(end(group, NULL), BRAID_UNSUPPORTED, "may be of any of several devices");
    }
    must(cuDestroyExternalSemaphore(semaphore));
}

// ---- refused ----

static void nodes_of_other_devices_are_refused(void **state)
{
    (void)state;
    const CUdeviceptr *a = ones[0].words, *b = ones[1].words;
    braid_device *others;
    check_ok(
        braid_device_open_group((braid_device *[]){ ones[0].device, ones[0].device }, 2, &others));
    begin();
    launch(0, a[0], a[1]);
    launch(1, b[0], b[1]);
    refuses(end(others, NULL), BRAID_UNSUPPORTED,
            "node 1 of the captured graph, a kernel, is of a context of no member of the group");
    begin();
    on(1);
    must(cuMemsetD32Async(b[0], 20, 1, ones[1].stream));
    refuses(end(others, NULL), BRAID_UNSUPPORTED,
            "node 0 of the captured graph, a fill, has memory of no member of the group");
    begin();
    on(1);
    must(cuMemcpyDtoDAsync_v2(b[0], b[1], sizeof(uint32_t), ones[1].stream));
    refuses(end(others, NULL), BRAID_UNSUPPORTED,
            "node 0 of the captured graph, a copy, has memory of no member of the group");
    check_ok(braid_device_close(others));
}

static void conditional_nodes_are_refused(void **state)
{
    (void)state;
    CUgraph graph;
    CUgraphNode node;
    CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_CONDITIONAL };
    must(cuGraphCreate(&graph, 0));
    must(cuGraphConditionalHandleCreate(&params.conditional.handle, graph, ones[0].context, 0, 0));
    params.conditional.type = CU_GRAPH_COND_TYPE_IF;
    params.conditional.size = 1;
    params.conditional.ctx = ones[0].context;
    must(cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, &params));
    refuses(braid_import_create(group, graph, NULL, &import), BRAID_UNSUPPORTED,
            "node 0 of the captured graph, a conditional node, cannot be imported into a group");
    must(cuGraphDestroy(graph));
}

// False: no stand-in is here.
static bool configure(const char *setting, const char *value)
{
    bool (*function)(const char *, const char *);
    void *found = dlsym(RTLD_DEFAULT, "standin_configure");
    memcpy(&function, &found, sizeof(found));
    return found && function(setting, value);
}

static void memory_out_of_reach_is_refused(void **state)
{
    (void)state;
    braid_device *apart;
    if (!configure("BRAID_STANDIN_PEERS", "0"))
        skip();
    must(cuCtxSetCurrent(ones[0].context));
    (void)cuCtxDisablePeerAccess(ones[1].context);
    check_ok(braid_device_open_group((braid_device *[]){ ones[0].device, ones[1].device }, DEVICES,
                                     &apart));
    begin();
    launch(0, ones[1].words[0], ones[0].words[0]);
    refuses(end(apart, NULL), BRAID_UNSUPPORTED,
            "node 0 of the captured graph, kernel 'move' on cuda:0, uses memory of cuda:1, which "
            "that device does not reach");
    check_ok(braid_device_close(apart));
    assert_true(configure("BRAID_STANDIN_PEERS", NULL));
}

static CUgraph capture_some(void)
{
    CUgraph graph;
    begin();
    launch(0, ones[0].words[0], ones[0].words[1]);
    must(
        cuMemcpyDtoDAsync_v2(ones[1].words[2], ones[0].words[1], sizeof(uint32_t), ones[0].stream));
    launch(1, ones[1].words[0], ones[1].words[1]);
    must(cuEventRecordWithFlags(ones[1].told, ones[1].stream, CU_EVENT_RECORD_EXTERNAL));
    wait_for(0, 1);
    must(cuStreamEndCapture(ones[0].stream, &graph));
    return graph;
}

static void any_call_may_fail(void **state)
{
    (void)state;
    const braid_import_options options = { .texts = (const char *const[]){ text }, .num_texts = 1 };
    const CUgraph graph = capture_some();
    int num_failed = 0;
    for (int nth = 1; nth <= 200; nth++) {
        char rule[32];
        CUcontext current;
        snprintf(rule, sizeof(rule), "*:%d=999", nth);
        if (!configure("BRAID_STANDIN_FAIL", rule))
            break;
        const braid_status status = braid_import_create(group, graph, &options, &import);
        assert_true(configure("BRAID_STANDIN_FAIL", NULL));
        must(cuCtxGetCurrent(&current));
        assert_ptr_equal(current, ones[0].context);
        num_failed += status != BRAID_OK;
        if (status) {
            assert_int_equal(status, BRAID_DEVICE_ERROR);
            check_ok(braid_import_create(group, graph, &options, &import));
        }
        expect_places("1122");
        braid_import_destroy(import);
    }
    must(cuGraphDestroy(graph));
    if (!num_failed)
        skip();
    assert_true(num_failed > 30);
}

static void allocations_and_reloads_are_refused(void **state)
{
    (void)state;
    CUdeviceptr memory;
    begin();
    must(cuMemAllocAsync(&memory, 4096, ones[0].stream));
    must(cuMemFreeAsync(memory, ones[0].stream));
    refuses(end(group, NULL), BRAID_UNSUPPORTED,
            "node 0 of the captured graph, a allocation, cannot be imported into a group");
    begin();
    launch(0, ones[0].words[0], ones[0].words[1]);
    refuses(end(group, &(braid_import_options){ .reloaded = (const char *const[]){ text },
                                                .num_reloaded = 1 }),
            BRAID_UNSUPPORTED, "leave out .reloaded");
}

static void later_captures_stay_on_their_devices(void **state)
{
    (void)state;
    const CUdeviceptr *a = ones[0].words, *b = ones[1].words;
    braid_exec *exec = NULL;
    braid_import *first = NULL;
    must(cuMemsetD32_v2(b[3], 21, 1));
    for (int i = 0; i < 3; i++) {
        CUgraph graph;
        begin();
        must(cuMemsetD32Async(a[i], 10, 1, ones[0].stream));
        on(1);
        must(cuMemcpyDtoDAsync_v2(b[i], i == 2 ? a[3] : b[3], sizeof(uint32_t), ones[1].stream));
        wait_for(0, 1);
        on(0);
        must(cuStreamEndCapture(ones[0].stream, &graph));
        if (i == 0) {
            check_ok(braid_import_create(group, graph, NULL, &first));
            check_ok(braid_exec_create(group, braid_import_get_graph(first), NULL, &exec));
        } else if (i == 1) {
            check_ok(braid_import_update(first, graph, NULL, exec));
        } else {
            refuses(braid_import_update(first, graph, NULL, exec), BRAID_INVALID_ARGUMENT,
                    "node 1 of the captured graph (copy) is on another device");
        }
        must(cuGraphDestroy(graph));
    }
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(word_of(a[1]), 10);
    assert_int_equal(word_of(b[1]), 21);
    braid_exec_destroy(exec);
    braid_import_destroy(first);
}

int main(void)
{
    int num_devices = 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_node_is_on_its_device, open_world, close_world),
        cmocka_unit_test_setup_teardown(graphs_of_one_device_are_taken_by_both, open_world,
                                        close_world),
        cmocka_unit_test_setup_teardown(events_are_where_their_stream_was, open_world, close_world),
        cmocka_unit_test_setup_teardown(semaphores_are_where_their_streams_were, open_world,
                                        close_world),
        cmocka_unit_test_setup_teardown(nodes_of_other_devices_are_refused, open_world,
                                        close_world),
        cmocka_unit_test_setup_teardown(conditional_nodes_are_refused, open_world, close_world),
        cmocka_unit_test_setup_teardown(memory_out_of_reach_is_refused, open_world, close_world),
        cmocka_unit_test_setup_teardown(any_call_may_fail, open_world, close_world),
        cmocka_unit_test_setup_teardown(allocations_and_reloads_are_refused, open_world,
                                        close_world),
        cmocka_unit_test_setup_teardown(later_captures_stay_on_their_devices, open_world,
                                        close_world),
    };
    must(cuInit(0));
    must(cuDeviceGetCount(&num_devices));
    if (num_devices < DEVICES) {
        puts("one device is here, and two are needed");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
