// SPDX-License-Identifier: Apache-2.0
// Whichever HIP call fails, Braid says so, leaves nothing behind, and goes on afterwards. The calls
// fail in the interposer and never reach the library: what its own failures leave is not tested.
// BRAID_TEST_SAMPLES=N tries N calls of each function, spread evenly, instead of all.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/gpu/gpu_loader.h"
#include "gpu/hip/hip_testing.h"
#include "support/check.h"

enum { OUT_OF_MEMORY = 2 };

// A destroy call that fails leaves its object with the library: nobody can help that. The names of
// errors do not fail.
static bool is_left_out(const char *function)
{
    return strstr(function, "Destroy") || strstr(function, "Free") || strstr(function, "Unload") ||
           strstr(function, "GetError");
}

static void check_message(braid_status status)
{
    if (status == BRAID_OK || status == BRAID_UNAVAILABLE)
        return;
    const char *message = braid_error_message();
    bool named = strstr(message, " from hip") || strstr(message, "compiling kernel 'sum'") ||
                 strstr(message, "native call returned") ||
                 strstr(message, "when the device was made current");
    if (!named)
        fail_msg("'%s' names no call", message);
}

// Nothing is half-made: the next frame runs, whatever happened to the one before.
static void check_next_frame(struct frame *frame)
{
    check_ok(frame_run(frame, 7));
    check_ok(frame_read(frame));
    assert_int_equal(frame->read[5], frame_result(7));
}

// A whole life, with failures until the second frame; false when something failed.
static bool live(braid_exec_mode mode)
{
    struct frame frame;
    braid_status status = frame_open(&frame, "hip");
    if (!status)
        status = frame_create_exec(&frame, mode);
    bool created = status == BRAID_OK;
    if (!status)
        status = frame_run(&frame, 1);
    check_message(status);
    hip_fail(NULL, 0, 0);
    if (created)
        check_next_frame(&frame);
    frame_finish(&frame);
    hip_check_nothing_is_left();
    return status == BRAID_OK;
}

// How many calls of a function to fail, of so many.
static long choose_samples(long num_calls)
{
    const char *text = getenv("BRAID_TEST_SAMPLES");
    long num = text ? strtol(text, NULL, 10) : num_calls;
    return num < num_calls ? num : num_calls;
}

// Counts the failures that reached the program: properties that Braid can do without may fail
// unnoticed.
static int fail_calls(const char *function, long num_calls, braid_exec_mode mode)
{
    int num_noticed = 0;
    long num = choose_samples(num_calls);
    for (long i = 0; i < num; i++) {
        long nth = num == 1 ? 1 : 1 + i * (num_calls - 1) / (num - 1);
        hip_fail(function, nth, OUT_OF_MEMORY);
        num_noticed += !live(mode);
    }
    return num_noticed;
}

enum { MAX_ROWS = 128 };

static void count_calls(const struct gpu_symbol_table *table, long *counts)
{
    assert_true(table->num_rows <= MAX_ROWS);
    for (size_t i = 0; i < table->num_rows; i++) {
        const char *function = table->rows[i].names[GPU_HIP][0];
        bool fails = function && hip_is_counted(function) && !is_left_out(function);
        counts[i] = fails ? hip_calls(function) : 0;
    }
}

// All functions of a table that a life calls.
static int fail_functions(const struct gpu_symbol_table *table, braid_exec_mode mode)
{
    int num_noticed = 0;
    long before[MAX_ROWS], after[MAX_ROWS];
    count_calls(table, before);
    assert_true(live(mode));
    count_calls(table, after);
    for (size_t i = 0; i < table->num_rows; i++) {
        if (after[i] > before[i])
            num_noticed += fail_calls(table->rows[i].names[GPU_HIP][0], after[i] - before[i], mode);
    }
    return num_noticed;
}

static void check_mode(braid_exec_mode mode)
{
    int num_noticed = fail_functions(&braid_gpu_symbols, mode);
    num_noticed += fail_functions(&braid_gpu_compiler_symbols, mode);
    print_message("%d failures noticed\n", num_noticed);
    assert_true(num_noticed > 20);
}

static void on_streams(void **state)
{
    (void)state;
    check_mode(BRAID_MODE_STREAMS);
}

static void as_a_native_graph(void **state)
{
    (void)state;
    hip_need_native_graphs();
    check_mode(BRAID_MODE_NATIVE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_streams),
        cmocka_unit_test(as_a_native_graph),
    };
    if (!hip_open())
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
