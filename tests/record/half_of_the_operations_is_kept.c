// SPDX-License-Identifier: Apache-2.0
// Without marks the recorder drops the older half of its operations while nothing repeats. Frames
// that began in the other half are whole later.
#include "record/program.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// BRAID_RECORD_OPERATIONS is 2,000. Two periods end behind the first search, and three before the
// second one.
enum { BEGIN = 1050, PERIOD = 512, MOST = 8000 };

static CUdeviceptr memory;

// Each launch of a period has its own sizes, and so has each launch before.
static CUresult launch(uint32_t number)
{
    void *arguments[] = { &memory, &number };
    const uint32_t at = number < BEGIN ? number : (number - BEGIN) % PERIOD;
    return cuLaunchKernel(program.add, 1 + at % 8, 1 + at / 8 % 8, 1 + at / 64 % 8, 1 + at / PERIOD,
                          number < BEGIN ? 2 : 1, 1, 0, NULL, arguments, NULL);
}

static void half_of_the_operations_is_kept(void **state)
{
    const char *path = getenv("BRAID_RECORD_FILE");
    uint32_t number = 0;
    (void)state;
    must(cuMemAlloc_v2(&memory, 64));
    for (; access(path, F_OK) != 0 && number < MOST; number++)
        must(launch(number));
    assert_true(number < MOST);
    const braid_record_contents *contents = open_own_record();
    assert_int_equal(contents->num_frames, 2);
    assert_int_equal(contents->num_operations, 2 * PERIOD);
    for (uint32_t i = 0; i < contents->num_operations; i++) {
        const uint32_t expected = BEGIN + i;
        assert_memory_equal((const char *)contents->operations[i].work.parameters + 8, &expected,
                            4);
    }
    close_own_record();
    must(cuMemFree_v2(memory));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(half_of_the_operations_is_kept) };
    return cmocka_run_group_tests(tests, open_program, close_program);
}
