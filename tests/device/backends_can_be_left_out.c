// SPDX-License-Identifier: Apache-2.0
// BRAID_BACKENDS and braid_device_options.backend say which backends may be used; nothing is loaded
// for any other.
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include <braid/braid.h>

#include "support/check.h"

static braid_backend_info query(const char *name)
{
    braid_backend_info info = { 0 };
    check_ok(braid_backend_get_info(name, &info));
    assert_string_equal(info.name, name);
    return info;
}

static void check_opens(const char *backend, const char *expected)
{
    const braid_device_options options = { .backend = backend, .num_workers = 1 };
    braid_device *device;
    braid_device_info info;
    check_ok(braid_device_open(&options, &device));
    braid_device_get_info(device, &info);
    assert_string_equal(info.backend, expected);
    check_ok(braid_device_close(device));
}

static void check_refused(const char *backend, braid_status status, const char *text)
{
    const braid_device_options options = { .backend = backend, .num_workers = 1 };
    braid_device *device;
    check_fails(braid_device_open(&options, &device), status, text);
}

// Whether a library is loaded in this process.
static bool is_loaded(const char *library)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
    if (handle)
        dlclose(handle);
    return handle != NULL;
}

static void a_backend_left_out_is_not_looked_for(void **state)
{
    (void)state;
    setenv("BRAID_BACKENDS", "cpu", 1);
    assert_string_equal(query("cuda").reason, "cuda is left out by BRAID_BACKENDS=cpu");
    assert_int_equal(query("hip").num_devices, 0);
    assert_int_equal(query("cpu").num_devices, 1);
    check_opens(NULL, "cpu");
    check_refused("cuda", BRAID_UNAVAILABLE, "cuda is left out by BRAID_BACKENDS=cpu");
    braid_device *device;
    check_fails(
        braid_device_open(&(braid_device_options){ .context = BRAID_CURRENT_CONTEXT }, &device),
        BRAID_UNAVAILABLE, "left out");
    assert_false(is_loaded("libcuda.so.1"));
    assert_false(is_loaded("libamdhip64.so.5"));
    assert_false(is_loaded("libamdhip64.so.6"));
}

static void several_may_be_left(void **state)
{
    (void)state;
    setenv("BRAID_BACKENDS", " cuda , cpu ", 1);
    assert_string_equal(query("hip").reason, "hip is left out by BRAID_BACKENDS= cuda , cpu ");
    assert_int_equal(query("cpu").num_devices, 1);
    setenv("BRAID_BACKENDS", "hipp,cpuu", 1);
    check_refused(NULL, BRAID_UNAVAILABLE, "cpu: cpu is left out by BRAID_BACKENDS=hipp,cpuu");
}

static void what_does_not_exist_is_named(void **state)
{
    (void)state;
    unsetenv("BRAID_BACKENDS");
    check_refused("vulkan", BRAID_INVALID_ARGUMENT, "there is no backend named 'vulkan'");
    setenv("BRAID_BACKENDS", "", 1); // as if it were not set
    check_opens("cpu", "cpu");
    unsetenv("BRAID_BACKENDS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_backend_left_out_is_not_looked_for),
        cmocka_unit_test(several_may_be_left),
        cmocka_unit_test(what_does_not_exist_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
