// SPDX-License-Identifier: Apache-2.0
// Whichever call of the driver fails while a graph is imported, the import tells of the call and
// leaves nothing behind, or it keeps at least the orders that it keeps otherwise. The captured
// graph plays as before, and the import works when it is tried again.
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gpu/gpu_testing.h"
#include "import/captured_world.h"
#include "support/check.h"

enum { UNKNOWN_ERROR = 999, OUT_OF_MEMORY = 2, MOST_CALLS = 1 << 12 };

static struct captured_world world;
static braid_device *device;
static const char *const texts[] = { captured_world_text };
static braid_import_options options;

// ---- calls, by their numbers ----

static const char *calls[MOST_CALLS];
static int num_calls;

static void note_call(const char *function)
{
    if (num_calls < MOST_CALLS)
        calls[num_calls++] = function;
}

static void note_calls(void)
{
    num_calls = 0;
    standin_watch(note_call);
}

// ---- one import ----

static braid_import_info usual;

static void check_usual(void)
{
    braid_import *import;
    braid_import_info info;
    check_ok(braid_import_create(device, world.graph, &options, &import));
    braid_import_get_info(import, &info);
    assert_memory_equal(&info, &usual, sizeof(info));
    assert_true(captured_world_plays_as(&world, device, braid_import_get_graph(import)));
    braid_import_destroy(import);
}

// Calls that make the device current, or the program's again.
static bool is_about_thread(const char *function)
{
    return strstr(function, "cuCtx") || strcmp(function, "cuThreadExchangeStreamCaptureMode") == 0;
}

// Where later calls fail as well, the message may name any of them.
static void check_told(int nth, int last)
{
    const char *message = braid_error_get_message();
    bool is_told = false;
    for (int i = nth; i <= last && !is_told; i++)
        is_told =
            strstr(message, calls[i - 1]) ||
            (is_about_thread(calls[i - 1]) && strstr(message, "when the device was made current"));
    if (!is_told)
        fail_msg("call %d, of %s, failed, and '%s' was returned", nth, calls[nth - 1], message);
}

// The library makes calls about the thread a second time. Memory of which nothing is known counts
// as watched.
static bool may_be_silent(const char *function)
{
    return is_about_thread(function) || strcmp(function, "cuPointerGetAttribute") == 0;
}

static void check_safe(braid_import *import, int nth)
{
    braid_import_info info;
    braid_import_get_info(import, &info);
    if (!may_be_silent(calls[nth - 1]))
        fail_msg("nobody was told of call %d, of %s", nth, calls[nth - 1]);
    if (info.num_kept < usual.num_kept)
        fail_msg("call %d, of %s, failed, and %llu of %llu orders are kept", nth, calls[nth - 1],
                 (unsigned long long)info.num_kept, (unsigned long long)usual.num_kept);
    assert_int_equal(info.num_kernels, usual.num_kernels);
    assert_int_equal(info.num_rewritten, usual.num_rewritten);
    assert_int_equal(info.num_captured, usual.num_captured);
    assert_true(captured_world_plays_as(&world, device, braid_import_get_graph(import)));
}

static braid_status expected_status(int nth, int code)
{
    return code == OUT_OF_MEMORY && !is_about_thread(calls[nth - 1]) ? BRAID_NO_MEMORY
                                                                     : BRAID_DEVICE_ERROR;
}

// Returns whether the import failed. `last`: the call up to which all fail.
static bool fail_calls_from(int nth, int last, int code)
{
    braid_import *import = NULL;
    const long before = count_objects();
    fail_calls("*:%d%s=%d", nth, last > nth ? "+" : "", code);
    braid_status status = braid_import_create(device, world.graph, &options, &import);
    fail_calls(NULL);
    if (status) {
        assert_int_equal(status, expected_status(nth, code));
        check_told(nth, last);
        assert_null(import);
    } else {
        check_safe(import, nth);
        braid_import_destroy(import);
    }
    assert_int_equal(count_objects(), before);
    assert_true(captured_world_plays(&world));
    check_usual();
    return status != BRAID_OK;
}

static void sweep(bool rest, int code)
{
    braid_import *import;
    int num_failed = 0;
    check_ok(braid_import_create(device, world.graph, &options, &import)); // so that all is known
    braid_import_destroy(import);
    note_calls();
    check_ok(braid_import_create(device, world.graph, &options, &import));
    standin_watch(NULL);
    braid_import_get_info(import, &usual);
    braid_import_destroy(import);
    assert_true(usual.num_kept < usual.num_captured);
    assert_int_equal(usual.num_allocations, 1);
    const int num = num_calls;
    for (int nth = 1; nth <= num; nth++)
        num_failed += fail_calls_from(nth, rest ? num : nth, code);
    print_message("summary: of %d imports, with a call that fails, %d failed\n", num, num_failed);
    assert_true(num_failed > 90);
}

static void set_up(bool is_unwatched)
{
    captured_world_make(&world);
    device = own_device("cuda");
    options =
        (braid_import_options){ .texts = texts, .num_texts = 1, .is_unwatched = is_unwatched };
}

static void finish(void)
{
    destroy_now(device);
    captured_world_finish(&world);
}

static void one_call_fails(void **state)
{
    (void)state;
    set_up(false);
    sweep(false, UNKNOWN_ERROR);
    finish();
}

static void one_call_fails_for_memory(void **state)
{
    (void)state;
    set_up(false);
    sweep(false, OUT_OF_MEMORY);
    finish();
}

static void one_call_fails_while_nobody_watches(void **state)
{
    (void)state;
    set_up(true);
    sweep(false, UNKNOWN_ERROR);
    finish();
}

static void all_later_calls_fail(void **state)
{
    (void)state;
    set_up(true);
    sweep(true, UNKNOWN_ERROR);
    finish();
}

static CUgraph capture_cooperative(void)
{
    const CUkernelNodeAttrValue value = { .cooperative = 1 };
    void *args[] = { &world.buffers[0], &world.buffers[1] };
    CUgraphNode node;
    CUgraph graph;
    size_t num = 1;
    assert_int_equal(cuStreamBeginCapture_v2(world.streams[0], CU_STREAM_CAPTURE_MODE_RELAXED), 0);
    assert_int_equal(cuLaunchKernel(world.add, 1, 1, 1, 1, 1, 1, 0, world.streams[0], args, NULL),
                     0);
    assert_int_equal(cuStreamEndCapture(world.streams[0], &graph), 0);
    assert_int_equal(cuGraphGetNodes(graph, &node, &num), 0);
    assert_int_equal(cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value),
                     0);
    return graph;
}

static void check_cooperative(CUgraph graph)
{
    CUkernelNodeAttrValue value;
    CUgraphNode nodes[8];
    size_t num = 8, at = 0;
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    assert_int_equal(cuGraphGetNodes(graph, nodes, &num), 0);
    for (; at < num && type != CU_GRAPH_NODE_TYPE_KERNEL; at++)
        assert_int_equal(cuGraphNodeGetType(nodes[at], &type), 0);
    assert_int_equal(type, CU_GRAPH_NODE_TYPE_KERNEL);
    assert_int_equal(
        cuGraphKernelNodeGetAttribute(nodes[at - 1], CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value), 0);
    assert_int_equal(value.cooperative, 1);
}

static void check_plays_so(const braid_graph *graph)
{
    const braid_exec_options options_of_graph = { .mode = BRAID_MODE_GRAPH };
    CUgraph made;
    fail_calls("cuOccupancyMaxActiveBlocksPerMultiprocessor:1=%d", UNKNOWN_ERROR);
    braid_exec *exec = NULL;
    check_fails(braid_exec_create(device, graph, &options_of_graph, &exec), BRAID_DEVICE_ERROR,
                "cuOccupancyMaxActiveBlocksPerMultiprocessor");
    fail_calls(NULL);
    exec = own_exec(device, graph, &options_of_graph);
    check_ok(braid_exec_make_cuda_graph(exec, (void **)&made));
    check_cooperative(made);
    destroy_now(exec);
}

// An import that reads no attributes would lose what it must refuse, and that blocks wait for each
// other.
static void a_cooperative_kernel_stays_so(void **state)
{
    (void)state;
    enum { NUM_ATTRIBUTES = 6 };
    braid_import *import;
    set_up(false);
    CUgraph graph = capture_cooperative();
    for (int nth = 1; nth <= NUM_ATTRIBUTES; nth++) {
        fail_calls("cuGraphKernelNodeGetAttribute:%d=%d", nth, UNKNOWN_ERROR);
        check_fails(braid_import_create(device, graph, &options, &import), BRAID_DEVICE_ERROR,
                    "cuGraphKernelNodeGetAttribute");
    }
    fail_calls(NULL);
    check_ok(braid_import_create(device, graph, &options, &import));
    check_plays_so(braid_import_get_graph(import));
    braid_import_destroy(import);
    assert_int_equal(cuGraphDestroy(graph), 0);
    finish();
}

// One is the node's, and the others are Braid's own.
static void fail_each_wait(braid_exec *exec)
{
    const long before = standin_calls("cuStreamWaitEvent");
    check_ok(braid_exec_launch(exec, NULL));
    const long num = standin_calls("cuStreamWaitEvent") - before;
    check_ok(braid_exec_wait(exec));
    assert_true(num > 0);
    for (long nth = 1; nth <= num; nth++) {
        fail_calls("cuStreamWaitEvent:%ld=%d", nth, UNKNOWN_ERROR);
        check_fails(braid_exec_launch(exec, NULL), BRAID_DEVICE_ERROR, "cuStreamWaitEvent");
        fail_calls(NULL);
    }
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
}

// A signal, and a wait for it.
static CUexternalSemaphore capture_semaphore(CUstream stream)
{
    const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal = { .params.fence.value = 1 };
    const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait = { .params.fence.value = 1 };
    const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC desc = {
        .type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD,
        .handle.fd = memfd_create("semaphore", MFD_CLOEXEC)
    };
    CUexternalSemaphore semaphore;
    assert_int_equal(ftruncate(desc.handle.fd, sizeof(uint64_t)), 0);
    assert_int_equal(cuImportExternalSemaphore(&semaphore, &desc), 0);
    assert_int_equal(cuSignalExternalSemaphoresAsync(&semaphore, &signal, 1, stream), 0);
    assert_int_equal(cuWaitExternalSemaphoresAsync(&semaphore, &wait, 1, stream), 0);
    return semaphore;
}

// The driver gets rows, events and semaphores when the graph is played.
static void rows_and_events_tell_their_failure(void **state)
{
    (void)state;
    static const char *const functions[] = { "cuMemcpy3DAsync",
                                             "cuMemsetD2D8Async",
                                             "cuMemsetD2D16Async",
                                             "cuMemsetD2D32Async",
                                             "cuStreamIsCapturing",
                                             "cuEventRecordWithFlags",
                                             "cuStreamBatchMemOp_v2",
                                             "cuSignalExternalSemaphoresAsync",
                                             "cuWaitExternalSemaphoresAsync" };
    CUDA_MEMCPY2D rows = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .srcPitch = 64,
                           .dstPitch = 64,
                           .WidthInBytes = 8,
                           .Height = 2 };
    static const char *const readers[] = { "cuGraphBatchMemOpNodeGetParams",
                                           "cuGraphExternalSemaphoresSignalNodeGetParams",
                                           "cuGraphExternalSemaphoresWaitNodeGetParams" };
    const braid_exec_options streams = { .mode = BRAID_MODE_STREAMS };
    braid_import *import;
    CUgraph graph;
    CUevent event;
    set_up(false);
    const CUstream stream = world.streams[0];
    assert_int_equal(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), 0);
    rows.srcDevice = world.buffers[0];
    rows.dstDevice = world.buffers[1];
    assert_int_equal(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED), 0);
    assert_int_equal(cuMemcpy2DAsync_v2(&rows, stream), 0);
    assert_int_equal(cuMemsetD2D8Async(world.buffers[2], 64, 1, 8, 2, stream), 0);
    assert_int_equal(cuMemsetD2D16Async(world.buffers[3], 64, 1, 8, 2, stream), 0);
    assert_int_equal(cuMemsetD2D32Async(world.buffers[4], 64, 1, 8, 2, stream), 0);
    assert_int_equal(cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_EXTERNAL), 0);
    assert_int_equal(cuStreamWaitEvent(stream, event, CU_EVENT_WAIT_EXTERNAL), 0);
    assert_int_equal(cuStreamWriteValue32_v2(stream, world.buffers[5], 1, 0), 0);
    const CUexternalSemaphore semaphore = capture_semaphore(stream);
    assert_int_equal(cuStreamEndCapture(stream, &graph), 0);
    for (int i = 0; i < 3; i++) {
        fail_calls("%s:1=%d", readers[i], UNKNOWN_ERROR);
        check_fails(braid_import_create(device, graph, NULL, &import), BRAID_DEVICE_ERROR,
                    readers[i]);
        fail_calls(NULL);
    }
    check_ok(braid_import_create(device, graph, NULL, &import));
    braid_exec *exec = own_exec(device, braid_import_get_graph(import), &streams);
    for (int i = 0; i < 9; i++) {
        fail_calls("%s:1=%d", functions[i], UNKNOWN_ERROR);
        check_fails(braid_exec_launch(exec, NULL), BRAID_DEVICE_ERROR, functions[i]);
        fail_calls(NULL);
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
    }
    fail_each_wait(exec);
    destroy_now(exec);
    braid_import_destroy(import);
    assert_int_equal(cuGraphDestroy(graph), 0);
    assert_int_equal(cuEventDestroy_v2(event), 0);
    assert_int_equal(cuDestroyExternalSemaphore(semaphore), 0);
    finish();
}

// A later capture may have memory of another kind.
static void kinds_of_memory_tell_their_failure(void **state)
{
    (void)state;
    braid_import *import;
    CUgraph graph;
    set_up(true);
    assert_int_equal(cuStreamBeginCapture_v2(world.streams[0], CU_STREAM_CAPTURE_MODE_RELAXED), 0);
    assert_int_equal(cuMemsetD32Async(world.buffers[0], 1, 1, world.streams[0]), 0);
    assert_int_equal(cuStreamEndCapture(world.streams[0], &graph), 0);
    for (int nth = 1; nth <= 2; nth++) {
        fail_calls("cuPointerGetAttribute:%d=%d", nth, UNKNOWN_ERROR);
        check_fails(braid_import_create(device, graph, &options, &import), BRAID_DEVICE_ERROR,
                    "asking for the kind of a captured node's memory");
    }
    fail_calls(NULL);
    assert_int_equal(cuGraphDestroy(graph), 0);
    finish();
}

static long num_mappings(void)
{
    return standin_calls("cuMemRetainAllocationHandle") - standin_calls("cuMemRelease");
}

static void a_handle_of_a_mapping_is_given_back(void **state)
{
    (void)state;
    static const char *const functions[] = { "cuMemRetainAllocationHandle", "cuMemRelease" };
    braid_import *import;
    set_up(false);
    assert_true(standin_configure("BRAID_STANDIN_PIECES", "65536"));
    for (int i = 0; i < 2; i++) {
        fail_calls("%s:1=%d", functions[i], UNKNOWN_ERROR);
        check_fails(braid_import_create(device, world.graph, &options, &import), BRAID_DEVICE_ERROR,
                    functions[i]);
        fail_calls(NULL);
    }
    const long num_held = num_mappings();
    check_ok(braid_import_create(device, world.graph, &options, &import));
    assert_int_equal(num_mappings(), num_held);
    braid_import_destroy(import);
    assert_true(standin_configure("BRAID_STANDIN_PIECES", NULL));
    finish();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        standin_test(one_call_fails),
        standin_test(one_call_fails_for_memory),
        standin_test(one_call_fails_while_nobody_watches),
        standin_test(all_later_calls_fail),
        standin_test(a_cooperative_kernel_stays_so),
        standin_test(kinds_of_memory_tell_their_failure),
        standin_test(a_handle_of_a_mapping_is_given_back),
        standin_test(rows_and_events_tell_their_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
