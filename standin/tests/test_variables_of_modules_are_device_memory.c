// SPDX-License-Identifier: Apache-2.0
// All kernels of a module see its variables, and the program reaches them by name.
#include "driver.h"

static const char counting[] = ".version 7.8\n"
                               ".target sm_90\n"
                               ".address_size 64\n"
                               ".visible .global .align 4 .u32 counter = 5;\n"
                               ".visible .const .align 8 .b8 table[24];\n"
                               ".visible .entry count_up()\n"
                               "{\n"
                               ".reg .u32 %v;\n"
                               "ld.global.u32 %v, [counter];\n"
                               "add.u32 %v, %v, 1;\n"
                               "st.global.u32 [counter], %v;\n"
                               "ret;\n"
                               "}\n"
                               ".visible .entry count_double()\n"
                               "{\n"
                               ".reg .u32 %v;\n"
                               "ld.global.u32 %v, [counter];\n"
                               "add.u32 %v, %v, %v;\n"
                               "st.global.u32 [counter], %v;\n"
                               "ret;\n"
                               "}\n";

static void launch(CUfunction function)
{
    must(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
}

static void kernels_and_the_program_share_them(void **state)
{
    (void)state;
    CUmodule module;
    CUfunction up, twice;
    CUdeviceptr counter = 0, table = 0, start = 0;
    size_t bytes = 0;
    unsigned value = 0;
    must(cuModuleLoadData(&module, counting));
    must(cuModuleGetFunction(&up, module, "count_up"));
    must(cuModuleGetFunction(&twice, module, "count_double"));
    must(cuModuleGetGlobal_v2(&counter, &bytes, module, "counter"));
    assert_int_equal(bytes, 4);
    launch(up);
    launch(twice);
    must(cuMemcpyDtoH_v2(&value, counter, 4));
    assert_int_equal(value, 12);
    value = 20;
    must(cuMemcpyHtoD_v2(counter, &value, 4));
    launch(up);
    must(cuMemcpyDtoH_v2(&value, counter, 4));
    assert_int_equal(value, 21);
    must(cuModuleGetGlobal_v2(&table, NULL, module, "table"));
    must(cuModuleGetGlobal_v2(NULL, &bytes, module, "table"));
    assert_int_equal(bytes, 24);
    assert_int_equal(table % 8, 0);
    must(cuMemGetAddressRange_v2(&start, NULL, table));
    must(cuMemcpyDtoH_v2(&value, table + 20, 4));
    assert_int_equal(value, 0);
    must_be(cuModuleGetGlobal_v2(&table, NULL, module, "nothing"), CUDA_ERROR_NOT_FOUND);
    must_be(cuModuleGetGlobal_v2(NULL, NULL, module, "table"), CUDA_ERROR_INVALID_VALUE);
    must_be(cuModuleGetGlobal_v2(&table, NULL, module, NULL), CUDA_ERROR_INVALID_VALUE);
    must(cuModuleUnload(module));
    must_be(cuModuleGetGlobal_v2(&table, NULL, module, "table"), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(standin_live("memory"), 0);
}

static void kernels_may_be_skipped(void **state)
{
    (void)state;
    CUmodule module;
    CUfunction up;
    CUdeviceptr counter = 0;
    unsigned value = 0;
    assert_true(standin_configure("BRAID_STANDIN_PTX", "3"));
    must(cuModuleLoadData(&module, counting));
    must(cuModuleGetFunction(&up, module, "count_up"));
    must(cuModuleGetGlobal_v2(&counter, NULL, module, "counter"));
    launch(up);
    must(cuMemcpyDtoH_v2(&value, counter, 4));
    assert_int_equal(value, 5);
    must(cuModuleUnload(module));
}

static void each_module_has_its_own(void **state)
{
    (void)state;
    CUmodule first, second;
    CUfunction up;
    CUdeviceptr here, there;
    unsigned value = 0;
    must(cuModuleLoadData(&first, counting));
    must(cuModuleLoadData(&second, counting));
    must(cuModuleGetFunction(&up, first, "count_up"));
    must(cuModuleGetGlobal_v2(&here, NULL, first, "counter"));
    must(cuModuleGetGlobal_v2(&there, NULL, second, "counter"));
    launch(up);
    must(cuMemcpyDtoH_v2(&value, here, 4));
    assert_int_equal(value, 6);
    must(cuMemcpyDtoH_v2(&value, there, 4));
    assert_int_equal(value, 5);
    must(cuModuleUnload(first));
    must(cuModuleUnload(second));
}

static void libraries_have_them_in_each_context(void **state)
{
    (void)state;
    CUlibrary library;
    CUmodule module;
    CUdeviceptr counter, of_module;
    size_t bytes = 0;
    must(cuLibraryLoadData(&library, counting, NULL, NULL, 0, NULL, NULL, 0));
    must(cuLibraryGetGlobal(&counter, &bytes, library, "counter"));
    must(cuLibraryGetModule(&module, library));
    must(cuModuleGetGlobal_v2(&of_module, NULL, module, "counter"));
    assert_int_equal(counter, of_module);
    assert_int_equal(bytes, 4);
    must_be(cuLibraryGetGlobal(&counter, NULL, library, "nothing"), CUDA_ERROR_NOT_FOUND);
    must_be(cuLibraryGetGlobal(NULL, NULL, library, "counter"), CUDA_ERROR_INVALID_VALUE);
    must(cuLibraryUnload(library));
    must_be(cuLibraryGetGlobal(&counter, NULL, library, "counter"), CUDA_ERROR_INVALID_HANDLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(kernels_and_the_program_share_them, open_interpreter,
                                        close_interpreter),
        cmocka_unit_test_setup_teardown(kernels_may_be_skipped, open_interpreter,
                                        close_interpreter),
        cmocka_unit_test_setup_teardown(each_module_has_its_own, open_interpreter,
                                        close_interpreter),
        cmocka_unit_test_setup_teardown(libraries_have_them_in_each_context, open_interpreter,
                                        close_interpreter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
