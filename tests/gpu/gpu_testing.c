// SPDX-License-Identifier: Apache-2.0
// The stand-in driver under the tests of the CUDA column.
#include "gpu/gpu_testing.h"

#include <stdio.h>

#include "support/check.h"

enum { NUM_KINDS = 9 };
static const char *const kinds[NUM_KINDS] = { "context", "stream", "event",  "module",   "graph",
                                              "exec",    "pool",   "memory", "semaphore" };

void reset_standin(void)
{
    static const char *const settings[] = {
        "BRAID_STANDIN_FAIL",           "BRAID_STANDIN_ASYNC",   "BRAID_STANDIN_MEMORY",
        "BRAID_STANDIN_SEED",           "BRAID_STANDIN_SLOW_US", "BRAID_STANDIN_CLOCK_NS",
        "BRAID_STANDIN_MULTIPROCESSORS"
    };
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
        assert_true(standin_configure(settings[i], NULL));
}

void fail_calls(const char *rules, ...)
{
    char text[256];
    va_list values;
    va_start(values, rules);
    int length = rules ? vsnprintf(text, sizeof(text), rules, values) : 0;
    va_end(values);
    assert_in_range(length, 0, sizeof(text) - 1);
    assert_true(standin_configure("BRAID_STANDIN_FAIL", rules ? text : NULL));
}

void check_nothing_is_left(void)
{
    for (size_t i = 0; i < NUM_KINDS; i++) {
        if (standin_live(kinds[i]) != 0)
            fail_msg("%ld of %s left over", standin_live(kinds[i]), kinds[i]);
    }
    assert_int_equal(standin_bad_accesses(), 0);
}

int standin_set_up(void **state)
{
    (void)state;
    reset_standin();
    return 0;
}

void finish_standin(void)
{
    destroy_owned();
    check_nothing_is_left();
}

int standin_tear_down(void **state)
{
    (void)state;
    finish_standin();
    return 0;
}

long count_objects(void)
{
    long num = 0;
    for (size_t i = 0; i < NUM_KINDS; i++)
        num += standin_live(kinds[i]);
    return num;
}
