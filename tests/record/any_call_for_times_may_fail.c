// SPDX-License-Identifier: Apache-2.0
// Whichever call fails that the recorder makes to measure, the program's own calls are as before,
// and the work without times is in the record. No event of the recorder stays. Each failure has a
// process of its own, since a process writes one record.
#include "record/program.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LAUNCHES = 3, OPERATIONS = 2 * LAUNCHES };

typedef bool configure(const char *setting, const char *value);
typedef long live(const char *kind);

static const struct failure {
    const char *rule; // for the calls between the marks
    uint32_t num_timed;
    long num_left; // events that a failed call has not destroyed
    bool captures;
} failures[] = {
    { NULL, OPERATIONS, 0, false },
    { NULL, 0, 0, true },
    { "cuEventCreate:1=999", OPERATIONS - 1, 0, false },
    { "cuEventCreate:2=2", OPERATIONS - 1, 0, false },
    { "cuEventCreate:1+=2", 0, 0, false },
    { "cuEventRecord:1=999", OPERATIONS - 1, 0, false },
    { "cuEventRecord:2=999", OPERATIONS - 1, 0, false },
    { "cuEventRecord:11=999", OPERATIONS - 1, 0, false },
    { "cuEventRecord:12=999", OPERATIONS - 1, 0, false },
    { "cuCtxSynchronize:1=999", 0, 0, false },
    { "cuEventElapsedTime:1=999", OPERATIONS - 1, 0, false },
    { "cuEventElapsedTime:2=999", OPERATIONS - 1, 0, false },
    { "cuEventElapsedTime:1+=999", 0, 0, false },
    { "cuEventDestroy:1=999", OPERATIONS, 1, false },
};

static void expect(bool is, const char *text, const char *rule)
{
    if (is)
        return;
    print_error("%s: not %s\n", rule ? rule : "without a failure", text);
    _exit(1);
}
#define EXPECT(is) expect(is, #is, failure->rule)

static void check(const struct failure *failure)
{
    const braid_record_contents *contents = open_own_record();
    uint32_t num = 0, num_timed = 0;
    for (uint32_t i = 0; i < contents->num_operations; i++) {
        const braid_record_operation *row = &contents->operations[i];
        num += row->work.kind == BRAID_RECORD_KERNEL || row->work.kind == BRAID_RECORD_FILL;
        num_timed += row->device_end_ns > 0;
        EXPECT(row->device_begin_ns <= row->device_end_ns);
    }
    EXPECT(num == OPERATIONS);
    EXPECT(num_timed == failure->num_timed);
    close_own_record();
}

static void run_program(const struct failure *failure)
{
    CUdeviceptr memory;
    CUstream stream, captured;
    CUgraph graph;
    uint32_t sum = 0;
    open_program(NULL); // loads the driver
    void *driver = dlopen(getenv("BRAID_RECORD_REAL"), RTLD_LAZY | RTLD_NOLOAD);
    configure *set = (configure *)(uintptr_t)dlsym(driver, "standin_configure");
    live *count = (live *)(uintptr_t)dlsym(driver, "standin_live");
    must(cuMemAlloc_v2(&memory, 64));
    must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    must(cuStreamCreate(&captured, CU_STREAM_NON_BLOCKING));
    if (failure->captures)
        must(cuStreamBeginCapture_v2(captured, CU_STREAM_CAPTURE_MODE_GLOBAL));
    EXPECT(braid_record_frame_mark());
    EXPECT(set("BRAID_STANDIN_FAIL", failure->rule));
    for (uint32_t i = 0; i < LAUNCHES; i++) {
        must(cuMemsetD32Async(memory, i, 1, stream));
        launch_add(stream, memory, 7);
    }
    EXPECT(braid_record_frame_mark());
    EXPECT(set("BRAID_STANDIN_FAIL", NULL));
    if (failure->captures)
        must(cuStreamEndCapture(captured, &graph));
    must(cuMemcpyDtoHAsync_v2(&sum, memory, 4, stream));
    must(cuStreamSynchronize(stream));
    EXPECT(sum == LAUNCHES - 1 + 7);
    EXPECT(count("event") == failure->num_left);
    check(failure);
    _exit(0);
}

static void any_call_for_times_may_fail(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
        int status = 0;
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            run_program(&failures[i]);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(any_call_for_times_may_fail) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
