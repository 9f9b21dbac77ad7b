// SPDX-License-Identifier: Apache-2.0
// Memory that was freed, is not there yet, ends too early or is too much: each is caught.
#include "driver.h"

// As if a new process went on.
static void recover(void)
{
    standin_forget_faults();
    must(cuCtxSynchronize());
}

static void ranges_are_checked(void **state)
{
    (void)state;
    unsigned *memory = make_memory(4), host[4] = { 0 };
    must_be(cuMemcpyDtoH_v2(host, device(memory), 17), CUDA_ERROR_INVALID_VALUE);
    must_be(cuMemsetD32_v2(device(memory + 3), 0, 2), CUDA_ERROR_INVALID_VALUE);
    must_be(cuMemcpyHtoD_v2(device(host), memory, 4),
            CUDA_ERROR_INVALID_VALUE); // not device memory
    must_be(cuMemsetD8_v2(device(host), 0, 1), CUDA_ERROR_INVALID_VALUE);
    must_be(cuMemFree_v2(device(memory + 1)), CUDA_ERROR_INVALID_VALUE);
    must(cuMemcpyDtoH_v2(host, device(memory), 16));
    free_memory(memory);
    must_be(cuMemFree_v2(device(memory)), CUDA_ERROR_INVALID_VALUE);
}

static void using_freed_memory_poisons_the_context(void **state)
{
    (void)state;
    struct words words = load_words();
    unsigned *memory = make_memory(4), *other = make_memory(1);
    CUstream stream = make_stream();
    long before = standin_bad_accesses();
    free_memory(memory);
    must(cuMemsetD32Async(device(memory), 0, 4, stream)); // found out when it runs
    must_be(cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
    must_be(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS); // and it sticks
    CUstream none;
    must_be(cuStreamCreate(&none, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(standin_bad_accesses(), before + 1);
    recover();
    launch_copy_word(&words, other, memory, NULL);
    must_be(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(standin_bad_accesses(), before + 2);
    recover();
    must(cuStreamDestroy_v2(stream));
    free_memory(other);
    must(cuModuleUnload(words.module));
}

static void a_graph_that_outlives_its_memory_is_caught(void **state)
{
    (void)state;
    unsigned *memory = make_memory(1);
    CUcontext context;
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;
    const CUDA_MEMSET_NODE_PARAMS fill = { device(memory), 0, 1, 4, 1, 1 };
    must(cuCtxGetCurrent(&context));
    must(cuGraphCreate(&graph, 0));
    must(cuGraphAddMemsetNode(&node, graph, NULL, 0, &fill, context));
    must(cuGraphInstantiateWithFlags(&exec, graph, 0));
    free_memory(memory);
    must(cuGraphLaunch(exec, NULL));
    must_be(cuStreamSynchronize(NULL), CUDA_ERROR_ILLEGAL_ADDRESS);
    recover();
    must(cuGraphExecDestroy(exec));
    must(cuGraphDestroy(graph));
}

static void memory_in_stream_order_lives_from_its_allocation_to_its_free(void **state)
{
    (void)state;
    struct gate gate;
    CUdeviceptr memory;
    unsigned word = 0;
    CUstream a = make_stream(), b = make_stream();
    must(cuMemAllocAsync(&memory, 4, a));
    must(cuMemsetD32Async(memory, 5, 1, a));
    must(cuMemcpyDtoHAsync_v2(&word, memory, 4, a));
    must(cuMemFreeAsync(memory, a));
    must_be(cuMemFreeAsync(memory, a), CUDA_ERROR_INVALID_VALUE);
    must(cuStreamSynchronize(a));
    assert_int_equal(word, 5);
    close_gate(&gate, a); // the allocation is behind it, the other stream is not
    must(cuMemAllocAsync(&memory, 4, a));
    must(cuMemsetD32Async(memory, 5, 1, b));
    must_be(cuStreamSynchronize(b), CUDA_ERROR_ILLEGAL_ADDRESS);
    open_gate(&gate);
    recover();
    must(cuMemFreeAsync(memory, a));
    must(cuStreamSynchronize(a));
    must(cuStreamDestroy_v2(a));
    must(cuStreamDestroy_v2(b));
}

static void a_device_has_only_so_much(void **state)
{
    (void)state;
    CUdeviceptr first, second;
    size_t left, total;
    assert_true(standin_configure("BRAID_STANDIN_MEMORY", "1000"));
    must(cuMemAlloc_v2(&first, 600));
    must(cuMemGetInfo_v2(&left, &total));
    assert_int_equal(left, 400);
    assert_int_equal(total, 1000);
    must_be(cuMemAlloc_v2(&second, 401), CUDA_ERROR_OUT_OF_MEMORY);
    must_be(cuMemAllocAsync(&second, 401, NULL), CUDA_ERROR_OUT_OF_MEMORY);
    must(cuMemAlloc_v2(&second, 400));
    must(cuMemFree_v2(first));
    must(cuMemFree_v2(second));
    must(cuMemGetInfo_v2(&left, NULL));
    assert_int_equal(left, 1000);
    must_be(cuMemAlloc_v2(&first, 0), CUDA_ERROR_INVALID_VALUE);
}

static void fresh_memory_holds_no_zeros(void **state)
{
    (void)state;
    CUdeviceptr memory;
    unsigned char byte = 0;
    must(cuMemAlloc_v2(&memory, 1));
    must(cuMemcpyDtoH_v2(&byte, memory, 1));
    assert_int_equal(byte, 0xCD);
    must(cuMemFree_v2(memory));
}

static void strided_copies_and_fills_keep_to_their_rows(void **state)
{
    (void)state;
    unsigned char *memory = (unsigned char *)make_memory(16);
    unsigned short pattern = 0x1234;
    const CUDA_MEMCPY2D copy = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                 .srcDevice = device(memory),
                                 .srcPitch = 8,
                                 .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                 .dstDevice = device(memory + 32),
                                 .dstPitch = 4,
                                 .WidthInBytes = 2,
                                 .Height = 3 };
    must(cuMemsetD16_v2(device(memory), pattern, 12));
    must(cuMemcpy2D_v2(&copy));
    for (int row = 0; row < 3; row++) {
        assert_int_equal(memory[32 + row * 4], 0x34);
        assert_int_equal(memory[32 + row * 4 + 1], 0x12);
        assert_int_equal(memory[32 + row * 4 + 2], 0);
    }
    free_memory(memory);
}

static void host_memory_is_in_the_same_ledger(void **state)
{
    (void)state;
    void *host;
    char mine[64];
    CUdeviceptr seen;
    must(cuMemHostAlloc(&host, 64, 0));
    must(cuMemHostGetDevicePointer_v2(&seen, host, 0));
    assert_int_equal(seen, device(host));
    must_be(cuMemFree_v2(device(host)), CUDA_ERROR_INVALID_VALUE);
    must(cuMemFreeHost(host));
    must_be(cuMemFreeHost(host), CUDA_ERROR_INVALID_VALUE);
    must(cuMemHostRegister_v2(mine, sizeof(mine), 0));
    must_be(cuMemHostRegister_v2(mine, sizeof(mine), 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    must(cuMemHostUnregister(mine));
    must_be(cuMemHostUnregister(mine), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

// Two devices, the second one current, with a word of the first's memory.
struct pair {
    CUcontext first, second;
    unsigned *there, *here;
};

static struct pair open_pair(void)
{
    struct pair pair;
    assert_true(standin_configure("BRAID_STANDIN_DEVICES", "2"));
    must(cuCtxGetCurrent(&pair.first));
    pair.there = make_memory(1);
    must(cuDevicePrimaryCtxRetain(&pair.second, 1));
    must(cuCtxSetCurrent(pair.second));
    pair.here = make_memory(1);
    return pair;
}

static void close_pair(struct pair *pair)
{
    free_memory(pair->here);
    must(cuCtxSetCurrent(pair->first));
    free_memory(pair->there);
    must(cuDevicePrimaryCtxRelease_v2(1));
}

static void kernels_reach_another_device_with_peer_access_alone(void **state)
{
    (void)state;
    struct pair pair = open_pair();
    struct words words = load_words();
    long before = standin_bad_accesses();
    launch_copy_word(&words, pair.here, pair.there, NULL);
    must_be(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(standin_bad_accesses(), before + 1);
    recover();
    must(cuCtxEnablePeerAccess(pair.first, 0));
    must_be(cuCtxEnablePeerAccess(pair.first, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    launch_copy_word(&words, pair.here, pair.there, NULL);
    must(cuCtxSynchronize());
    must(cuModuleUnload(words.module));
    close_pair(&pair);
}

static void copies_between_devices_are_staged_on_streams_alone(void **state)
{
    (void)state;
    struct pair pair = open_pair();
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;
    int can = 9;
    const CUDA_MEMCPY3D copy = { .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                                 .srcDevice = device(pair.there),
                                 .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                                 .dstDevice = device(pair.here),
                                 .WidthInBytes = 4,
                                 .Height = 1,
                                 .Depth = 1 };
    assert_true(standin_configure("BRAID_STANDIN_PEERS", "0"));
    must(cuDeviceCanAccessPeer(&can, 1, 0));
    assert_int_equal(can, 0);
    must_be(cuCtxEnablePeerAccess(pair.first, 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    must(cuMemcpyPeerAsync(device(pair.here), pair.second, device(pair.there), pair.first, 4, 0));
    must_be(cuMemcpyPeerAsync(device(pair.here), pair.first, device(pair.there), pair.first, 4, 0),
            CUDA_ERROR_INVALID_VALUE);
    must(cuMemcpyAsync(device(pair.here), device(pair.there), 4, NULL));
    must(cuStreamSynchronize(NULL));
    must(cuGraphCreate(&graph, 0));
    must(cuGraphAddMemcpyNode(&node, graph, NULL, 0, &copy, pair.second));
    must(cuGraphInstantiateWithFlags(&exec, graph, 0));
    must(cuGraphLaunch(exec, NULL));
    must_be(cuStreamSynchronize(NULL), CUDA_ERROR_ILLEGAL_ADDRESS);
    recover();
    must(cuGraphExecDestroy(exec));
    must(cuGraphDestroy(graph));
    close_pair(&pair);
}

static void a_stream_takes_kernels_of_the_current_context_alone(void **state)
{
    (void)state;
    struct pair pair = open_pair();
    struct words words = load_words();
    CUstream stream = make_stream();
    unsigned *word = pair.here;
    void *args[] = { &word };
    must(cuCtxSetCurrent(pair.first));
    must_be(cuLaunchKernel(words.add_one, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL),
            CUDA_ERROR_INVALID_HANDLE);
    must(cuCtxSetCurrent(pair.second));
    must(cuLaunchKernel(words.add_one, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL));
    must(cuStreamSynchronize(stream));
    must(cuStreamDestroy_v2(stream));
    must(cuModuleUnload(words.module));
    close_pair(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ranges_are_checked, open_driver, close_driver),
        cmocka_unit_test_setup_teardown(using_freed_memory_poisons_the_context, open_driver,
                                        close_driver),
        cmocka_unit_test_setup_teardown(a_graph_that_outlives_its_memory_is_caught, open_driver,
                                        close_driver),
        cmocka_unit_test_setup_teardown(
            memory_in_stream_order_lives_from_its_allocation_to_its_free, open_driver,
            close_driver),
        cmocka_unit_test_setup_teardown(a_device_has_only_so_much, open_driver, close_driver),
        cmocka_unit_test_setup_teardown(fresh_memory_holds_no_zeros, open_driver, close_driver),
        cmocka_unit_test_setup_teardown(strided_copies_and_fills_keep_to_their_rows, open_driver,
                                        close_driver),
        cmocka_unit_test_setup_teardown(host_memory_is_in_the_same_ledger, open_driver,
                                        close_driver),
        cmocka_unit_test_setup_teardown(kernels_reach_another_device_with_peer_access_alone,
                                        open_driver, close_driver),
        cmocka_unit_test_setup_teardown(copies_between_devices_are_staged_on_streams_alone,
                                        open_driver, close_driver),
        cmocka_unit_test_setup_teardown(a_stream_takes_kernels_of_the_current_context_alone,
                                        open_driver, close_driver),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
