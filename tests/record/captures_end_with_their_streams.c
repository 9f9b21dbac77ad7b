// SPDX-License-Identifier: Apache-2.0
// A stream that is destroyed ends the capture that it began, and so does its context. From then on
// the recorder keeps memory and measures as before. A capture goes on if its stream stays.
#include "record/program.h"

#include <dlfcn.h>
#include <stdlib.h>

typedef bool configure(const char *setting, const char *value);

static CUstream begin_capture(void)
{
    CUstream stream;
    must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    must(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    return stream;
}

// Returns a stream whose capture has ended by a call that failed.
static CUstream destroy_streams(void)
{
    CUstream joined;
    CUevent event;
    CUgraph graph;
    must(cuStreamDestroy_v2(begin_capture()));
    // A stream that has joined a capture does not end it.
    const CUstream stream = begin_capture();
    must(cuStreamCreate(&joined, CU_STREAM_NON_BLOCKING));
    must(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    must(cuEventRecord(event, stream));
    must(cuStreamWaitEvent(joined, event, 0));
    must(cuStreamDestroy_v2(joined));
    assert_int_not_equal(cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
    must(cuEventDestroy_v2(event));
    return stream;
}

static void destroy_context(void)
{
    CUcontext context;
    must(cuCtxCreate_v2(&context, 0, 0));
    begin_capture();
    must(cuCtxDestroy_v2(context));
    must(cuCtxSetCurrent(program.context));
}

// The driver ends neither the stream nor its capture. So launches are captured.
static void refuse(configure *set, CUstream stream)
{
    CUgraph graph;
    must(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    assert_true(set("BRAID_STANDIN_FAIL", "cuStreamDestroy:1=900,cuStreamEndCapture:1=900"));
    assert_int_equal(cuStreamDestroy_v2(stream), 900);
    launch_nothing(stream);
    assert_int_equal(cuStreamEndCapture(stream, &graph), 900);
    assert_true(set("BRAID_STANDIN_FAIL", NULL));
    launch_nothing(stream);
    must(cuStreamEndCapture(stream, &graph));
    must(cuGraphDestroy(graph));
}

static void check(const braid_record_contents *contents)
{
    assert_int_equal(contents->num_operations, 1);
    assert_int_equal(contents->operations[0].work.kind, BRAID_RECORD_KERNEL);
    assert_true(contents->operations[0].device_end_ns > 0);
    assert_int_equal(contents->num_memory, 1);
    assert_int_not_equal(contents->memory[0].digest_behind, 0);
}

static void captures_end_with_their_streams(void **state)
{
    CUdeviceptr memory;
    CUstream stream;
    (void)state;
    void *driver = dlopen(getenv("BRAID_RECORD_REAL"), RTLD_LAZY | RTLD_NOLOAD);
    configure *set = (configure *)(uintptr_t)dlsym(driver, "standin_configure");
    must(cuMemAlloc_v2(&memory, 64));
    must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    const CUstream failed = destroy_streams();
    destroy_context();
    assert_true(braid_record_frame_mark());
    refuse(set, stream);
    launch_add(stream, memory, 1);
    assert_true(braid_record_frame_mark());
    check(open_own_record());
    close_own_record();
    must(cuStreamDestroy_v2(failed));
    must(cuStreamDestroy_v2(stream));
    must(cuMemFree_v2(memory));
    dlclose(driver);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(captures_end_with_their_streams) };
    return cmocka_run_group_tests(tests, open_program, close_program);
}
