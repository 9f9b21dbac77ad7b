// SPDX-License-Identifier: Apache-2.0
// Before memory goes the recorder waits for the device. A function of the program that the device
// waits for may itself wait for a thread that calls the driver.
#include "record/program.h"

#include <pthread.h>
#include <unistd.h>

static CUstream stream, other;
static CUdeviceptr more;
static pthread_barrier_t begins, ends; // two threads meet there

static void *call_meanwhile(void *unused)
{
    (void)unused;
    must(cuCtxSetCurrent(program.context));
    pthread_barrier_wait(&begins);
    must(cuMemAllocAsync(&more, 64, other));
    launch_add(other, more, 1);
    pthread_barrier_wait(&ends);
    return NULL;
}

static void wait_for_calls(void *unused)
{
    (void)unused;
    usleep(50000); // the recorder waits by then
    pthread_barrier_wait(&begins);
    pthread_barrier_wait(&ends);
}

static void waits_hold_no_lock(void **state)
{
    pthread_t thread;
    CUdeviceptr memory;
    uint32_t num_contents = 0;
    (void)state;
    assert_int_equal(pthread_barrier_init(&begins, NULL, 2), 0);
    assert_int_equal(pthread_barrier_init(&ends, NULL, 2), 0);
    must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    must(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    must(cuMemAlloc_v2(&memory, 32));
    must(cuMemsetD32Async(memory, 1, 8, stream));
    assert_int_equal(pthread_create(&thread, NULL, call_meanwhile, NULL), 0);
    assert_true(braid_record_frame_mark());
    must(cuLaunchHostFunc(stream, wait_for_calls, NULL));
    launch_add(stream, memory, 41);
    must(cuMemFree_v2(memory));
    pthread_join(thread, NULL);
    assert_true(braid_record_frame_mark());
    const braid_record_contents *contents = open_own_record();
    for (uint32_t i = 0; i < contents->num_memory; i++) {
        const braid_record_memory *kept = &contents->memory[i];
        const uint32_t expected = 42;
        if (contents->allocations[kept->allocation].bytes != 32)
            continue;
        assert_int_equal(kept->num_bytes, 32);
        assert_memory_equal(kept->bytes, &expected, 4);
        num_contents++;
    }
    assert_int_equal(num_contents, 1);
    close_own_record();
    must(cuMemFreeAsync(more, other));
    must(cuStreamDestroy_v2(stream));
    must(cuStreamDestroy_v2(other));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(waits_hold_no_lock) };
    return cmocka_run_group_tests(tests, open_program, close_program);
}
