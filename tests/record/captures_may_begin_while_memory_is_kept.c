// SPDX-License-Identifier: Apache-2.0
// The recorder waits for the device before it copies memory. Another thread may begin a capture
// meanwhile, which a copy would end. Then the record has no memory.
#include "record/program.h"

#include <pthread.h>
#include <unistd.h>

static CUstream stream, captured;
static pthread_barrier_t waits, captures; // two threads meet there

static void *begin_capture(void *unused)
{
    (void)unused;
    must(cuCtxSetCurrent(program.context));
    pthread_barrier_wait(&waits);
    must(cuStreamBeginCapture_v2(captured, CU_STREAM_CAPTURE_MODE_RELAXED));
    launch_nothing(captured);
    pthread_barrier_wait(&captures);
    return NULL;
}

// The mark waits for this, and copies memory then.
static void let_capture(void *unused)
{
    (void)unused;
    usleep(50000);
    pthread_barrier_wait(&waits);
    pthread_barrier_wait(&captures);
}

static void captures_may_begin_while_memory_is_kept(void **state)
{
    pthread_t thread;
    CUdeviceptr memory;
    CUgraph graph;
    size_t num = 0;
    (void)state;
    assert_int_equal(pthread_barrier_init(&waits, NULL, 2), 0);
    assert_int_equal(pthread_barrier_init(&captures, NULL, 2), 0);
    must(cuMemAlloc_v2(&memory, 64));
    must(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    must(cuStreamCreate(&captured, CU_STREAM_DEFAULT));
    must(cuLaunchHostFunc(stream, let_capture, NULL));
    assert_int_equal(pthread_create(&thread, NULL, begin_capture, NULL), 0);
    assert_true(braid_record_frame_mark());
    pthread_join(thread, NULL);
    launch_nothing(captured);
    must(cuStreamEndCapture(captured, &graph));
    must(cuGraphGetNodes(graph, NULL, &num));
    assert_int_equal(num, 2);
    launch_add(stream, memory, 1);
    assert_true(braid_record_frame_mark());
    assert_int_equal(open_own_record()->num_memory, 0);
    close_own_record();
    must(cuGraphDestroy(graph));
    must(cuStreamDestroy_v2(stream));
    must(cuStreamDestroy_v2(captured));
    must(cuMemFree_v2(memory));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(captures_may_begin_while_memory_is_kept) };
    return cmocka_run_group_tests(tests, open_program, close_program);
}
