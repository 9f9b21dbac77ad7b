// SPDX-License-Identifier: Apache-2.0
// Nodes of a graph allocate and free memory: its address is fixed, and it is there in between
// alone.
#include "driver.h"

static CUDA_MEM_ALLOC_NODE_PARAMS words_on(CUdevice device_number, size_t count)
{
    return (CUDA_MEM_ALLOC_NODE_PARAMS){
        .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                       .location = { CU_MEM_LOCATION_TYPE_DEVICE, device_number } },
        .bytesize = count * sizeof(unsigned),
    };
}

static CUgraph make_graph(void)
{
    CUgraph graph = NULL;
    must(cuGraphCreate(&graph, 0));
    return graph;
}

static CUgraphExec instantiate(CUgraph graph, unsigned long long flags)
{
    CUgraphExec exec = NULL;
    must(cuGraphInstantiateWithFlags(&exec, graph, flags));
    return exec;
}

static void recover(void)
{
    standin_forget_faults();
}

// A word is allocated and filled with 5, and stays.
static CUdeviceptr add_filled_word(CUgraph graph, CUgraphNode *out_last)
{
    CUgraphNode node;
    CUDA_MEM_ALLOC_NODE_PARAMS params = words_on(0, 1);
    must(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params));
    const CUDA_MEMSET_NODE_PARAMS fill = { params.dptr, 0, 5, 4, 1, 1 };
    must(cuGraphAddMemsetNode(out_last, graph, &node, 1, &fill, NULL));
    return params.dptr;
}

static void capture_scratch(CUstream stream, unsigned value, CUdeviceptr to, CUdeviceptr *out_at)
{
    must(cuMemAllocAsync(out_at, 4, stream));
    must(cuMemsetD32Async(*out_at, value, 1, stream));
    must(cuMemcpyDtoDAsync_v2(to, *out_at, 4, stream));
    must(cuMemFreeAsync(*out_at, stream));
}

static void captured_allocations_become_nodes(void **state)
{
    (void)state;
    const CUgraphNodeType types[] = { CU_GRAPH_NODE_TYPE_MEM_ALLOC, CU_GRAPH_NODE_TYPE_MEMSET,
                                      CU_GRAPH_NODE_TYPE_MEMCPY, CU_GRAPH_NODE_TYPE_MEM_FREE };
    unsigned *memory = make_memory(2);
    CUstream stream = make_stream();
    CUgraph graph;
    CUgraphNode nodes[8];
    CUdeviceptr first, second, told = 0;
    CUDA_MEM_ALLOC_NODE_PARAMS params;
    size_t count = 8;
    must(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    capture_scratch(stream, 1, device(memory), &first);
    capture_scratch(stream, 2, device(memory + 1), &second);
    must(cuStreamEndCapture(stream, &graph));
    assert_int_equal(second, first); // freed before, in order: the address is used again
    must(cuGraphGetNodes(graph, nodes, &count));
    assert_int_equal(count, 8);
    for (int i = 0; i < 8; i++) {
        CUgraphNodeType type;
        must(cuGraphNodeGetType(nodes[i], &type));
        assert_int_equal(type, types[i % 4]);
    }
    must(cuGraphMemAllocNodeGetParams(nodes[4], &params));
    assert_int_equal(params.bytesize, 4);
    assert_int_equal(params.dptr, first);
    assert_int_equal(params.poolProps.allocType, CU_MEM_ALLOCATION_TYPE_PINNED);
    assert_int_equal(params.poolProps.location.type, CU_MEM_LOCATION_TYPE_DEVICE);
    must(cuGraphMemFreeNodeGetParams(nodes[3], &told));
    assert_int_equal(told, first);
    must_be(cuGraphMemAllocNodeGetParams(nodes[3], &params), CUDA_ERROR_INVALID_VALUE);
    must_be(cuGraphMemFreeNodeGetParams(nodes[4], &told), CUDA_ERROR_INVALID_VALUE);
    CUgraphExec exec = instantiate(graph, 0);
    for (int i = 0; i < 3; i++) {
        must(cuMemsetD32_v2(device(memory), 0, 2));
        must(cuGraphLaunch(exec, stream));
        must(cuStreamSynchronize(stream));
        assert_int_equal(memory[0], 1);
        assert_int_equal(memory[1], 2);
    }
    must(cuGraphDestroy(graph));
    must(cuGraphLaunch(exec, stream)); // the executable graph keeps the memory
    must(cuStreamSynchronize(stream));
    must(cuGraphExecDestroy(exec));
    must(cuStreamDestroy_v2(stream));
    free_memory(memory);
}

static void allocations_side_by_side_have_memory_of_their_own(void **state)
{
    (void)state;
    CUgraph graph = make_graph();
    CUgraphNode a, b, after_a, after_b, free_a;
    CUDA_MEM_ALLOC_NODE_PARAMS params = words_on(0, 4), other = params, third = params;
    must(cuGraphAddMemAllocNode(&a, graph, NULL, 0, &params));
    must(cuGraphAddMemFreeNode(&free_a, graph, &a, 1, params.dptr));
    must(cuGraphAddMemAllocNode(&b, graph, NULL, 0, &other)); // not behind the free
    assert_true(other.dptr != params.dptr);
    must(cuGraphAddEmptyNode(&after_a, graph, &free_a, 1));
    third.bytesize = 8;
    must(cuGraphAddMemAllocNode(&after_b, graph, &after_a, 1, &third)); // has another size
    assert_true(third.dptr != params.dptr);
    must(cuGraphAddMemAllocNode(&after_b, graph, &after_a, 1, &third));
    must(cuGraphDestroy(graph));
    assert_int_equal(standin_live("memory"), 0);
}

static void memory_can_be_used_between_its_nodes_alone(void **state)
{
    (void)state;
    struct words words = load_words();
    unsigned *memory = make_memory(1);
    CUgraph graph = make_graph();
    CUgraphNode node, filled;
    CUdeviceptr own = add_filled_word(graph, &filled);
    must(cuGraphAddMemFreeNode(&node, graph, &filled, 1, own));
    CUgraphExec exec = instantiate(graph, 0);
    long before = standin_bad_accesses();
    launch_copy_word(&words, memory, (unsigned *)(uintptr_t)own, NULL);
    must_be(cuStreamSynchronize(NULL), CUDA_ERROR_ILLEGAL_ADDRESS); // no launch yet
    recover();
    must(cuGraphLaunch(exec, NULL));
    must(cuStreamSynchronize(NULL));
    must(cuMemcpyDtoDAsync_v2(device(memory), own, 4, NULL));
    must_be(cuStreamSynchronize(NULL), CUDA_ERROR_ILLEGAL_ADDRESS); // freed by the launch
    assert_int_equal(standin_bad_accesses(), before + 2);
    recover();
    must_be(cuMemFree_v2(own), CUDA_ERROR_INVALID_VALUE);
    must_be(cuMemFreeAsync(own, NULL), CUDA_ERROR_INVALID_VALUE);
    must(cuGraphExecDestroy(exec));
    must(cuGraphDestroy(graph));
    free_memory(memory);
    must(cuModuleUnload(words.module));
}

#if defined(__SANITIZE_ADDRESS__)
#define STOPS_BAD_ACCESSES 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define STOPS_BAD_ACCESSES 1
#endif
#endif

// A kernel may find the address in a struct, where the driver's double does not look.
static void a_late_write_is_found_at_the_next_launch(void **state)
{
    (void)state;
#ifdef STOPS_BAD_ACCESSES
    print_message("SKIP: AddressSanitizer stops at the write itself\n");
    skip();
#endif
    CUgraph graph = make_graph();
    CUgraphNode node, filled;
    CUdeviceptr own = add_filled_word(graph, &filled);
    must(cuGraphAddMemFreeNode(&node, graph, &filled, 1, own));
    CUgraphExec exec = instantiate(graph, 0);
    must(cuGraphLaunch(exec, NULL));
    must(cuStreamSynchronize(NULL));
    *(unsigned *)(uintptr_t)own = 1;
    must(cuGraphLaunch(exec, NULL));
    must_be(cuStreamSynchronize(NULL), CUDA_ERROR_ILLEGAL_ADDRESS);
    recover();
    must(cuGraphLaunch(exec, NULL)); // which has memory as fresh as the first
    must(cuStreamSynchronize(NULL));
    must(cuGraphExecDestroy(exec));
    must(cuGraphDestroy(graph));
}

static void a_free_without_order_is_caught(void **state)
{
    (void)state;
    CUgraph graph = make_graph();
    CUgraphNode node, filled;
    CUdeviceptr own = add_filled_word(graph, &filled);
    int faults = 0;
    must(cuGraphAddMemFreeNode(&node, graph, NULL, 0, own)); // nothing orders it
    CUgraphExec exec = instantiate(graph, 0);
    for (int i = 0; i < 20; i++) {
        must(cuGraphLaunch(exec, NULL));
        faults += cuStreamSynchronize(NULL) == CUDA_ERROR_ILLEGAL_ADDRESS;
        recover();
    }
    assert_true(faults > 0);
    must(cuGraphExecDestroy(exec));
    must(cuGraphDestroy(graph));
    assert_int_equal(standin_live("memory"), 0);
}

static void what_a_launch_leaves_allocated_is_freed_outside(void **state)
{
    (void)state;
    unsigned word = 0;
    CUgraph graph = make_graph();
    CUgraphNode filled;
    CUdeviceptr own = add_filled_word(graph, &filled);
    CUgraphExec exec = instantiate(graph, 0);
    must_be(cuMemFreeAsync(own, NULL), CUDA_ERROR_INVALID_VALUE); // no launch has allocated it
    must(cuGraphLaunch(exec, NULL));
    must_be(cuGraphLaunch(exec, NULL), CUDA_ERROR_INVALID_VALUE);
    must(cuMemcpyDtoH_v2(&word, own, 4));
    assert_int_equal(word, 5);
    must(cuMemFreeAsync(own, NULL));
    must(cuGraphLaunch(exec, NULL));
    must(cuMemFree_v2(own));
    must_be(cuMemFree_v2(own), CUDA_ERROR_INVALID_VALUE);
    must(cuGraphLaunch(exec, NULL));
    must(cuGraphExecDestroy(exec));
    must(cuGraphDestroy(graph));
    must(cuMemcpyDtoH_v2(&word, own, 4)); // it outlives its graph
    must(cuMemFree_v2(own));
    assert_int_equal(standin_live("memory"), 0);
}

static void launches_may_free_what_is_left(void **state)
{
    (void)state;
    unsigned *memory = make_memory(1);
    CUgraph graph = make_graph();
    CUgraphNode alloc, copied, filled;
    CUDA_MEM_ALLOC_NODE_PARAMS params = words_on(0, 1);
    must(cuGraphAddMemAllocNode(&alloc, graph, NULL, 0, &params));
    CUdeviceptr own = params.dptr;
    const CUDA_MEMCPY3D copy = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                 .srcDevice = own,
                                 .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                 .dstDevice = device(memory),
                                 .WidthInBytes = 4,
                                 .Height = 1,
                                 .Depth = 1 };
    const CUDA_MEMSET_NODE_PARAMS fill = { own, 0, 5, 4, 1, 1 };
    must(cuGraphAddMemcpyNode(&copied, graph, &alloc, 1, &copy, NULL));
    must(cuGraphAddMemsetNode(&filled, graph, &copied, 1, &fill, NULL));
    CUgraphExec exec = instantiate(graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
    for (int i = 0; i < 3; i++) {
        must(cuGraphLaunch(exec, NULL));
        must(cuStreamSynchronize(NULL));
        assert_int_equal(memory[0], 0xCDCDCDCD); // each launch has fresh memory
    }
    must(cuMemFreeAsync(own, NULL));
    must(cuGraphLaunch(exec, NULL));
    must(cuMemFreeAsync(own, NULL));
    must(cuStreamSynchronize(NULL));
    must(cuGraphExecDestroy(exec));
    must(cuGraphDestroy(graph));
    free_memory(memory);
    assert_int_equal(standin_live("memory"), 0);
}

static void another_graph_may_free_it(void **state)
{
    (void)state;
    CUgraph graph = make_graph(), other = make_graph();
    CUgraphNode filled, node;
    CUdeviceptr own = add_filled_word(graph, &filled);
    must(cuGraphAddMemFreeNode(&node, other, NULL, 0, own));
    must_be(cuGraphAddMemFreeNode(&node, other, &node, 1, own), CUDA_ERROR_INVALID_VALUE);
    must_be(cuGraphAddMemFreeNode(&node, graph, &filled, 1, own), CUDA_ERROR_INVALID_VALUE);
    CUgraphExec exec = instantiate(graph, 0), freeing = instantiate(other, 0);
    must_be(cuGraphLaunch(freeing, NULL), CUDA_ERROR_INVALID_VALUE); // nothing is allocated
    for (int i = 0; i < 2; i++) {
        must(cuGraphLaunch(exec, NULL));
        must(cuGraphLaunch(freeing, NULL));
    }
    must(cuStreamSynchronize(NULL));
    must(cuGraphExecDestroy(freeing));
    must(cuGraphExecDestroy(exec));
    must(cuGraphDestroy(other));
    must(cuGraphDestroy(graph));
    assert_int_equal(standin_live("memory"), 0);
}

static void such_graphs_are_neither_copied_nor_taken_apart(void **state)
{
    (void)state;
    CUgraph graph = make_graph(), parent = make_graph(), clone;
    CUgraphNode filled, node;
    CUgraphExec exec, second = NULL;
    CUdeviceptr own = add_filled_word(graph, &filled);
    CUgraphNode nodes[2];
    size_t count = 2;
    must(cuGraphGetNodes(graph, nodes, &count));
    must_be(cuGraphClone(&clone, graph), CUDA_ERROR_NOT_SUPPORTED);
    must_be(cuGraphAddChildGraphNode(&node, parent, NULL, 0, graph), CUDA_ERROR_NOT_SUPPORTED);
    must_be(cuGraphDestroyNode(filled), CUDA_ERROR_NOT_SUPPORTED);
    must_be(cuGraphRemoveDependencies(graph, &nodes[0], &nodes[1], 1), CUDA_ERROR_NOT_SUPPORTED);
    exec = instantiate(graph, 0);
    must_be(cuGraphNodeSetEnabled(exec, nodes[0], 0), CUDA_ERROR_INVALID_VALUE);
    must(cuGraphNodeSetEnabled(exec, nodes[1], 0));
    must_be(cuGraphInstantiateWithFlags(&second, graph, 0), CUDA_ERROR_NOT_SUPPORTED);
    must(cuGraphExecDestroy(exec));
    exec = instantiate(graph, 0); // one after the other is fine
    must(cuGraphAddMemFreeNode(&node, graph, &filled, 1, own));
    must_be(cuGraphAddMemFreeNode(&node, graph, &filled, 1, own), CUDA_ERROR_INVALID_VALUE);
    must(cuGraphExecDestroy(exec));
    must(cuGraphDestroy(parent));
    must(cuGraphDestroy(graph));
}

static void wrong_descriptions_are_refused(void **state)
{
    (void)state;
    CUgraph graph = make_graph(), parent = make_graph(), child;
    CUgraphNode node;
    CUDA_MEM_ALLOC_NODE_PARAMS params = words_on(0, 0), shared = words_on(0, 1);
    unsigned *plain = make_memory(1);
    CUstream stream = make_stream();
    CUdeviceptr memory;
    must_be(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params), CUDA_ERROR_INVALID_VALUE);
    params = words_on(7, 1); // there is no such device
    must_be(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params), CUDA_ERROR_INVALID_VALUE);
    shared.poolProps.handleTypes = 1;
    must_be(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &shared), CUDA_ERROR_NOT_SUPPORTED);
    must_be(cuGraphAddMemFreeNode(&node, graph, NULL, 0, device(plain)), CUDA_ERROR_INVALID_VALUE);
    must_be(cuGraphAddMemFreeNode(&node, graph, NULL, 0, 0), CUDA_ERROR_INVALID_VALUE);
    must(cuGraphAddChildGraphNode(&node, parent, NULL, 0, graph));
    must(cuGraphChildGraphNodeGetGraph(node, &child));
    params = words_on(0, 1);
    must_be(cuGraphAddMemAllocNode(&node, child, NULL, 0, &params), CUDA_ERROR_NOT_SUPPORTED);
    must(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    must_be(cuMemFreeAsync(device(plain), stream), CUDA_ERROR_INVALID_VALUE);
    must_be(cuStreamSynchronize(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    must_be(cuMemAllocAsync(&memory, 4, stream), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    must_be(cuStreamEndCapture(stream, &child), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    must(cuGraphDestroy(parent));
    must(cuGraphDestroy(graph));
    must(cuStreamDestroy_v2(stream));
    free_memory(plain);
}

static void a_captured_allocation_of_no_bytes_is_nothing(void **state)
{
    (void)state;
    CUstream stream = make_stream();
    CUdeviceptr memory = 77;
    CUgraph graph;
    size_t count = 9;
    must(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    must(cuMemAllocAsync(&memory, 0, stream));
    assert_int_equal(memory, 0);
    must(cuStreamEndCapture(stream, &graph));
    must(cuGraphGetNodes(graph, NULL, &count));
    assert_int_equal(count, 0);
    must(cuGraphDestroy(graph));
    must(cuStreamDestroy_v2(stream));
}

// A capture that ends in an error gives its memory back.
static void a_capture_from_a_pool_can_fail(void **state)
{
    (void)state;
    CUmemoryPool pool;
    CUstream stream = make_stream();
    CUdeviceptr memory;
    CUgraph graph;
    must(cuDeviceGetDefaultMemPool(&pool, 0));
    must(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    must(cuMemAllocFromPoolAsync(&memory, 4, pool, stream));
    assert_int_equal(standin_live("memory"), 1);
    must_be(cuStreamSynchronize(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    must_be(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    assert_int_equal(standin_live("memory"), 0);
    must(cuStreamDestroy_v2(stream));
}

static void a_peer_reaches_it_where_the_node_says_so(void **state)
{
    (void)state;
    CUcontext first, second;
    CUDA_MEM_ALLOC_NODE_PARAMS params;
    const CUmemAccessDesc access = { { CU_MEM_LOCATION_TYPE_DEVICE, 1 },
                                     CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    assert_true(standin_configure("BRAID_STANDIN_DEVICES", "2"));
    must(cuCtxGetCurrent(&first));
    must(cuDevicePrimaryCtxRetain(&second, 1));
    for (size_t num_accesses = 0; num_accesses < 2; num_accesses++) {
        CUgraph graph = make_graph();
        CUgraphNode node, told_node, fill_node;
        params = words_on(0, 1);
        params.accessDescs = &access;
        params.accessDescCount = num_accesses;
        must(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params));
        const CUDA_MEMSET_NODE_PARAMS fill = { params.dptr, 0, 5, 4, 1, 1 };
        must(cuGraphAddMemsetNode(&fill_node, graph, &node, 1, &fill, second));
        must(cuGraphAddMemFreeNode(&told_node, graph, &fill_node, 1, params.dptr));
        must(cuGraphMemAllocNodeGetParams(node, &params));
        assert_int_equal(params.accessDescCount, num_accesses);
        CUgraphExec exec = instantiate(graph, 0);
        must(cuGraphLaunch(exec, NULL));
        must(cuStreamSynchronize(NULL));
        must(cuCtxSetCurrent(second));
        assert_int_equal(cuCtxSynchronize(),
                         num_accesses > 0 ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS);
        recover();
        must(cuCtxSetCurrent(first));
        must(cuGraphExecDestroy(exec));
        must(cuGraphDestroy(graph));
    }
    must(cuDevicePrimaryCtxRelease_v2(1));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_driver, close_driver)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(captured_allocations_become_nodes),
        CASE(allocations_side_by_side_have_memory_of_their_own),
        CASE(memory_can_be_used_between_its_nodes_alone),
        CASE(a_late_write_is_found_at_the_next_launch),
        CASE(a_free_without_order_is_caught),
        CASE(what_a_launch_leaves_allocated_is_freed_outside),
        CASE(launches_may_free_what_is_left),
        CASE(another_graph_may_free_it),
        CASE(such_graphs_are_neither_copied_nor_taken_apart),
        CASE(wrong_descriptions_are_refused),
        CASE(a_captured_allocation_of_no_bytes_is_nothing),
        CASE(a_capture_from_a_pool_can_fail),
        CASE(a_peer_reaches_it_where_the_node_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
