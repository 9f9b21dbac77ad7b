// SPDX-License-Identifier: Apache-2.0
// At exit the stand-in reports calls, work and what is left over; the environment sets it up.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver.h"

static const char *program;

// What the child does: leaves a stream, two events and a buffer behind.
static int leave_things(void)
{
    int count = 0;
    CUcontext context;
    CUstream stream;
    CUevent events[2];
    CUdeviceptr memory;
    must(cuInit(0));
    must(cuDeviceGetCount(&count));
    if (count != 3)
        return 2;
    must(cuDevicePrimaryCtxRetain(&context, 2));
    must(cuCtxSetCurrent(context));
    must(cuStreamCreate(&stream, 0));
    must(cuEventCreate(&events[0], 0));
    must_be(cuEventCreate(&events[1], 0), CUDA_ERROR_INVALID_VALUE); // by the environment
    must(cuEventCreate(&events[1], 0));
    must_be(cuMemAlloc_v2(&memory, 5000), CUDA_ERROR_OUT_OF_MEMORY);
    must(cuMemAlloc_v2(&memory, 4000));
    must(cuMemsetD8Async(memory, 1, 4000, stream));
    must(cuStreamSynchronize(stream));
    return 0;
}

static int run_child(const char *report)
{
    pid_t child = fork();
    if (child == 0) {
        setenv("BRAID_STANDIN_REPORT", report, 1);
        setenv("BRAID_STANDIN_DEVICES", "3", 1);
        setenv("BRAID_STANDIN_MEMORY", "4096", 1);
        setenv("BRAID_STANDIN_FAIL", "cuEventCreate:2=1", 1);
        execl(program, program, "leave", (char *)NULL);
        _exit(127);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void the_report_counts_what_is_left(void **state)
{
    (void)state;
    char path[] = "/tmp/standin-report-XXXXXX", line[512] = "";
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(run_child(path), 0);
    assert_true(read(file, line, sizeof(line) - 1) > 0);
    close(file);
    unlink(path);
    assert_non_null(strstr(line, "calls 12, work items 1, bad accesses 0"));
    assert_non_null(strstr(line, "context 1 stream 1 event 2 module 0 graph 0 exec 0 pool 0 "
                                 "memory 1\n"));
}

int main(int num_arguments, char **arguments)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_report_counts_what_is_left) };
    program = arguments[0];
    if (num_arguments == 2 && strcmp(arguments[1], "leave") == 0)
        return leave_things();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
