// SPDX-License-Identifier: Apache-2.0
// Whichever HIP call fails, Braid says so, leaves nothing behind, and goes on afterwards; each
// failure is told, or on the list below. The calls fail in the interposer and never reach the
// library: what its own failures leave is not tested.
// BRAID_TEST_SAMPLES=N tries N calls of each function, spread evenly, instead of all.
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/gpu/gpu_loader.h"
#include "gpu/hip/hip_testing.h"
#include "gpu/life.h"
#include "gpu/sweep.h"
#include "support/check.h"

enum { OUT_OF_MEMORY = 2 };

// The names of errors do not fail.
static bool is_left_out(const char *function)
{
    return strstr(function, "GetError") != NULL;
}

// A call that destroys and fails leaves its object with the library: nobody can help that, but the
// log is told, whenever it is.
static bool destroys(const char *function)
{
    return strstr(function, "Destroy") || strstr(function, "Free") || strstr(function, "Unload");
}

// Failures that nobody is told of, for they were made good, or change nothing but the time taken.
static const struct {
    const char *function;
    bool only_while_destroying;
    const char *reason;
} silent[] = {
    { "hipGetDevice", false, "made a second time" },
    { "hipSetDevice", false, "made a second time" },
    { "hipThreadExchangeStreamCaptureMode", false, "made a second time" },
    { "hipPeekAtLastError", false, "gives an error of before" },
    { "hipGetLastError", false, "likewise" },
    { "hipStreamSynchronize", true, "made a second time" },
    { "hipEventQuery", true, "made a second time: HIP's events are waited for by asking" },
    { "hiprtcGetProgramLogSize", false, "only the text of a message" },
    { "hiprtcGetProgramLog", false, "only the text of a message" },
};

static bool may_be_silent(const char *function, bool destroying)
{
    for (size_t i = 0; i < sizeof(silent) / sizeof(silent[0]); i++) {
        if (strcmp(silent[i].function, function) == 0)
            return destroying || !silent[i].only_while_destroying;
    }
    return false;
}

// The compiler's calls and what makes the device current have messages of their own.
static bool tells(const char *messages, const char *function)
{
    return life_names(messages, function) ||
           (strncmp(function, "hiprtc", 6) == 0 &&
            life_names(messages, "compiling kernel 'sum'")) ||
           life_names(messages, "when the device was made current");
}

static const char *current_function;

static void note_calls(struct life *life)
{
    life->calls_before_destroying = hip_calls(current_function);
}

static void check_told(const struct life *life, const char *function, bool destroying)
{
    bool returned = life->num_failed > 0 && (tells(life->returned, function) ||
                                             life_names(life->returned, "queue call returned"));
    if (!returned && !((destroying || destroys(function)) && tells(life->logged, function)) &&
        !may_be_silent(function, destroying))
        fail_msg("nobody was told of %s, while %s: returned '%s', logged '%s'", function,
                 destroying ? "destroying" : "running", life->returned, life->logged);
}

// A whole life with the nth call of a function failing; NULL: none.
static void live(const char *function, long nth)
{
    struct life life = { .backend = "hip" };
    long before = function ? hip_calls(function) : 0;
    if (function) {
        current_function = function;
        life.before_destroying = note_calls;
        hip_fail(function, nth, OUT_OF_MEMORY);
    }
    life.mode = BRAID_MODE_STREAMS;
    life_live(&life);
    bool failed = hip_has_failed();
    hip_fail(NULL, 0, 0);
    hip_check_nothing_is_left();
    if (function && failed)
        check_told(&life, function, nth > life.calls_before_destroying - before);
    else
        assert_int_equal(life.num_failed, 0);
}

// How many calls of a function to fail, of so many.
static long choose_samples(long num_calls)
{
    const char *text = getenv("BRAID_TEST_SAMPLES");
    long num = text ? strtol(text, NULL, 10) : num_calls;
    return num < num_calls ? num : num_calls;
}

static int fail_calls(const char *function, long num_calls)
{
    long num = choose_samples(num_calls);
    for (long i = 0; i < num; i++)
        live(function, num == 1 ? 1 : 1 + i * (num_calls - 1) / (num - 1));
    return (int)num;
}

enum { MAX_ROWS = 128 };

// Under the name that the library has.
static const char *name_of(const struct gpu_symbol *row)
{
    const char *const *names = row->names[GPU_HIP];
    return names[0] && names[1] && !hip_is_counted(names[0]) ? names[1] : names[0];
}

static void count_calls(const struct gpu_symbol_table *table, long *counts)
{
    assert_true(table->num_rows <= MAX_ROWS);
    for (size_t i = 0; i < table->num_rows; i++) {
        const char *function = name_of(&table->rows[i]);
        bool fails = function && hip_is_counted(function) && !is_left_out(function);
        counts[i] = fails ? hip_calls(function) : 0;
    }
}

// All functions of a table that a life calls.
static int fail_functions(const struct gpu_symbol_table *table)
{
    int num = 0;
    long before[MAX_ROWS], after[MAX_ROWS];
    count_calls(table, before);
    live(NULL, 0);
    count_calls(table, after);
    for (size_t i = 0; i < table->num_rows; i++) {
        if (after[i] > before[i] && sweep_tries(name_of(&table->rows[i])))
            num += fail_calls(name_of(&table->rows[i]), after[i] - before[i]);
    }
    return num;
}

static void on_streams(void **state)
{
    (void)state;
    int num = fail_functions(&braid_gpu_symbols);
    num += fail_functions(&braid_gpu_compiler_symbols);
    print_message("summary: %d failures told, one a life\n", num);
    assert_true(num > 50 || !sweep_is_whole());
}

// HIP's events are waited for by asking: often at first, then between sleeps.
enum { OFTEN = 60 };
static atomic_bool gate_is_open;

static void wait_for_gate(void *user)
{
    long before = *(long *)user;
    while (!atomic_load(&gate_is_open) && hip_calls("hipEventQuery") - before < 2 * OFTEN)
        sched_yield();
}

static void a_wait_that_asks_often(void **state)
{
    (void)state;
    for (long nth = 1; nth <= OFTEN; nth += OFTEN - 1) {
        struct frame frame;
        braid_event *event = NULL;
        long before = hip_calls("hipEventQuery");
        check_ok(frame_open(&frame, "hip"));
        check_ok(braid_event_create(frame.device, NULL, &event));
        atomic_store(&gate_is_open, false);
        check_ok(braid_stream_host_call(frame.device, frame.stream, wait_for_gate, &before));
        check_ok(braid_event_record(event, frame.stream));
        hip_fail("hipEventQuery", nth, OUT_OF_MEMORY);
        check_fails(braid_event_synchronize(event), BRAID_NO_MEMORY, "hipEventQuery");
        hip_fail(NULL, 0, 0);
        atomic_store(&gate_is_open, true);
        check_ok(braid_event_synchronize(event));
        braid_event_destroy(event);
        frame_finish(&frame);
        hip_check_nothing_is_left();
    }
}

// The program's own device is current, and is again, at the second try if need be.
static void another_device_is_current(void **state)
{
    (void)state;
    braid_device *device = NULL;
    const braid_device_options second = { .backend = "hip", .ordinal = 1 };
    if (braid_device_open(&second, &device))
        skip_because(braid_error_message());
    hip_fail("hipSetDevice", 1, OUT_OF_MEMORY);
    check_fails(braid_stream_query(device, NULL), BRAID_DEVICE_ERROR,
                "when the device was made current");
    long before = hip_calls("hipSetDevice");
    hip_fail("hipSetDevice", 2, OUT_OF_MEMORY);
    check_ok(braid_stream_query(device, NULL));
    hip_fail(NULL, 0, 0);
    assert_int_equal(hip_calls("hipSetDevice") - before, 3);
    braid_device_close(device);
    hip_check_nothing_is_left();
}

// Whether devices reach each other's memory is asked, and made so, when they become a group.
static void devices_become_a_group(void **state)
{
    (void)state;
    static const char *const functions[] = { "hipDeviceCanAccessPeer",
                                             "hipDeviceEnablePeerAccess" };
    braid_device *devices[2] = { NULL };
    braid_device *group = NULL;
    check_ok(braid_device_open(&(braid_device_options){ .backend = "hip" }, &devices[0]));
    const braid_device_options second = { .backend = "hip", .ordinal = 1 };
    if (braid_device_open(&second, &devices[1])) {
        check_ok(braid_device_close(devices[0]));
        skip_because(braid_error_message());
    }
    for (int i = 0; i < 2; i++) {
        hip_fail(functions[i], 1, OUT_OF_MEMORY);
        check_fails(braid_device_open_group(devices, 2, &group), BRAID_NO_MEMORY, functions[i]);
        hip_fail(NULL, 0, 0);
    }
    check_ok(braid_device_open_group(devices, 2, &group));
    braid_device_info info;
    braid_device_get_info(group, &info);
    assert_true(info.place_model->links[1].is_direct);
    check_ok(braid_device_close(group));
    for (int i = 0; i < 2; i++)
        check_ok(braid_device_close(devices[i]));
    hip_check_nothing_is_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_streams),
        cmocka_unit_test(a_wait_that_asks_often),
        cmocka_unit_test(another_device_is_current),
        cmocka_unit_test(devices_become_a_group),
    };
    if (!hip_open())
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
