// SPDX-License-Identifier: Apache-2.0
// A wait for a context would end a capture of the program. So where a stream captures, the
// recorder keeps no memory, and the rest of the record is as without.
#include "record/program.h"

static void captures_outlive_the_kept_memory(void **state)
{
    CUdeviceptr memory;
    CUstream stream, captured;
    CUgraph graph;
    size_t num = 0;
    (void)state;
    must(cuMemAlloc_v2(&memory, 64));
    must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    must(cuStreamCreate(&captured, CU_STREAM_NON_BLOCKING));
    must(cuStreamBeginCapture_v2(captured, CU_STREAM_CAPTURE_MODE_GLOBAL));
    launch_nothing(captured);
    assert_true(braid_record_frame_mark());
    launch_add(stream, memory, 1);
    assert_true(braid_record_frame_mark());
    launch_nothing(captured);
    must(cuStreamEndCapture(captured, &graph));
    must(cuGraphGetNodes(graph, NULL, &num));
    assert_int_equal(num, 2);
    const braid_record_contents *contents = open_own_record();
    assert_int_equal(contents->num_frames, 1);
    assert_int_equal(contents->num_operations, 1);
    assert_int_equal(contents->num_memory, 0);
    close_own_record();
    must(cuGraphDestroy(graph));
    must(cuStreamDestroy_v2(stream));
    must(cuStreamDestroy_v2(captured));
    must(cuMemFree_v2(memory));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(captures_outlive_the_kept_memory) };
    return cmocka_run_group_tests(tests, open_program, close_program);
}
