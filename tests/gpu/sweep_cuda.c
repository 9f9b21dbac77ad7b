// SPDX-License-Identifier: Apache-2.0
// The stand-in CUDA driver makes the calls of a sweep fail.
#include <string.h>

#include "gpu/gpu_testing.h"
#include "gpu/life_loop.h"
#include "gpu/sweep.h"
#include "support/call_paths.h"
#include "support/check.h"

static long objects_before;

static void note_calls(bool on)
{
    standin_watch(on ? call_paths_note_of_library : NULL);
}

static void fail_call(const char *function, long nth, int code)
{
    if (function)
        fail_calls("%s:%ld=%d", function, nth, code);
    else
        fail_calls(NULL);
}

static void note_objects(void)
{
    objects_before = count_objects();
}

// The counters stay where a failed call left them: what counts is what comes on top.
static void check_objects(const char *function)
{
    long left = count_objects() - objects_before, most = 0;
    if (function && sweep_may_leave_its_object(function))
        // A graph may have bodies.
        most = strcmp(function, "cuGraphDestroy") == 0 ? 1 + LIFE_BODIES : 1;
    if (left < 0 || left > most)
        fail_msg("%ld objects left over", left);
    assert_int_equal(standin_bad_accesses(), 0);
}

const struct interposer cuda_calls = {
    .note = note_calls,
    .let_fail = fail_call,
    .calls = standin_calls,
    .begin = note_objects,
    .check_left = check_objects,
};
