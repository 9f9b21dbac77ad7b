// SPDX-License-Identifier: Apache-2.0
// Whichever driver call fails, Braid says so, leaves nothing behind, and goes on afterwards.
#include <stdio.h>
#include <string.h>

#include "backends/gpu/gpu_loader.h"
#include "gpu/gpu_testing.h"
#include "support/check.h"

enum { OUT_OF_MEMORY = 2, UNKNOWN_ERROR = 999 };

// A destroy call that fails leaves its object with the driver: nobody can help that.
static bool may_leave_its_object(const char *function)
{
    return strstr(function, "Destroy") || strstr(function, "Free") || strstr(function, "Unload") ||
           strstr(function, "Release");
}

static void fail_call(const char *function, long nth, int code)
{
    char text[96];
    snprintf(text, sizeof(text), "%s:%ld=%d", function, nth, code);
    assert_true(standin_configure("BRAID_STANDIN_FAIL", text));
}

static void fail_nothing(void)
{
    assert_true(standin_configure("BRAID_STANDIN_FAIL", NULL));
}

static void check_message(braid_status status)
{
    if (status == BRAID_OK || status == BRAID_UNAVAILABLE)
        return;
    const char *message = braid_error_message();
    bool named = strstr(message, " from cu") || strstr(message, "native call returned") ||
                 strstr(message, "when the device was made current");
    if (!named)
        fail_msg("'%s' names no driver call", message);
}

// Nothing is half-made: the next frame runs, whatever happened to the one before.
static void check_next_frame(struct frame *frame)
{
    check_ok(frame_run(frame, 7));
    check_ok(frame_read(frame));
    assert_int_equal(frame->read[5], frame_result(7));
}

// A whole life with failures until the second frame; false when something failed.
static bool live(braid_exec_mode mode)
{
    struct frame frame;
    braid_status status = frame_open(&frame, "cuda");
    if (!status)
        status = frame_create_exec(&frame, mode);
    bool created = status == BRAID_OK;
    if (!status)
        status = frame_run(&frame, 1);
    check_message(status);
    fail_nothing();
    if (created)
        check_next_frame(&frame);
    frame_finish(&frame);
    check_nothing_is_left();
    return status == BRAID_OK;
}

// Fails the first, second, ... call of one function until there are no more; counts the failures
// that reached the program. Optional properties may fail unnoticed.
static int fail_each_call(const char *function, int code, braid_exec_mode mode)
{
    int num_noticed = 0;
    for (long nth = 1;; nth++) {
        long before = standin_calls(function);
        fail_call(function, nth, code);
        num_noticed += !live(mode);
        if (standin_calls(function) - before < nth)
            return num_noticed;
    }
}

static void check_mode(braid_exec_mode mode, int code)
{
    int num_noticed = 0;
    reset_standin();
    for (size_t i = 0; i < braid_gpu_symbols.num_rows; i++) {
        char function[64];
        const char *name = braid_gpu_symbols.rows[i].names[GPU_CUDA][0];
        if (!name || may_leave_its_object(name))
            continue;
        // The stand-in counts all versions of a function under its plain name.
        snprintf(function, sizeof(function), "%.*s", (int)strcspn(name, "_"), name);
        num_noticed += fail_each_call(function, code, mode);
    }
    assert_true(num_noticed > 30);
}

static void on_streams(void **state)
{
    (void)state;
    check_mode(BRAID_MODE_STREAMS, OUT_OF_MEMORY);
    check_mode(BRAID_MODE_STREAMS, UNKNOWN_ERROR);
}

static void as_a_native_graph(void **state)
{
    (void)state;
    check_mode(BRAID_MODE_NATIVE, OUT_OF_MEMORY);
    check_mode(BRAID_MODE_NATIVE, UNKNOWN_ERROR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_streams),
        cmocka_unit_test(as_a_native_graph),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
