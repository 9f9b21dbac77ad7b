// SPDX-License-Identifier: Apache-2.0
// The HIP column over a library without a required function, without the functions that came after
// ROCm 5.2, and without a device. The argument says which of them the environment has.
#include <stdio.h>
#include <string.h>

#include "device/backend.h"
#include "gpu/frame.h"
#include "support/check.h"

static void check_unavailable(const char *reason)
{
    braid_device *device = NULL;
    check_fails(braid_device_open(&(braid_device_options){ .backend = "hip" }, &device),
                BRAID_UNAVAILABLE, "hip not available");
    if (!strstr(braid_error_get_message(), reason))
        fail_msg("'%s' does not say '%s'", braid_error_get_message(), reason);
    assert_null(device);
}

static void a_missing_required_function_is_named(void **state)
{
    (void)state;
    check_unavailable("libamdhip64.so.7: has no symbol hipStreamWaitEvent");
    check_unavailable(
        "(tried libamdhip64.so.7, libamdhip64.so.6, libamdhip64.so.5, libamdhip64.so)");
}

static void a_library_without_a_device_says_so(void **state)
{
    (void)state;
    check_unavailable("hipInit: hipErrorInvalidDevice (101)");
}

// Whether AMD's own library is here and finds no device.
static void amds_library_without_a_device_says_so(void **state)
{
    (void)state;
    char reason[512];
    uint32_t num_devices = 0;
    braid_hip_driver.query(&braid_hip_driver, &num_devices, reason, sizeof(reason));
    if (num_devices > 0)
        skip_because("there is a HIP device here");
    if (strstr(reason, "cannot open shared object file"))
        skip_because(reason);
    check_unavailable("hipInit: hipError"); // InvalidDevice in 5.2, NoDevice in newer ones
}

static void an_old_library_runs_frames_on_streams(void **state)
{
    (void)state;
    struct frame frame;
    check_ok(frame_open(&frame, "hip"));
    check_ok(frame_create_exec(&frame, BRAID_MODE_STREAMS));
    for (uint32_t i = 0; i < 10; i++) {
        check_ok(frame_run(&frame, i));
        check_ok(frame_read(&frame));
        assert_int_equal(frame.read[5], frame_result(i));
    }
    assert_int_equal(frame.num_host_calls, 10);
    frame_finish(&frame);
}

static const struct CMUnitTest required[] = {
    cmocka_unit_test(a_missing_required_function_is_named),
};

static const struct CMUnitTest no_device[] = {
    cmocka_unit_test(a_library_without_a_device_says_so),
};

static const struct CMUnitTest amd[] = {
    cmocka_unit_test(amds_library_without_a_device_says_so),
};

static const struct CMUnitTest old[] = {
    cmocka_unit_test(an_old_library_runs_frames_on_streams),
};

int main(int num_arguments, char **arguments)
{
    const char *which = num_arguments > 1 ? arguments[1] : "";
    if (strcmp(which, "required") == 0)
        return cmocka_run_group_tests(required, NULL, NULL);
    if (strcmp(which, "no device") == 0)
        return cmocka_run_group_tests(no_device, NULL, NULL);
    if (strcmp(which, "amd") == 0)
        return cmocka_run_group_tests(amd, NULL, NULL);
    if (strcmp(which, "old") == 0)
        return cmocka_run_group_tests(old, NULL, NULL);
    fprintf(stderr, "usage: %s required|no device|amd|old\n", arguments[0]);
    return 1;
}
