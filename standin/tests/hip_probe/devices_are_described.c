// SPDX-License-Identifier: Apache-2.0
// Devices can be counted, named and asked for numbers, and a device that is not there is refused.
#include "probe.h"

#include <string.h>

static void a_device_has_a_name_memory_and_processors(void **state)
{
    (void)state;
    char name[256] = "";
    size_t num_bytes = 0;
    int num_processors = 0;
    int block_size = 0;
    check(hip.hipDeviceGetName(name, sizeof(name), 0));
    check(hip.hipDeviceTotalMem(&num_bytes, 0));
    check(hip.hipDeviceGetAttribute(&num_processors, hipDeviceAttributeMultiprocessorCount, 0));
    check(hip.hipDeviceGetAttribute(&block_size, hipDeviceAttributeMaxThreadsPerBlock, 0));
    print_message("# %s, %zu MiB, %d processors\n", name, num_bytes >> 20, num_processors);
    assert_true(strlen(name) > 0);
    assert_true(num_bytes > 0);
    assert_true(num_processors > 0);
    assert_int_equal(block_size, 1024);
}

static void a_thread_begins_on_device_zero(void **state)
{
    (void)state;
    int device = -1;
    check(hip.hipGetDevice(&device));
    assert_int_equal(device, 0);
    check(hip.hipSetDevice(0));
}

static void a_device_that_is_not_there_is_refused(void **state)
{
    (void)state;
    assert_int_equal(hip.hipSetDevice(4711), hipErrorInvalidDevice);
    int device = -1;
    check(hip.hipGetDevice(&device));
    assert_int_equal(device, 0);
}

static void errors_have_hips_names(void **state)
{
    (void)state;
    assert_string_equal(hip.hipGetErrorName(hipSuccess), "hipSuccess");
    assert_string_equal(hip.hipGetErrorName(hipErrorNotReady), "hipErrorNotReady");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_has_a_name_memory_and_processors),
        cmocka_unit_test(a_thread_begins_on_device_zero),
        cmocka_unit_test(a_device_that_is_not_there_is_refused),
        cmocka_unit_test(errors_have_hips_names),
    };
    return probe_run(tests);
}
