// SPDX-License-Identifier: Apache-2.0
// A library that is not there, is another one, lacks a required symbol, or is old.
#include "support/check.h"

#include <string.h>

#include "backends/gpu/gpu_api.h"
#include "backends/gpu/gpu_loader.h"
#include "device/backend.h"

struct slots {
    int (*open)(void);
    int (*close)(void);
    int (*extra)(void);
    int (*hip_only)(void);
};

static const struct gpu_symbol rows[] = {
    { .offset = offsetof(struct slots, open), .names = { { "stub_open" }, { "stub_open" } } },
    { .offset = offsetof(struct slots, close),
      .names = { { "stub_close_v2", "stub_close" }, { "stub_close_v2" } } },
    { .offset = offsetof(struct slots, extra),
      .names = { { "stub_extra" } },
      .optional = { [GPU_CUDA] = true } },
    { .offset = offsetof(struct slots, hip_only), .names = { [GPU_HIP] = { "stub_hip" } } },
};

static const struct gpu_symbol_table table = { rows, sizeof(rows) / sizeof(rows[0]) };

static void *load(const char *const *libraries, struct slots *slots, char *reason)
{
    *slots = (struct slots){ 0 };
    return braid_gpu_load(&table, GPU_CUDA, libraries, slots, reason, 512);
}

static void a_missing_library_is_named_with_all_that_was_tried(void **state)
{
    (void)state;
    static const char *const libraries[] = { "libbraid-none.so.1", "libbraid-none.so", NULL };
    struct slots slots;
    char reason[512];
    assert_null(load(libraries, &slots, reason));
    assert_non_null(strstr(reason, "libbraid-none.so.1: cannot open shared object file"));
    assert_non_null(strstr(reason, "(tried libbraid-none.so.1, libbraid-none.so)"));
    assert_null(slots.open);
}

static void another_library_under_the_name_is_refused(void **state)
{
    (void)state;
    static const char *const libraries[] = { STUB_FOLDER "/libstub0.so", NULL };
    struct slots slots;
    char reason[512];
    assert_null(load(libraries, &slots, reason));
    assert_non_null(strstr(reason, "libstub0.so: has no symbol stub_open"));
}

static void a_missing_required_symbol_is_named_and_nothing_is_filled(void **state)
{
    (void)state;
    static const char *const libraries[] = { STUB_FOLDER "/libstub1.so", NULL };
    struct slots slots;
    char reason[512];
    assert_null(load(libraries, &slots, reason));
    assert_non_null(strstr(reason, "has no symbol stub_close_v2"));
    assert_null(slots.open);
}

static void an_old_library_leaves_optional_slots_empty(void **state)
{
    (void)state;
    static const char *const libraries[] = { STUB_FOLDER "/libstub2.so", NULL };
    struct slots slots;
    char reason[512];
    assert_non_null(load(libraries, &slots, reason));
    assert_int_equal(slots.open(), 2);
    assert_int_equal(slots.close(), 20);
    assert_null(slots.extra);
    assert_null(slots.hip_only);
}

static void the_first_library_that_fits_is_taken(void **state)
{
    (void)state;
    static const char *const libraries[] = { "libbraid-none.so", STUB_FOLDER "/libstub1.so",
                                             STUB_FOLDER "/libstub3.so", STUB_FOLDER "/libstub2.so",
                                             NULL };
    struct slots slots;
    char reason[512];
    assert_non_null(load(libraries, &slots, reason));
    assert_int_equal(slots.open(), 3);
    assert_int_equal(slots.close(), 30);
    assert_int_equal(slots.extra(), 31);
}

static void a_reason_is_cut_to_fit(void **state)
{
    (void)state;
    static const char *const libraries[] = { "libbraid-none.so.1", NULL };
    struct slots slots;
    char reason[16];
    memset(reason, 'x', sizeof(reason));
    assert_null(braid_gpu_load(&table, GPU_CUDA, libraries, &slots, reason, 10));
    assert_int_equal(strlen(reason), 9);
    assert_int_equal(reason[10], 'x');
}

// The test runs with libraries of the drivers' names that hold none of their symbols.
static void drivers_say_why_they_are_not_available(void **state)
{
    (void)state;
    char reason[512];
    uint32_t num_devices = 7;
    braid_cuda_driver.query(&braid_cuda_driver, &num_devices, reason, sizeof(reason));
    assert_int_equal(num_devices, 0);
    assert_non_null(strstr(reason, "libcuda.so.1: has no symbol cuInit"));
    assert_non_null(strstr(reason, "(tried libcuda.so.1, libcuda.so)"));

    struct backend *backend = NULL;
    check_fails(braid_cuda_driver.open(&braid_cuda_driver, &(braid_device_options){ 0 }, &backend),
                BRAID_UNAVAILABLE, "cuda not available: libcuda.so.1: has no symbol cuInit");
    assert_null(backend);

    num_devices = 7;
    braid_hip_driver.query(&braid_hip_driver, &num_devices, reason, sizeof(reason));
    assert_int_equal(num_devices, 0);
    assert_non_null(strstr(reason, "libamdhip64.so.7: has no symbol hipInit"));
}

static void a_call_is_named_after_its_slot(void **state)
{
    (void)state;
    const size_t slot = offsetof(struct gpu_api, launch);
    assert_string_equal(braid_gpu_symbol_name(&braid_gpu_symbols, GPU_CUDA, slot),
                        "cuLaunchKernel");
    assert_string_equal(braid_gpu_symbol_name(&braid_gpu_symbols, GPU_HIP, slot),
                        "hipModuleLaunchKernel");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_library_is_named_with_all_that_was_tried),
        cmocka_unit_test(another_library_under_the_name_is_refused),
        cmocka_unit_test(a_missing_required_symbol_is_named_and_nothing_is_filled),
        cmocka_unit_test(an_old_library_leaves_optional_slots_empty),
        cmocka_unit_test(the_first_library_that_fits_is_taken),
        cmocka_unit_test(a_reason_is_cut_to_fit),
        cmocka_unit_test(drivers_say_why_they_are_not_available),
        cmocka_unit_test(a_call_is_named_after_its_slot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
