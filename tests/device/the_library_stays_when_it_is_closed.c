// SPDX-License-Identifier: Apache-2.0
// The shared library stays in a process that closes it: the handlers of audits are in it.
#include <dlfcn.h>

#include "support/check.h"

static const char *library;

static void a_closed_library_is_still_there(void **state)
{
    (void)state;
    assert_null(dlopen(library, RTLD_NOW | RTLD_NOLOAD));
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(handle);
    assert_int_equal(dlclose(handle), 0);
    assert_non_null(dlopen(library, RTLD_NOW | RTLD_NOLOAD));
}

int main(int num_arguments, char **arguments)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_closed_library_is_still_there) };
    assert_int_equal(num_arguments, 2);
    library = arguments[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
