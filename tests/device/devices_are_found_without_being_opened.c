// SPDX-License-Identifier: Apache-2.0
// Backends have an order, and each tells of its devices as an open device tells of itself. The
// arguments name the backend (cpu, cuda or hip), and say how many devices it has.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <braid/braid.h>

#include "support/check.h"
#include "support/owner.h"

static const char *backend = "cpu";
static uint32_t num_devices = 1;

static void backends_have_an_order(void **state)
{
    (void)state;
    static const char *const names[] = { "cuda", "hip", "cpu" };
    for (size_t i = 0; i < 3; i++) {
        braid_backend_info info;
        assert_string_equal(braid_backend_get_name(i), names[i]);
        check_ok(braid_backend_get_info(names[i], &info));
        assert_ptr_equal(info.name, braid_backend_get_name(i));
    }
    assert_null(braid_backend_get_name(3));
    assert_null(braid_backend_get_name(SIZE_MAX));
}

static void check_found(uint32_t ordinal)
{
    braid_found_device found;
    braid_device_info info;
    char bus_id[32] = "";
    check_ok(braid_backend_get_device(backend, ordinal, &found));
    braid_device_get_info(own_device_with(&(braid_device_options){
                              .backend = backend, .ordinal = ordinal, .cache = "off" }),
                          &info);
    assert_string_equal(found.backend, info.backend);
    assert_string_equal(found.name, info.name);
    assert_int_equal(found.ordinal, ordinal);
    assert_int_equal(found.memory_bytes, info.memory_bytes);
    assert_int_equal(found.num_units, info.num_units);
    assert_int_equal(found.max_threads_per_block, info.max_threads_per_block);
    if (strcmp(backend, "cpu") != 0)
        snprintf(bus_id, sizeof(bus_id), "0000:%02x:00.0", ordinal); // the stand-in's
    assert_string_equal(found.bus_id, bus_id);
}

static void they_are_as_when_they_are_open(void **state)
{
    (void)state;
    braid_backend_info info;
    check_ok(braid_backend_get_info(backend, &info));
    assert_int_equal(info.num_devices, num_devices);
    for (uint32_t i = 0; i < num_devices; i++)
        check_found(i);
}

// As opening them fails.
static void devices_that_are_not_there_are_told(void **state)
{
    (void)state;
    braid_found_device found = { .ordinal = 77 };
    braid_device *device;
    const braid_device_options options = { .backend = backend, .ordinal = num_devices };
    braid_status expected = braid_device_open(&options, &device);
    char message[512];
    snprintf(message, sizeof(message), "%s", braid_error_get_message());
    check_fails(braid_backend_get_device(backend, num_devices, &found), expected, message);
    check_fails(braid_backend_get_device("abacus", 0, &found), BRAID_INVALID_ARGUMENT,
                "braid_backend_get_device: there is no backend named 'abacus'");
    setenv("BRAID_BACKENDS", "none", 1);
    check_fails(braid_backend_get_device(backend, 0, &found), BRAID_UNAVAILABLE,
                "is left out by BRAID_BACKENDS=none");
    unsetenv("BRAID_BACKENDS");
    assert_int_equal(found.ordinal, 77);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        owning_test(backends_have_an_order),
        owning_test(they_are_as_when_they_are_open),
        owning_test(devices_that_are_not_there_are_told),
    };
    backend = argc > 1 ? argv[1] : backend;
    num_devices = argc > 2 ? (uint32_t)atoi(argv[2]) : num_devices;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
