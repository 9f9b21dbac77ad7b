// SPDX-License-Identifier: Apache-2.0
// A capture turns submitted work into a graph; what does not belong into one spoils it.
#include "driver.h"

static void begin(CUstream stream, CUstreamCaptureMode mode)
{
    must(cuStreamBeginCapture_v2(stream, mode));
}

static CUstreamCaptureStatus status_of(CUstream stream)
{
    CUstreamCaptureStatus status;
    must(cuStreamIsCapturing(stream, &status));
    return status;
}

static void a_fork_and_join_becomes_a_diamond(void **state)
{
    (void)state;
    struct words words = load_words();
    unsigned *memory = make_memory(3);
    CUstream a = make_stream(), b = make_stream();
    CUevent fork = make_event(), join = make_event();
    CUgraph graph;
    CUgraphExec exec;
    size_t num_nodes = 0, num_edges = 0;
    begin(a, CU_STREAM_CAPTURE_MODE_GLOBAL);
    launch_add_one(&words, &memory[0], a);
    must(cuEventRecord(fork, a));
    must(cuStreamWaitEvent(b, fork, 0));
    assert_int_equal(status_of(b), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    launch_copy_word(&words, &memory[1], &memory[0], b);
    launch_copy_word(&words, &memory[2], &memory[0], a);
    must(cuEventRecord(join, b));
    must(cuStreamWaitEvent(a, join, 0));
    launch_add_one(&words, &memory[0], a);
    must(cuStreamEndCapture(a, &graph));
    assert_int_equal(status_of(b), CU_STREAM_CAPTURE_STATUS_NONE);
    assert_int_equal(memory[0], 0); // nothing ran yet
    must(cuGraphGetNodes(graph, NULL, &num_nodes));
    must(cuGraphGetEdges(graph, NULL, NULL, &num_edges));
    assert_int_equal(num_nodes, 4);
    assert_int_equal(num_edges, 4);
    must(cuGraphInstantiateWithFlags(&exec, graph, 0));
    must(cuGraphLaunch(exec, a));
    must(cuStreamSynchronize(a));
    assert_int_equal(memory[0], 2);
    assert_int_equal(memory[1], 1);
    assert_int_equal(memory[2], 1);
    must(cuGraphExecDestroy(exec));
    must(cuGraphDestroy(graph));
    must(cuEventDestroy_v2(fork));
    must(cuEventDestroy_v2(join));
    must(cuStreamDestroy_v2(a));
    must(cuStreamDestroy_v2(b));
    free_memory(memory);
    must(cuModuleUnload(words.module));
}

static void work_that_does_not_lead_back_is_refused(void **state)
{
    (void)state;
    struct words words = load_words();
    unsigned *memory = make_memory(1);
    CUstream a = make_stream(), b = make_stream();
    CUevent fork = make_event();
    CUgraph graph;
    begin(a, CU_STREAM_CAPTURE_MODE_RELAXED);
    must(cuEventRecord(fork, a));
    must(cuStreamWaitEvent(b, fork, 0));
    launch_add_one(&words, memory, b);
    must_be(cuStreamEndCapture(b, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    must_be(cuStreamEndCapture(a, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    begin(a, CU_STREAM_CAPTURE_MODE_RELAXED);
    must(cuEventRecord(fork, a));
    must(cuStreamWaitEvent(b, fork, 0));
    launch_add_one(&words, memory, b);
    must_be(cuStreamEndCapture(a, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    assert_null(graph);
    launch_add_one(&words, memory, b); // both streams work again
    must(cuStreamSynchronize(b));
    assert_int_equal(memory[0], 1);
    must(cuEventDestroy_v2(fork));
    must(cuStreamDestroy_v2(a));
    must(cuStreamDestroy_v2(b));
    free_memory(memory);
    must(cuModuleUnload(words.module));
}

static void waiting_for_a_capturing_stream_spoils_it(void **state)
{
    (void)state;
    CUstream a = make_stream(), other = make_stream();
    CUevent outside = make_event(), inside = make_event();
    CUgraph graph;
    begin(a, CU_STREAM_CAPTURE_MODE_RELAXED);
    must_be(cuStreamSynchronize(a), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    assert_int_equal(status_of(a), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    must_be(cuStreamEndCapture(a, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    begin(a, CU_STREAM_CAPTURE_MODE_RELAXED);
    must_be(cuCtxSynchronize(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    must_be(cuStreamEndCapture(a, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    must(cuEventRecord(outside, other));
    begin(a, CU_STREAM_CAPTURE_MODE_RELAXED);
    must_be(cuStreamWaitEvent(a, outside, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    must_be(cuStreamEndCapture(a, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    begin(a, CU_STREAM_CAPTURE_MODE_RELAXED);
    must(cuEventRecord(inside, a));
    must_be(cuEventQuery(inside), CUDA_ERROR_CAPTURED_EVENT);
    must_be(cuStreamEndCapture(a, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    must_be(cuStreamWaitEvent(other, inside, 0), CUDA_ERROR_INVALID_VALUE);
    must_be(cuEventQuery(inside), CUDA_ERROR_INVALID_VALUE);
    begin(a, CU_STREAM_CAPTURE_MODE_RELAXED);
    must_be(cuStreamWaitEvent(a, inside, 0), CUDA_ERROR_INVALID_VALUE);
    must_be(cuStreamEndCapture(a, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    must(cuEventRecord(inside, other)); // recorded anew, it is a plain event again
    must(cuEventSynchronize(inside));
    must(cuEventDestroy_v2(outside));
    must(cuEventDestroy_v2(inside));
    must(cuStreamDestroy_v2(a));
    must(cuStreamDestroy_v2(other));
}

// What the driver refuses to capture, or to do meanwhile; and what it allows.
static void launches_of_graphs_are_not_captured(void **state)
{
    (void)state;
    CUstream a = make_stream();
    unsigned *memory = make_memory(1), word = 0;
    CUgraph graph, captured;
    CUgraphExec exec, second;
    must(cuGraphCreate(&graph, 0));
    must(cuGraphInstantiateWithFlags(&exec, graph, 0));
    begin(a, CU_STREAM_CAPTURE_MODE_RELAXED);
    must_be(cuGraphLaunch(exec, a), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    must_be(cuStreamEndCapture(a, &captured), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    begin(a, CU_STREAM_CAPTURE_MODE_GLOBAL);
    must_be(cuGraphInstantiateWithFlags(&second, graph, 0), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    must_be(cuStreamEndCapture(a, &captured), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    begin(a, CU_STREAM_CAPTURE_MODE_GLOBAL);
    must(cuMemcpyDtoH_v2(&word, device(memory), sizeof(word))); // by the null stream
    must(cuStreamEndCapture(a, &captured));
    must(cuGraphDestroy(captured));
    must(cuGraphExecDestroy(exec));
    must(cuGraphDestroy(graph));
    must(cuStreamDestroy_v2(a));
    free_memory(memory);
}

static void unsafe_calls_depend_on_the_mode(void **state)
{
    (void)state;
    CUstream a = make_stream();
    CUdeviceptr memory;
    CUgraph graph;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    begin(a, CU_STREAM_CAPTURE_MODE_GLOBAL);
    must_be(cuMemAlloc_v2(&memory, 16), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    must_be(cuStreamEndCapture(a, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    begin(a, CU_STREAM_CAPTURE_MODE_RELAXED);
    must(cuMemAlloc_v2(&memory, 16));
    must(cuStreamEndCapture(a, &graph));
    must(cuGraphDestroy(graph));
    begin(a, CU_STREAM_CAPTURE_MODE_GLOBAL);
    must(cuThreadExchangeStreamCaptureMode(&mode));
    must(cuMemFree_v2(memory));
    must(cuThreadExchangeStreamCaptureMode(&mode));
    must(cuStreamEndCapture(a, &graph));
    must(cuGraphDestroy(graph));
    must(cuStreamDestroy_v2(a));
}

static void peer_copies_are_not_captured(void **state)
{
    (void)state;
    CUstream a = make_stream();
    unsigned *memory = make_memory(2);
    CUcontext context;
    CUgraph graph;
    must(cuCtxGetCurrent(&context));
    must(cuMemcpyPeerAsync(device(memory), context, device(memory + 1), context, 4, a));
    begin(a, CU_STREAM_CAPTURE_MODE_RELAXED);
    must_be(cuMemcpyPeerAsync(device(memory), context, device(memory + 1), context, 4, a),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    must_be(cuStreamEndCapture(a, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    must(cuStreamSynchronize(a));
    must(cuStreamDestroy_v2(a));
    free_memory(memory);
}

static void the_null_stream_cannot_stand_beside_a_blocking_capture(void **state)
{
    (void)state;
    CUstream blocking, free_one = make_stream();
    unsigned *memory = make_memory(1);
    CUgraph graph;
    must(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    must_be(cuStreamBeginCapture_v2(NULL, CU_STREAM_CAPTURE_MODE_RELAXED),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    begin(blocking, CU_STREAM_CAPTURE_MODE_RELAXED);
    CUstreamCaptureStatus status;
    must_be(cuStreamIsCapturing(NULL, &status), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    assert_int_equal(status_of(blocking), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    must_be(cuMemsetD32Async(device(memory), 1, 1, NULL), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    must_be(cuStreamEndCapture(blocking, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    begin(free_one, CU_STREAM_CAPTURE_MODE_RELAXED);
    must(cuMemsetD32Async(device(memory), 1, 1, NULL));
    must(cuStreamEndCapture(free_one, &graph));
    must(cuGraphDestroy(graph));
    must(cuStreamDestroy_v2(blocking));
    must(cuStreamDestroy_v2(free_one));
    free_memory(memory);
}

static void a_capture_can_go_on_in_a_graph(void **state)
{
    (void)state;
    struct words words = load_words();
    unsigned *memory = make_memory(1);
    CUstream a = make_stream();
    CUgraph graph, ended;
    CUgraphNode root, before[2];
    CUstreamCaptureStatus status;
    const CUgraphNode *after;
    cuuint64_t id = 0;
    size_t count = 0;
    must(cuGraphCreate(&graph, 0));
    must(cuGraphAddEmptyNode(&root, graph, NULL, 0));
    must(cuStreamBeginCaptureToGraph(a, graph, &root, NULL, 1, CU_STREAM_CAPTURE_MODE_RELAXED));
    launch_add_one(&words, memory, a);
    must(cuStreamGetCaptureInfo_v2(a, &status, &id, &ended, &after, &count));
    assert_int_equal(count, 1);
    assert_true(id > 0);
    assert_ptr_equal(ended, graph);
    CUgraphNode add = after[0];
    count = 2;
    must(cuGraphNodeGetDependencies(add, before, &count));
    assert_int_equal(count, 1);
    assert_ptr_equal(before[0], root);
    must(cuStreamUpdateCaptureDependencies(a, &root, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
    must(
        cuStreamUpdateCaptureDependencies_v2(a, &add, NULL, 1, CU_STREAM_ADD_CAPTURE_DEPENDENCIES));
    must(cuStreamGetCaptureInfo_v3(a, &status, NULL, NULL, NULL, NULL, &count));
    assert_int_equal(count, 2);
    must(cuStreamEndCapture(a, &ended));
    assert_ptr_equal(ended, graph);
    must(cuGraphDestroy(graph));
    must(cuStreamDestroy_v2(a));
    free_memory(memory);
    must(cuModuleUnload(words.module));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fork_and_join_becomes_a_diamond),
        cmocka_unit_test(work_that_does_not_lead_back_is_refused),
        cmocka_unit_test(waiting_for_a_capturing_stream_spoils_it),
        cmocka_unit_test(launches_of_graphs_are_not_captured),
        cmocka_unit_test(unsafe_calls_depend_on_the_mode),
        cmocka_unit_test(peer_copies_are_not_captured),
        cmocka_unit_test(the_null_stream_cannot_stand_beside_a_blocking_capture),
        cmocka_unit_test(a_capture_can_go_on_in_a_graph),
    };
    return cmocka_run_group_tests(tests, open_driver, close_driver);
}
