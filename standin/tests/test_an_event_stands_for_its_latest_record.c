// SPDX-License-Identifier: Apache-2.0
// An event stands for its latest record: waits capture it when submitted, and keep it.
#include "driver.h"

static void a_wait_for_an_event_never_recorded_is_satisfied(void **state)
{
    (void)state;
    CUstream stream = make_stream();
    CUevent event = make_event();
    must(cuStreamWaitEvent(stream, event, 0));
    must(cuStreamSynchronize(stream));
    must(cuEventQuery(event));
    must(cuEventSynchronize(event));
    must(cuEventDestroy_v2(event));
    must(cuStreamDestroy_v2(stream));
}

static void a_wait_orders_two_streams(void **state)
{
    (void)state;
    struct gate gate;
    struct words words = load_words();
    unsigned *memory = make_memory(2);
    CUstream producer = make_stream(), consumer = make_stream();
    CUevent event = make_event();
    close_gate(&gate, producer);
    launch_add_one(&words, &memory[0], producer);
    must(cuEventRecord(event, producer));
    must(cuStreamWaitEvent(consumer, event, 0));
    launch_copy_word(&words, &memory[1], &memory[0], consumer);
    await_gate(&gate);
    must_be(cuEventQuery(event), CUDA_ERROR_NOT_READY);
    must_be(cuStreamQuery(consumer), CUDA_ERROR_NOT_READY);
    open_gate(&gate);
    must(cuStreamSynchronize(consumer));
    must(cuEventQuery(event));
    assert_int_equal(memory[1], 1);
    must(cuEventDestroy_v2(event));
    must(cuStreamDestroy_v2(producer));
    must(cuStreamDestroy_v2(consumer));
    free_memory(memory);
    must(cuModuleUnload(words.module));
}

// The wait was submitted while the first record was the latest: the second one, behind a closed
// gate, must not hold it up.
static void a_wait_keeps_the_record_it_captured(void **state)
{
    (void)state;
    struct gate gate;
    CUstream producer = make_stream(), consumer = make_stream();
    CUevent event = make_event();
    must(cuEventRecord(event, producer));
    must(cuStreamWaitEvent(consumer, event, 0));
    close_gate(&gate, producer);
    must(cuEventRecord(event, producer));
    must(cuStreamSynchronize(consumer));
    must_be(cuEventQuery(event), CUDA_ERROR_NOT_READY);
    open_gate(&gate);
    must(cuEventSynchronize(event));
    must(cuEventDestroy_v2(event));
    must(cuStreamDestroy_v2(producer));
    must(cuStreamDestroy_v2(consumer));
}

// A wait submitted before any record does not wait for a later one.
static void a_wait_does_not_look_forward(void **state)
{
    (void)state;
    struct gate gate;
    CUstream producer = make_stream(), consumer = make_stream();
    CUevent event = make_event();
    must(cuStreamWaitEvent(consumer, event, 0));
    close_gate(&gate, producer);
    must(cuEventRecord(event, producer));
    must(cuStreamSynchronize(consumer));
    open_gate(&gate);
    must(cuStreamSynchronize(producer));
    must(cuEventDestroy_v2(event));
    must(cuStreamDestroy_v2(producer));
    must(cuStreamDestroy_v2(consumer));
}

static void an_event_may_be_destroyed_while_waits_are_pending(void **state)
{
    (void)state;
    struct gate gate;
    CUstream producer = make_stream(), consumer = make_stream();
    CUevent event = make_event();
    close_gate(&gate, producer);
    must(cuEventRecord(event, producer));
    must(cuStreamWaitEvent(consumer, event, 0));
    must(cuEventDestroy_v2(event));
    must_be(cuEventQuery(event), CUDA_ERROR_INVALID_HANDLE);
    await_gate(&gate);
    must_be(cuStreamQuery(consumer), CUDA_ERROR_NOT_READY);
    open_gate(&gate);
    must(cuStreamSynchronize(consumer));
    must(cuStreamDestroy_v2(producer));
    must(cuStreamDestroy_v2(consumer));
}

static void timing_needs_two_timed_records(void **state)
{
    (void)state;
    float milliseconds = -1;
    CUstream stream = make_stream();
    CUevent start, end, untimed = make_event();
    must(cuEventCreate(&start, CU_EVENT_DEFAULT));
    must(cuEventCreate(&end, CU_EVENT_DEFAULT));
    must(cuEventRecord(start, stream));
    must_be(cuEventElapsedTime_v2(&milliseconds, start, end), CUDA_ERROR_INVALID_HANDLE);
    must(cuEventRecord(end, stream));
    must(cuEventRecord(untimed, stream));
    must(cuStreamSynchronize(stream));
    must(cuEventElapsedTime_v2(&milliseconds, start, end));
    assert_true(milliseconds >= 0);
    must_be(cuEventElapsedTime_v2(&milliseconds, start, untimed), CUDA_ERROR_INVALID_HANDLE);
    must(cuEventDestroy_v2(start));
    must(cuEventDestroy_v2(end));
    must(cuEventDestroy_v2(untimed));
    must(cuStreamDestroy_v2(stream));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_for_an_event_never_recorded_is_satisfied),
        cmocka_unit_test(a_wait_orders_two_streams),
        cmocka_unit_test(a_wait_keeps_the_record_it_captured),
        cmocka_unit_test(a_wait_does_not_look_forward),
        cmocka_unit_test(an_event_may_be_destroyed_while_waits_are_pending),
        cmocka_unit_test(timing_needs_two_timed_records),
    };
    return cmocka_run_group_tests(tests, open_driver, close_driver);
}
