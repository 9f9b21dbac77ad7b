// SPDX-License-Identifier: Apache-2.0
// Any call and any work item can be made to fail, and what fails leaves nothing half done.
#include <stdio.h>
#include <string.h>

#include "driver.h"

static void the_nth_call_of_a_function_fails(void **state)
{
    (void)state;
    CUdeviceptr memory = 7;
    int count;
    assert_true(standin_configure("BRAID_STANDIN_FAIL", "cuMemAlloc:2=2,cuDeviceGetCount:1+=999"));
    must(cuMemAlloc_v2(&memory, 16));
    must(cuMemFree_v2(memory));
    memory = 7;
    must_be(cuMemAlloc_v2(&memory, 16), CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(memory, 7);
    must_be(cuDeviceGetCount(&count), CUDA_ERROR_UNKNOWN);
    must_be(cuDeviceGetCount(&count), CUDA_ERROR_UNKNOWN);
    must(cuMemAlloc_v2(&memory, 16));
    must(cuMemFree_v2(memory));
    assert_false(standin_configure("BRAID_STANDIN_FAIL", "cuMemAlloc"));
    assert_false(standin_configure("BRAID_STANDIN_FAIL", "cuMemAlloc:x=2"));
    assert_false(standin_configure("BRAID_STANDIN_ASYNC", "=2"));
    assert_false(standin_configure("BRAID_STANDIN_NO_SUCH", "1"));
}

static void calls_are_counted_by_name(void **state)
{
    (void)state;
    int count;
    long before = standin_calls("cuDeviceGetCount"), all = standin_calls("*");
    must(cuDeviceGetCount(&count));
    must(cuDeviceGetCount(&count));
    assert_int_equal(standin_calls("cuDeviceGetCount"), before + 2);
    assert_int_equal(standin_calls("*"), all + 2);
    assert_int_equal(standin_calls("cuNoSuchFunction"), 0);
}

// What a program does, in small: the first error ends it, and it cleans up what it has.
static CUresult small_program(CUdeviceptr *memory, CUstream *stream, CUevent *event, CUgraph *graph,
                              CUgraphExec *exec)
{
    CUgraphNode node;
    CUcontext context;
    CUresult result = cuCtxGetCurrent(&context);
    if (result == CUDA_SUCCESS)
        result = cuMemAlloc_v2(memory, 64);
    if (result == CUDA_SUCCESS)
        result = cuStreamCreate(stream, CU_STREAM_NON_BLOCKING);
    if (result == CUDA_SUCCESS)
        result = cuEventCreate(event, 0);
    if (result == CUDA_SUCCESS)
        result = cuMemsetD32Async(*memory, 1, 16, *stream);
    if (result == CUDA_SUCCESS)
        result = cuEventRecord(*event, *stream);
    if (result == CUDA_SUCCESS)
        result = cuGraphCreate(graph, 0);
    const CUDA_MEMSET_NODE_PARAMS fill = { *memory, 0, 2, 4, 16, 1 };
    if (result == CUDA_SUCCESS)
        result = cuGraphAddMemsetNode(&node, *graph, NULL, 0, &fill, context);
    if (result == CUDA_SUCCESS)
        result = cuGraphInstantiateWithFlags(exec, *graph, 0);
    if (result == CUDA_SUCCESS)
        result = cuGraphLaunch(*exec, *stream);
    if (result == CUDA_SUCCESS)
        result = cuStreamSynchronize(*stream);
    return result;
}

static void every_call_can_be_the_one_that_fails(void **state)
{
    (void)state;
    enum { NUM_CALLS = 11 };
    for (int nth = 1; nth <= NUM_CALLS; nth++) {
        char rule[16];
        CUdeviceptr memory = 0;
        CUstream stream = NULL;
        CUevent event = NULL;
        CUgraph graph = NULL;
        CUgraphExec exec = NULL;
        snprintf(rule, sizeof(rule), "*:%d=2", nth);
        assert_true(standin_configure("BRAID_STANDIN_FAIL", rule));
        must_be(small_program(&memory, &stream, &event, &graph, &exec), CUDA_ERROR_OUT_OF_MEMORY);
        if (exec != NULL)
            must(cuGraphExecDestroy(exec));
        if (graph != NULL)
            must(cuGraphDestroy(graph));
        if (event != NULL)
            must(cuEventDestroy_v2(event));
        if (stream != NULL)
            must(cuStreamDestroy_v2(stream));
        if (memory != 0)
            must(cuMemFree_v2(memory));
    }
}

static void a_work_item_can_poison_the_context(void **state)
{
    (void)state;
    unsigned *memory = make_memory(1);
    CUstream stream = make_stream();
    assert_true(standin_configure("BRAID_STANDIN_ASYNC", "3=719"));
    must(cuMemsetD32Async(device(memory), 1, 1, stream));
    must(cuMemsetD32Async(device(memory), 2, 1, stream));
    must(cuStreamSynchronize(stream));
    must(cuMemsetD32Async(device(memory), 3, 1, stream));
    must_be(cuStreamSynchronize(stream), CUDA_ERROR_LAUNCH_FAILED);
    must_be(cuMemsetD32Async(device(memory), 4, 1, stream), CUDA_ERROR_LAUNCH_FAILED);
    must_be(cuMemFree_v2(device(memory)), CUDA_ERROR_LAUNCH_FAILED); // freed all the same
    must_be(cuStreamDestroy_v2(stream), CUDA_ERROR_LAUNCH_FAILED);
    standin_forget_faults();
}

static void a_fault_outlives_its_primary_context(void **state)
{
    (void)state;
    CUcontext context;
    CUdeviceptr memory;
    CUgraph graph;
    must(cuGraphCreate(&graph, 0));
    assert_true(standin_configure("BRAID_STANDIN_ASYNC", "1=719"));
    must(cuMemAlloc_v2(&memory, 4));
    must_be(cuMemsetD32_v2(memory, 1, 1), CUDA_ERROR_LAUNCH_FAILED);
    must_be(cuMemFree_v2(memory), CUDA_ERROR_LAUNCH_FAILED);
    must(cuGraphDestroy(graph)); // graphs belong to no context
    must(cuDevicePrimaryCtxReset_v2(0));
    must_be(cuMemAlloc_v2(&memory, 4), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    must_be(cuDevicePrimaryCtxRetain(&context, 0), CUDA_ERROR_LAUNCH_FAILED);
    standin_forget_faults();
    must(cuDevicePrimaryCtxRetain(&context, 0));
}

static int num_called;
static CUresult called_with;

static void count_call(void *unused)
{
    (void)unused;
    num_called++;
}

static void keep_status(CUstream stream, CUresult status, void *unused)
{
    (void)stream, (void)unused;
    called_with = status;
}

static void after_a_fault_callbacks_run_and_host_functions_do_not(void **state)
{
    (void)state;
    struct gate gate;
    CUstream stream = make_stream();
    unsigned *memory = make_memory(1);
    close_gate(&gate, stream);
    await_gate(&gate);
    assert_true(standin_configure("BRAID_STANDIN_ASYNC", "1=700"));
    must(cuMemsetD32Async(device(memory), 1, 1, stream));
    must(cuLaunchHostFunc(stream, count_call, NULL));
    must(cuStreamAddCallback(stream, keep_status, NULL, 0));
    open_gate(&gate);
    must_be(cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(num_called, 0);
    assert_int_equal(called_with, CUDA_ERROR_ILLEGAL_ADDRESS);
    standin_forget_faults();
    free_memory(memory);
    must(cuStreamDestroy_v2(stream));
}

static CUresult inside;

static void call_the_driver(void *unused)
{
    int count;
    (void)unused;
    inside = cuDeviceGetCount(&count);
}

static void host_functions_may_not_call_the_driver(void **state)
{
    (void)state;
    CUstream stream = make_stream();
    must(cuLaunchHostFunc(stream, call_the_driver, NULL));
    must(cuStreamSynchronize(stream));
    assert_int_equal(inside, CUDA_ERROR_NOT_PERMITTED);
    must(cuStreamDestroy_v2(stream));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_nth_call_of_a_function_fails, open_driver,
                                        close_driver),
        cmocka_unit_test_setup_teardown(calls_are_counted_by_name, open_driver, close_driver),
        cmocka_unit_test_setup_teardown(every_call_can_be_the_one_that_fails, open_driver,
                                        close_driver),
        cmocka_unit_test_setup_teardown(a_work_item_can_poison_the_context, open_driver,
                                        close_driver),
        cmocka_unit_test_setup_teardown(a_fault_outlives_its_primary_context, open_driver,
                                        close_driver),
        cmocka_unit_test_setup_teardown(after_a_fault_callbacks_run_and_host_functions_do_not,
                                        open_driver, close_driver),
        cmocka_unit_test_setup_teardown(host_functions_may_not_call_the_driver, open_driver,
                                        close_driver),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
