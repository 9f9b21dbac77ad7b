// SPDX-License-Identifier: Apache-2.0
// A function that is loaded from its text gets the attributes that the program set of its own one.
#include "gpu/gpu_testing.h"
#include "import/captures.h"

#include "backends/gpu/gpu_backend.h"
#include "device/device.h"

enum { LARGE = 65536 };

static CUfunction function_of(CUmodule of)
{
    CUfunction function;
    must(cuModuleGetFunction(&function, of, "copy"));
    return function;
}

static int attribute_of(CUfunction function, CUfunction_attribute attribute)
{
    int value;
    must(cuFuncGetAttribute(&value, attribute, function));
    return value;
}

static bool copy_attributes(CUmodule own, CUmodule loaded)
{
    bool can_replace;
    check_ok(braid_gpu_copy_attributes(gpu_from(here.device->backend),
                                       (gpu_function)function_of(own),
                                       (gpu_function)function_of(loaded), false, &can_replace));
    return can_replace;
}

static void attributes_are_carried_over(void **state)
{
    (void)state;
    static const CUfunction_attribute all[] = {
        CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
        CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
        CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
    };
    static const int values[] = { LARGE, 50, 1 };
    CUmodule own, loaded;
    must(cuModuleLoadData(&own, copy_text));
    must(cuModuleLoadData(&loaded, copy_text));
    for (int i = 0; i < 3; i++)
        must(cuFuncSetAttribute(function_of(own), all[i], values[i]));
    assert_true(copy_attributes(own, loaded));
    for (int i = 0; i < 3; i++)
        assert_int_equal(attribute_of(function_of(loaded), all[i]), values[i]);
    for (long nth = 1; nth <= 2; nth++) { // an old driver
        fail_calls("cuFuncGetAttribute:%ld=%d", nth, CUDA_ERROR_INVALID_VALUE);
        assert_false(copy_attributes(own, loaded));
    }
    fail_calls(NULL);
    must(cuModuleUnload(own));
    must(cuModuleUnload(loaded));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(attributes_are_carried_over, open_captures, close_captures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
