// SPDX-License-Identifier: Apache-2.0
// Streams run in order, the null stream ties in the blocking ones only, and every call that needs
// a context says so when there is none.
#include <pthread.h>

#include "driver.h"

enum { NUM_NOTES = 20 };
static int notes[NUM_NOTES], numbers[NUM_NOTES], num_notes;

static void note(void *number)
{
    notes[num_notes++] = *(int *)number;
}

static void work_of_one_stream_runs_in_order(void **state)
{
    (void)state;
    CUstream stream = make_stream();
    assert_true(standin_configure("BRAID_STANDIN_SLOW_US", "50"));
    num_notes = 0;
    for (int i = 0; i < NUM_NOTES; i++) {
        numbers[i] = i;
        must(cuLaunchHostFunc(stream, note, &numbers[i]));
    }
    must(cuStreamSynchronize(stream));
    for (int i = 0; i < NUM_NOTES; i++)
        assert_int_equal(notes[i], i);
    must(cuStreamDestroy_v2(stream));
}

static void the_null_stream_comes_after_blocking_streams(void **state)
{
    (void)state;
    struct gate gate;
    unsigned *memory = make_memory(1);
    CUstream blocking, free_one = make_stream();
    must(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    close_gate(&gate, blocking);
    must(cuMemsetD32Async(device(memory), 1, 1, NULL));
    must(cuMemsetD32Async(device(memory), 2, 1, free_one));
    must(cuStreamSynchronize(free_one)); // not held up
    assert_int_equal(memory[0], 2);
    must_be(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
    open_gate(&gate);
    must(cuStreamSynchronize(NULL));
    assert_int_equal(memory[0], 1);
    must(cuStreamDestroy_v2(blocking));
    must(cuStreamDestroy_v2(free_one));
    free_memory(memory);
}

static void blocking_streams_come_after_the_null_stream(void **state)
{
    (void)state;
    struct gate gate;
    CUstream blocking, free_one = make_stream();
    CUevent event = make_event();
    must(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    close_gate(&gate, NULL);
    must(cuEventRecord(event, blocking));
    must(cuEventRecord(event, free_one));
    must(cuEventSynchronize(event));
    must_be(cuStreamQuery(blocking), CUDA_ERROR_NOT_READY);
    open_gate(&gate);
    must(cuStreamSynchronize(blocking));
    must(cuEventDestroy_v2(event));
    must(cuStreamDestroy_v2(blocking));
    must(cuStreamDestroy_v2(free_one));
}

static void destroying_a_stream_does_not_wait_but_its_work_is_done(void **state)
{
    (void)state;
    struct gate gate;
    unsigned *memory = make_memory(1);
    CUstream stream = make_stream();
    close_gate(&gate, stream);
    must(cuMemsetD32Async(device(memory), 1, 1, stream));
    must(cuStreamDestroy_v2(stream));
    must_be(cuStreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
    open_gate(&gate);
    must(cuCtxSynchronize());
    assert_int_equal(memory[0], 1);
    free_memory(memory);
}

static void *call_from_a_fresh_thread(void *unused)
{
    CUstream stream;
    CUevent event;
    CUdeviceptr memory;
    CUcontext context;
    CUdevice ordinal;
    (void)unused;
    must(cuCtxGetCurrent(&context));
    assert_null(context);
    must_be(cuStreamCreate(&stream, 0), CUDA_ERROR_INVALID_CONTEXT);
    must_be(cuEventCreate(&event, 0), CUDA_ERROR_INVALID_CONTEXT);
    must_be(cuMemAlloc_v2(&memory, 4), CUDA_ERROR_INVALID_CONTEXT);
    must_be(cuStreamSynchronize(NULL), CUDA_ERROR_INVALID_CONTEXT);
    must_be(cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
    must_be(cuCtxGetDevice(&ordinal), CUDA_ERROR_INVALID_CONTEXT);
    must_be(cuCtxPopCurrent_v2(&context), CUDA_ERROR_INVALID_CONTEXT);
    return NULL;
}

static void a_thread_without_context_is_told(void **state)
{
    pthread_t thread;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, call_from_a_fresh_thread, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void contexts_stack_and_end(void **state)
{
    (void)state;
    CUcontext first, second, popped;
    CUdevice ordinal = 9;
    CUstream stream;
    assert_true(standin_configure("BRAID_STANDIN_DEVICES", "2"));
    must(cuCtxGetCurrent(&first));
    must(cuDevicePrimaryCtxRetain(&second, 1));
    must(cuCtxPushCurrent_v2(second));
    must(cuCtxGetDevice(&ordinal));
    assert_int_equal(ordinal, 1);
    must(cuStreamCreate(&stream, 0));
    must(cuCtxPopCurrent_v2(&popped));
    assert_ptr_equal(popped, second);
    must(cuCtxGetDevice(&ordinal));
    assert_int_equal(ordinal, 0);
    CUevent event = make_event(); // in the first context: the stream is the second's
    must_be(cuEventRecord(event, stream), CUDA_ERROR_INVALID_HANDLE);
    must(cuEventRecord(event, NULL));
    must(cuStreamWaitEvent(stream, event, 0)); // waits may cross
    must(cuStreamGetCtx(stream, &popped));
    assert_ptr_equal(popped, second);
    must(cuEventDestroy_v2(event));
    must(cuStreamDestroy_v2(stream));
    must(cuDevicePrimaryCtxRelease_v2(1));
    must_be(cuDevicePrimaryCtxRelease_v2(1), CUDA_ERROR_INVALID_CONTEXT);
    must(cuCtxPushCurrent_v2(second));
    must_be(cuStreamSynchronize(NULL), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    must(cuCtxPopCurrent_v2(&popped));
    must_be(cuDevicePrimaryCtxRetain(&second, 2), CUDA_ERROR_INVALID_DEVICE);
}

// One device's fault is none of the other's.
static void a_fault_stays_with_its_context(void **state)
{
    (void)state;
    CUcontext first, second;
    assert_true(standin_configure("BRAID_STANDIN_DEVICES", "2"));
    must(cuCtxGetCurrent(&first));
    must(cuDevicePrimaryCtxRetain(&second, 1));
    must(cuCtxSetCurrent(second));
    unsigned *memory = make_memory(1);
    assert_true(standin_configure("BRAID_STANDIN_ASYNC", "1=719"));
    must_be(cuMemsetD32_v2(device(memory), 1, 1), CUDA_ERROR_LAUNCH_FAILED);
    must_be(cuMemFree_v2(device(memory)), CUDA_ERROR_LAUNCH_FAILED);
    must(cuCtxSetCurrent(first));
    must(cuCtxSynchronize());
    must(cuDevicePrimaryCtxRelease_v2(1));
    standin_forget_faults();
}

static void names_lead_to_the_version_asked_for(void **state)
{
    (void)state;
    void *function;
    CUdriverProcAddressQueryResult status;
    must(cuGetProcAddress_v2("cuMemAlloc", &function, 12000, 0, &status));
    assert_ptr_equal(function, (void *)(uintptr_t)cuMemAlloc_v2);
    must(cuGetProcAddress_v2("cuStreamGetCaptureInfo", &function, 12000, 0, &status));
    assert_ptr_equal(function, (void *)(uintptr_t)cuStreamGetCaptureInfo_v2);
    must(cuGetProcAddress_v2("cuStreamGetCaptureInfo", &function, 13000, 0, &status));
    assert_ptr_equal(function, (void *)(uintptr_t)cuStreamGetCaptureInfo_v3);
    must(cuGetProcAddress_v2("cuGraphAddDependencies", &function, 12020, 0, NULL));
    assert_ptr_equal(function, (void *)(uintptr_t)cuGraphAddDependencies);
    must(cuGetProcAddress_v2("cuLaunchKernelEx", &function, 12000, 0, NULL));
    assert_ptr_equal(function, (void *)(uintptr_t)cuLaunchKernelEx);
    must_be(cuGetProcAddress_v2("cuNoSuchFunction", &function, 12000, 0, &status),
            CUDA_ERROR_NOT_FOUND);
    assert_int_equal(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    must_be(cuGetProcAddress_v2("cuStreamGetCaptureInfo", &function, 9000, 0, &status),
            CUDA_ERROR_NOT_FOUND);
    assert_int_equal(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(work_of_one_stream_runs_in_order, open_driver,
                                        close_driver),
        cmocka_unit_test_setup_teardown(the_null_stream_comes_after_blocking_streams, open_driver,
                                        close_driver),
        cmocka_unit_test_setup_teardown(blocking_streams_come_after_the_null_stream, open_driver,
                                        close_driver),
        cmocka_unit_test_setup_teardown(destroying_a_stream_does_not_wait_but_its_work_is_done,
                                        open_driver, close_driver),
        cmocka_unit_test_setup_teardown(a_thread_without_context_is_told, open_driver,
                                        close_driver),
        cmocka_unit_test_setup_teardown(contexts_stack_and_end, open_driver, close_driver),
        cmocka_unit_test_setup_teardown(a_fault_stays_with_its_context, open_driver, close_driver),
        cmocka_unit_test_setup_teardown(names_lead_to_the_version_asked_for, open_driver,
                                        close_driver),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
