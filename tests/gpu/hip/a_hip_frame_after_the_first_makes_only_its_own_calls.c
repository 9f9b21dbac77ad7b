// SPDX-License-Identifier: Apache-2.0
// After the first launch nothing is created, destroyed, allocated or freed, and nothing waits: on
// the HIP column, over whatever HIP library the interposer forwards to.
#include <stdio.h>

#include "gpu/hip/hip_testing.h"
#include "support/check.h"

static const char *const forbidden[] = {
    "hipDeviceSynchronize",
    "hipStreamSynchronize",
    "hipEventSynchronize",
    "hipEventQuery",
    "hipStreamCreate",
    "hipStreamCreateWithFlags",
    "hipStreamCreateWithPriority",
    "hipStreamDestroy",
    "hipEventCreate",
    "hipEventCreateWithFlags",
    "hipEventDestroy",
    "hipMalloc",
    "hipFree",
    "hipMallocAsync",
    "hipFreeAsync",
    "hipHostMalloc",
    "hipHostFree",
    "hipModuleLoadData",
    "hipModuleUnload",
    "hipModuleGetFunction",
    "hiprtcCreateProgram",
    "hiprtcCompileProgram",
    "hipStreamBeginCapture",
    "hipMemcpy",
};

enum { NUM_FORBIDDEN = sizeof(forbidden) / sizeof(forbidden[0]), FRAMES = 20 };

static void launch_frames(struct frame *frame, uint32_t num)
{
    for (uint32_t i = 0; i < num; i++) {
        check_ok(braid_exec_set_arg(frame->exec, frame->summed, 3, BRAID_ARG(i)));
        check_ok(braid_exec_launch(frame->exec, frame->stream));
    }
}

static void count_forbidden(long *counts)
{
    for (size_t i = 0; i < NUM_FORBIDDEN; i++)
        counts[i] = hip_calls(forbidden[i]);
}

static void on_streams(void **state)
{
    (void)state;
    struct frame frame;
    long before[NUM_FORBIDDEN], after[NUM_FORBIDDEN];
    check_ok(frame_open(&frame, "hip"));
    check_ok(frame_create_exec(&frame, BRAID_MODE_STREAMS));
    launch_frames(&frame, 1);
    count_forbidden(before);
    launch_frames(&frame, FRAMES);
    count_forbidden(after);
    for (size_t i = 0; i < NUM_FORBIDDEN; i++) {
        if (after[i] != before[i])
            fail_msg("%s was called %ld times in %d frames", forbidden[i], after[i] - before[i],
                     FRAMES);
    }
    check_ok(braid_exec_wait(frame.exec));
    check_ok(frame_read(&frame));
    assert_int_equal(frame.read[5], frame_result(FRAMES - 1));
    assert_int_equal(frame.num_host_calls, FRAMES + 1);
    frame_finish(&frame);
    hip_check_nothing_is_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_streams),
    };
    if (!hip_open())
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
