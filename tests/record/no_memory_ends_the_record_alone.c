// SPDX-License-Identifier: Apache-2.0
// If the recorder gets no memory, there is no record. The program goes on, and its objects may go.
#include "record/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum { BYTES = 64 << 20, ROOM = 16 << 20 };

static rlim_t get_used(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu", &pages), 1);
    fclose(file);
    return pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

// The recorder wants a copy of it.
static void free_without_memory(CUdeviceptr memory)
{
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    const struct rlimit limit = { get_used() + ROOM, before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
    must(cuMemFree_v2(memory));
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
}

static void no_memory_ends_the_record_alone(void **state)
{
    CUdeviceptr memory;
    CUcontext context;
    CUevent event;
    (void)state;
    must(cuMemAlloc_v2(&memory, BYTES));
    assert_true(braid_record_frame_mark());
    free_without_memory(memory);
    must(cuCtxCreate_v2(&context, 0, 0));
    must(cuEventCreate(&event, 0));
    must(cuEventRecord(event, NULL));
    must(cuEventDestroy_v2(event));
    must(cuEventCreate(&event, 0));
    must(cuEventRecord(event, NULL));
    must(cuCtxDestroy_v2(context));
    must(cuCtxSetCurrent(program.context));
    launch_nothing(NULL);
    assert_true(braid_record_frame_mark());
    assert_int_not_equal(access(getenv("BRAID_RECORD_FILE"), F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(no_memory_ends_the_record_alone) };
    if (setenv("BRAID_RECORD_MEMORY_AT_END", "100000000", 1) != 0)
        return 1;
    return cmocka_run_group_tests(tests, open_program, close_program);
}
