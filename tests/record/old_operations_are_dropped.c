// SPDX-License-Identifier: Apache-2.0
// Without marks the recorder forgets the older half of its operations while nothing repeats, and
// their memory with them. The frames that come later are whole.
#include "record/program.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The notes of so many launches are larger than BRAID_RECORD_MEMORY.
enum { OLD_LAUNCHES = 15000, OTHER_LAUNCHES = 500, MOST_FRAMES = 5000 };

static CUdeviceptr memory;

// The sequence of Thue and Morse: no part of it comes three times in a row.
static unsigned grid_of(uint32_t i)
{
    return 1 + (unsigned)__builtin_popcount(i) % 2;
}

static void launch(uint32_t number, unsigned grid, CUstream stream)
{
    void *arguments[] = { &memory, &number };
    must(cuLaunchKernel(program.add, grid, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
}

// A thread that ends leaves its notes.
static void *launch_elsewhere(void *stream)
{
    must(cuCtxSetCurrent(program.context));
    for (uint32_t i = 0; i < OTHER_LAUNCHES; i++)
        launch(i, 5 + grid_of(i), stream);
    return NULL;
}

static void old_operations_are_dropped(void **state)
{
    const char *path = getenv("BRAID_RECORD_FILE");
    pthread_t thread;
    CUstream stream;
    uint32_t frame = 0;
    (void)state;
    must(cuMemAlloc_v2(&memory, 64));
    must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    assert_int_equal(pthread_create(&thread, NULL, launch_elsewhere, stream), 0);
    pthread_join(thread, NULL);
    for (uint32_t i = 0; i < OLD_LAUNCHES; i++)
        launch(i, grid_of(i), stream);
    assert_int_not_equal(access(path, F_OK), 0);
    for (; access(path, F_OK) != 0 && frame < MOST_FRAMES; frame++) {
        launch(frame, 4, stream);
        launch(frame, 5, stream);
        launch_nothing(stream);
    }
    assert_true(frame > 2 && frame < MOST_FRAMES);
    const braid_record_contents *contents = open_own_record();
    assert_int_equal(contents->num_frames, 2);
    assert_int_equal(contents->num_operations, 6);
    uint32_t numbers[2];
    for (int i = 0; i < 2; i++) {
        const uint32_t first = contents->frames[i].first_operation;
        uint32_t again = 0;
        for (uint32_t k = 0; k < 3; k++) {
            const braid_record_work *work = &contents->operations[first + k].work;
            assert_string_equal(contents->kernels[work->kernel].name, k < 2 ? "add" : "nothing");
            assert_int_equal(work->grid[0], k < 2 ? 4 + k : 1);
            if (k < 2)
                memcpy(k == 0 ? &numbers[i] : &again, (const char *)work->parameters + 8, 4);
        }
        assert_int_equal(again, numbers[i]);
    }
    assert_int_equal(numbers[1], numbers[0] + 1);
    close_own_record();
    must(cuStreamDestroy_v2(stream));
    must(cuMemFree_v2(memory));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(old_operations_are_dropped) };
    return cmocka_run_group_tests(tests, open_program, close_program);
}
