// SPDX-License-Identifier: Apache-2.0
// A reader of a graph gets back what its copies, fills, calls, events, values and semaphores were
// made from.
#include <sys/mman.h>
#include <unistd.h>

#include "driver.h"

static CUDA_MEMCPY3D tiles(unsigned char *to, unsigned char *from)
{
    return (CUDA_MEMCPY3D){ .srcXInBytes = 1,
                            .srcMemoryType = CU_MEMORYTYPE_HOST,
                            .srcHost = from,
                            .srcPitch = 4,
                            .srcHeight = 3,
                            .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                            .dstDevice = device(to),
                            .dstPitch = 8,
                            .dstHeight = 2,
                            .WidthInBytes = 3,
                            .Height = 2,
                            .Depth = 2 };
}

static void run_graph(CUgraph graph)
{
    CUgraphExec exec;
    must(cuGraphInstantiateWithFlags(&exec, graph, 0));
    must(cuGraphLaunch(exec, NULL));
    must(cuStreamSynchronize(NULL));
    must(cuGraphExecDestroy(exec));
}

// What a captured copy tells makes the same copy.
static void copies_tell_their_rows_and_slices(void **state)
{
    (void)state;
    unsigned char from[24], *to = (unsigned char *)make_memory(16);
    CUgraph graph, again;
    CUgraphNode node;
    CUDA_MEMCPY3D told;
    size_t count = 1;
    CUstream stream = make_stream();
    const CUDA_MEMCPY3D copy = tiles(to, from);
    for (unsigned char i = 0; i < sizeof(from); i++)
        from[i] = i;
    must(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    must(cuMemcpy3DAsync_v2(&copy, stream));
    must(cuStreamEndCapture(stream, &graph));
    must(cuGraphGetNodes(graph, &node, &count));
    must(cuGraphMemcpyNodeGetParams(node, &told));
    assert_int_equal(told.srcMemoryType, CU_MEMORYTYPE_HOST);
    assert_int_equal(told.dstMemoryType, CU_MEMORYTYPE_DEVICE);
    assert_ptr_equal(told.srcHost, from + 1);
    must(cuGraphCreate(&again, 0));
    must(cuGraphAddMemcpyNode(&node, again, NULL, 0, &told, NULL));
    for (int round = 0; round < 2; round++) {
        must(cuMemsetD8_v2(device(to), 99, 64));
        run_graph(round == 0 ? graph : again);
        assert_int_equal(to[0], 1);
        assert_int_equal(to[2], 3);
        assert_int_equal(to[3], 99); // between the rows
        assert_int_equal(to[8], 5);
        assert_int_equal(to[16], 13); // the second slice
        assert_int_equal(to[24 + 2], 19);
        assert_int_equal(to[32], 99);
    }
    must_be(cuGraphMemsetNodeGetParams(node, NULL), CUDA_ERROR_INVALID_VALUE);
    must(cuGraphDestroy(again));
    must(cuGraphDestroy(graph));
    must(cuStreamDestroy_v2(stream));
    free_memory(to);
}

static CUgraph capture_all_directions(CUdeviceptr memory, unsigned *host)
{
    CUgraph graph;
    CUstream stream = make_stream();
    must(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    must(cuMemcpyHtoDAsync_v2(memory, host, 4, stream));
    must(cuMemcpyDtoDAsync_v2(memory + 4, memory, 4, stream));
    must(cuMemcpyDtoHAsync_v2(host, memory, 4, stream));
    must(cuMemcpyAsync(memory, memory + 4, 4, stream));
    must(cuStreamEndCapture(stream, &graph));
    must(cuStreamDestroy_v2(stream));
    return graph;
}

static void copies_tell_the_kinds_of_memory(void **state)
{
    (void)state;
    const CUmemorytype types[4][2] = { { CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST },
                                       { CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE },
                                       { CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE },
                                       { CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_UNIFIED } };
    unsigned *memory = make_memory(2), word = 0;
    CUgraphNode nodes[4];
    size_t count = 4;
    CUgraph graph = capture_all_directions(device(memory), &word);
    must(cuGraphGetNodes(graph, nodes, &count));
    for (int i = 0; i < 4; i++) {
        CUDA_MEMCPY3D told;
        must(cuGraphMemcpyNodeGetParams(nodes[i], &told));
        assert_int_equal(told.dstMemoryType, types[i][0]);
        assert_int_equal(told.srcMemoryType, types[i][1]);
        assert_ptr_equal(told.srcHost, i == 0 ? &word : NULL);
        assert_int_equal(told.srcDevice, i == 0 ? 0 : device(memory + (i == 3)));
    }
    must(cuGraphDestroy(graph));
    free_memory(memory);
}

static void note(void *user)
{
    *(int *)user = 1;
}

static void fills_and_host_functions_tell_all(void **state)
{
    (void)state;
    unsigned *memory = make_memory(8);
    int noted = 0;
    CUgraph graph;
    CUgraphNode fill, host;
    CUDA_MEMSET_NODE_PARAMS told_fill;
    CUDA_HOST_NODE_PARAMS told_host;
    const CUDA_MEMSET_NODE_PARAMS params = { device(memory), 16, 0xABCD, 2, 3, 2 };
    const CUDA_HOST_NODE_PARAMS call = { note, &noted };
    must(cuGraphCreate(&graph, 0));
    must(cuGraphAddMemsetNode(&fill, graph, NULL, 0, &params, NULL));
    must(cuGraphAddHostNode(&host, graph, &fill, 1, &call));
    must(cuGraphMemsetNodeGetParams(fill, &told_fill));
    assert_memory_equal(&told_fill, &params, sizeof(params));
    must(cuGraphHostNodeGetParams(host, &told_host));
    assert_true(told_host.fn == note);
    assert_ptr_equal(told_host.userData, &noted);
    must_be(cuGraphMemsetNodeGetParams(host, &told_fill), CUDA_ERROR_INVALID_VALUE);
    must_be(cuGraphHostNodeGetParams(fill, &told_host), CUDA_ERROR_INVALID_VALUE);
    must_be(cuGraphHostNodeGetParams(host, NULL), CUDA_ERROR_INVALID_VALUE);
    must(cuGraphDestroy(graph));
    free_memory(memory);
}

static void captured_fills_keep_to_their_rows(void **state)
{
    (void)state;
    unsigned char *memory = (unsigned char *)make_memory(24);
    CUstream stream = make_stream();
    CUgraph graph;
    CUgraphNode nodes[4];
    CUDA_MEMSET_NODE_PARAMS told;
    size_t count = 4;
    must(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    must(cuMemsetD2D8Async(device(memory), 8, 0x11, 3, 4, stream));
    must(cuMemsetD2D16Async(device(memory + 32), 8, 0x2233, 2, 4, stream));
    must(cuMemsetD2D32Async(device(memory + 64), 8, 0x44556677, 1, 4, stream));
    must(cuMemsetD2D8Async(device(memory), 8, 0x11, 3, 1, stream));
    must(cuStreamEndCapture(stream, &graph));
    must(cuGraphGetNodes(graph, nodes, &count));
    assert_int_equal(count, 4);
    must(cuGraphMemsetNodeGetParams(nodes[3], &told));
    assert_int_equal(told.height, 1);
    assert_int_equal(told.pitch, 8); // a single row has one, too
    must(cuGraphMemsetNodeGetParams(nodes[1], &told));
    assert_int_equal(told.dst, device(memory + 32));
    assert_int_equal(told.pitch, 8);
    assert_int_equal(told.elementSize, 2);
    assert_int_equal(told.width, 2);
    assert_int_equal(told.height, 4);
    run_graph(graph);
    for (int row = 0; row < 4; row++) {
        const unsigned char *at = memory + 8 * row;
        assert_int_equal(at[2], 0x11);
        assert_int_equal(at[3], 0);
        assert_int_equal(at[32 + 2], 0x33);
        assert_int_equal(at[32 + 4], 0);
        assert_int_equal(at[64 + 3], 0x44);
        assert_int_equal(at[64 + 4], 0);
    }
    must(cuMemsetD2D32_v2(device(memory), 8, 0, 2, 12));
    must(cuMemsetD2D8_v2(device(memory), 4, 1, 5, 1)); // one row has no pitch
    assert_int_equal(memory[4], 1);
    must_be(cuMemsetD2D8_v2(device(memory), 4, 1, 5, 2), CUDA_ERROR_INVALID_VALUE);
    must_be(cuMemsetD2D16_v2(device(memory), 7, 1, 2, 2), CUDA_ERROR_INVALID_VALUE);
    must_be(cuMemsetD2D16_v2(device(memory + 1), 8, 1, 2, 2), CUDA_ERROR_INVALID_VALUE);
    must_be(cuMemsetD2D32_v2(device(memory), 48, 1, 2, 3), CUDA_ERROR_INVALID_VALUE); // too far
    must(cuGraphDestroy(graph));
    must(cuStreamDestroy_v2(stream));
    free_memory(memory);
}

static void event_nodes_tell_their_events(void **state)
{
    (void)state;
    CUstream stream = make_stream();
    CUevent first = make_event(), second = make_event(), told = NULL;
    CUgraph graph;
    CUgraphNode nodes[2];
    size_t count = 2;
    must(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    must(cuStreamWaitEvent(stream, first, CU_EVENT_WAIT_EXTERNAL));
    must(cuEventRecordWithFlags(second, stream, CU_EVENT_RECORD_EXTERNAL));
    must(cuStreamEndCapture(stream, &graph));
    must(cuGraphGetNodes(graph, nodes, &count));
    must(cuGraphEventWaitNodeGetEvent(nodes[0], &told));
    assert_ptr_equal(told, first);
    must(cuGraphEventRecordNodeGetEvent(nodes[1], &told));
    assert_ptr_equal(told, second);
    must_be(cuGraphEventRecordNodeGetEvent(nodes[0], &told), CUDA_ERROR_INVALID_VALUE);
    must_be(cuGraphEventWaitNodeGetEvent(nodes[1], &told), CUDA_ERROR_INVALID_VALUE);
    must(cuGraphDestroy(graph));
    must(cuEventDestroy_v2(first));
    must(cuEventDestroy_v2(second));
    must(cuStreamDestroy_v2(stream));
}

static void captured_values_are_told_as_operations(void **state)
{
    (void)state;
    CUstream stream = make_stream();
    unsigned *memory = make_memory(2);
    CUgraph graph, again;
    CUgraphNode nodes[2], node;
    CUDA_BATCH_MEM_OP_NODE_PARAMS told;
    size_t count = 2;
    must(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    must(cuStreamWriteValue32_v2(stream, device(memory), 5, 0));
    must(cuStreamWaitValue32_v2(stream, device(memory), 5, CU_STREAM_WAIT_VALUE_EQ));
    must(cuStreamEndCapture(stream, &graph));
    must(cuGraphGetNodes(graph, nodes, &count));
    must(cuGraphBatchMemOpNodeGetParams(nodes[1], &told));
    assert_int_equal(told.count, 1);
    assert_int_equal(told.paramArray->operation, CU_STREAM_MEM_OP_WAIT_VALUE_32);
    assert_int_equal(told.paramArray->waitValue.flags, CU_STREAM_WAIT_VALUE_EQ);
    must(cuGraphBatchMemOpNodeGetParams(nodes[0], &told));
    assert_int_equal(told.paramArray->operation, CU_STREAM_MEM_OP_WRITE_VALUE_32);
    assert_int_equal(told.paramArray->waitValue.address, device(memory));
    told.paramArray->waitValue.address = device(memory + 1);
    must(cuGraphCreate(&again, 0));
    must(cuGraphAddBatchMemOpNode(&node, again, NULL, 0, &told));
    run_graph(again);
    assert_int_equal(memory[0], 0);
    assert_int_equal(memory[1], 5);
    told.paramArray->operation = 4; // 64 bits
    must_be(cuGraphAddBatchMemOpNode(&node, again, NULL, 0, &told), CUDA_ERROR_NOT_SUPPORTED);
    must_be(cuGraphBatchMemOpNodeGetParams(nodes[0], NULL), CUDA_ERROR_INVALID_VALUE);
    must(cuGraphDestroy(again));
    must(cuGraphDestroy(graph));
    must(cuStreamDestroy_v2(stream));
    free_memory(memory);
}

static void captured_semaphores_are_told(void **state)
{
    (void)state;
    CUstream stream = make_stream();
    const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC desc = {
        .type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD,
        .handle.fd = memfd_create("semaphore", MFD_CLOEXEC)
    };
    const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal = { .params.fence.value = 5 };
    const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait = { .params.fence.value = 6 };
    CUDA_EXT_SEM_SIGNAL_NODE_PARAMS signals;
    CUDA_EXT_SEM_WAIT_NODE_PARAMS waits;
    CUexternalSemaphore semaphore;
    CUgraph graph;
    CUgraphNode nodes[2];
    size_t count = 2;
    assert_int_equal(ftruncate(desc.handle.fd, sizeof(uint64_t)), 0);
    must(cuImportExternalSemaphore(&semaphore, &desc));
    must(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    must(cuSignalExternalSemaphoresAsync(&semaphore, &signal, 1, stream));
    must(cuWaitExternalSemaphoresAsync(&semaphore, &wait, 1, stream));
    must(cuStreamEndCapture(stream, &graph));
    must(cuGraphGetNodes(graph, nodes, &count));
    must(cuGraphExternalSemaphoresSignalNodeGetParams(nodes[0], &signals));
    assert_int_equal(signals.numExtSems, 1);
    assert_ptr_equal(*signals.extSemArray, semaphore);
    assert_int_equal(signals.paramsArray->params.fence.value, 5);
    must(cuGraphExternalSemaphoresWaitNodeGetParams(nodes[1], &waits));
    assert_int_equal(waits.numExtSems, 1);
    assert_ptr_equal(*waits.extSemArray, semaphore);
    assert_int_equal(waits.paramsArray->params.fence.value, 6);
    must_be(cuGraphExternalSemaphoresSignalNodeGetParams(nodes[1], &signals),
            CUDA_ERROR_INVALID_VALUE);
    must_be(cuGraphExternalSemaphoresWaitNodeGetParams(nodes[0], &waits), CUDA_ERROR_INVALID_VALUE);
    must_be(cuGraphExternalSemaphoresWaitNodeGetParams(nodes[1], NULL), CUDA_ERROR_INVALID_VALUE);
    must(cuGraphDestroy(graph));
    must(cuDestroyExternalSemaphore(semaphore));
    must(cuStreamDestroy_v2(stream));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_tell_their_rows_and_slices),
        cmocka_unit_test(copies_tell_the_kinds_of_memory),
        cmocka_unit_test(fills_and_host_functions_tell_all),
        cmocka_unit_test(captured_fills_keep_to_their_rows),
        cmocka_unit_test(event_nodes_tell_their_events),
        cmocka_unit_test(captured_values_are_told_as_operations),
        cmocka_unit_test(captured_semaphores_are_told),
    };
    return cmocka_run_group_tests(tests, open_driver, close_driver);
}
