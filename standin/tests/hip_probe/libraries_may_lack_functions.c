// SPDX-License-Identifier: Apache-2.0
// The stand-in's variants lack exactly the functions they are there to lack, and say what version
// they are asked to.
//
// Arguments: the whole library, the one without optional functions, the one without a required one.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// cmocka.h needs the four above.
#include <cmocka.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "hip_abi.h"

enum { WHOLE, WITHOUT_OPTIONAL, WITHOUT_REQUIRED, NUM_LIBRARIES };

static void *libraries[NUM_LIBRARIES];

static void functions_are_where_they_should_be(void **state)
{
    (void)state;
    static const char *const optional[] = { "hipLaunchHostFunc", "hipMallocAsync",
                                            "hipMemPoolCreate", "hipGetDevicePropertiesR0600" };
    for (size_t i = 0; i < sizeof(optional) / sizeof(optional[0]); i++) {
        assert_non_null(dlsym(libraries[WHOLE], optional[i]));
        assert_null(dlsym(libraries[WITHOUT_OPTIONAL], optional[i]));
        assert_non_null(dlsym(libraries[WITHOUT_REQUIRED], optional[i]));
    }
    assert_non_null(dlsym(libraries[WHOLE], "hipStreamWaitEvent"));
    assert_non_null(dlsym(libraries[WITHOUT_OPTIONAL], "hipStreamWaitEvent"));
    assert_null(dlsym(libraries[WITHOUT_REQUIRED], "hipStreamWaitEvent"));
}

static void the_version_is_what_the_environment_says(void **state)
{
    (void)state;
    hipError_t (*get_version)(int *) = NULL;
    void *address = dlsym(libraries[WHOLE], "hipRuntimeGetVersion");
    assert_non_null(address);
    memcpy(&get_version, &address, sizeof(address));
    int version = 0;
    unsetenv("BRAID_STANDIN_HIP_VERSION");
    assert_int_equal(get_version(&version), hipSuccess);
    assert_int_equal(version, 60300000);
    setenv("BRAID_STANDIN_HIP_VERSION", "50200300", 1);
    assert_int_equal(get_version(&version), hipSuccess);
    assert_int_equal(version, 50200300);
}

int main(int num_arguments, char **arguments)
{
    if (num_arguments != 1 + NUM_LIBRARIES)
        return 1;
    for (int i = 0; i < NUM_LIBRARIES; i++) {
        libraries[i] = dlopen(arguments[i + 1], RTLD_NOW | RTLD_LOCAL);
        if (!libraries[i])
            return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_are_where_they_should_be),
        cmocka_unit_test(the_version_is_what_the_environment_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
