// SPDX-License-Identifier: Apache-2.0
// Calls through the interposer arrive whole, are counted, and fail when told to.
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cuda_abi_types.h"

static const char *library_path;
static void *library;

static void *find(const char *name)
{
    void *found = dlsym(library, name);
    if (found == NULL)
        fail_msg("%s", dlerror());
    return found;
}

// Calls a driver function through the interposer.
#define CALL(name, signature, ...) ((CUresult(*) signature)(uintptr_t)find(name))(__VA_ARGS__)

static long count_of(const char *name)
{
    long (*count)(const char *) = (long (*)(const char *))(uintptr_t)find("braid_interpose_count");
    return count(name);
}

static bool set_rules(const char *rules)
{
    bool (*set)(const char *) = (bool (*)(const char *))(uintptr_t)find("braid_interpose_fail");
    return set(rules);
}

static int open_library(void **state)
{
    CUcontext context;
    (void)state;
    library = dlopen(library_path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        fail_msg("%s", dlerror());
    assert_int_equal(CALL("cuInit", (unsigned), 0), CUDA_SUCCESS);
    assert_int_equal(CALL("cuDevicePrimaryCtxRetain", (CUcontext *, CUdevice), &context, 0),
                     CUDA_SUCCESS);
    assert_int_equal(CALL("cuCtxSetCurrent", (CUcontext), context), CUDA_SUCCESS);
    return 0;
}

static int close_library(void **state)
{
    (void)state;
    assert_true(set_rules(NULL));
    assert_int_equal(CALL("cuCtxSetCurrent", (CUcontext), NULL), CUDA_SUCCESS);
    assert_int_equal(CALL("cuDevicePrimaryCtxRelease_v2", (CUdevice), 0), CUDA_SUCCESS);
    return 0;
}

static void each_call_is_counted(void **state)
{
    (void)state;
    int count = 0;
    long before = count_of("cuDeviceGetCount"), all = count_of("*");
    for (int i = 0; i < 3; i++)
        assert_int_equal(CALL("cuDeviceGetCount", (int *), &count), CUDA_SUCCESS);
    assert_int_equal(count, 1);
    assert_int_equal(count_of("cuDeviceGetCount"), before + 3);
    assert_int_equal(count_of("*"), all + 3);
    assert_int_equal(count_of("cuNoSuchFunction"), -1);
}

struct seen {
    unsigned grid[3], block[3], shared_bytes;
    int number;
};
static struct seen seen;

__attribute__((visibility("default"))) void braid_standin_see(const unsigned grid[3],
                                                              const unsigned block[3],
                                                              unsigned shared_bytes, void **args);

void braid_standin_see(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                       void **args)
{
    memcpy(seen.grid, grid, sizeof(seen.grid));
    memcpy(seen.block, block, sizeof(seen.block));
    seen.shared_bytes = shared_bytes;
    memcpy(&seen.number, args[0], sizeof(seen.number));
}

// Eleven arguments: six in registers on x86-64, the others on the stack.
static void arguments_on_the_stack_arrive(void **state)
{
    (void)state;
    static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                              ".visible .entry see(.param .u32 see_param_0)\n{ ret; }\n";
    CUmodule module;
    CUfunction function;
    int number = 4711;
    void *params[] = { &number };
    assert_int_equal(CALL("cuModuleLoadData", (CUmodule *, const void *), &module, ptx),
                     CUDA_SUCCESS);
    assert_int_equal(CALL("cuModuleGetFunction", (CUfunction *, CUmodule, const char *), &function,
                          module, "see"),
                     CUDA_SUCCESS);
    assert_int_equal(CALL("cuLaunchKernel",
                          (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                           unsigned, CUstream, void **, void **),
                          function, 1, 2, 3, 4, 5, 6, 7, NULL, params, NULL),
                     CUDA_SUCCESS);
    assert_int_equal(CALL("cuStreamSynchronize", (CUstream), NULL), CUDA_SUCCESS);
    const struct seen expected = { { 1, 2, 3 }, { 4, 5, 6 }, 7, 4711 };
    assert_memory_equal(&seen, &expected, sizeof(expected));
    assert_int_equal(CALL("cuModuleUnload", (CUmodule), module), CUDA_SUCCESS);
}

static void the_nth_call_fails(void **state)
{
    (void)state;
    int count = 0;
    CUdeviceptr memory = 7;
    assert_true(set_rules("cuDeviceGetCount:2=999,cuMemAlloc_v2:1=2"));
    assert_int_equal(CALL("cuDeviceGetCount", (int *), &count), CUDA_SUCCESS);
    assert_int_equal(CALL("cuDeviceGetCount", (int *), &count), CUDA_ERROR_UNKNOWN);
    assert_int_equal(CALL("cuDeviceGetCount", (int *), &count), CUDA_SUCCESS);
    assert_int_equal(CALL("cuMemAlloc_v2", (CUdeviceptr *, size_t), &memory, 16),
                     CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(memory, 7);
    assert_int_equal(CALL("cuMemAlloc_v2", (CUdeviceptr *, size_t), &memory, 16), CUDA_SUCCESS);
    assert_int_equal(CALL("cuMemFree_v2", (CUdeviceptr), memory), CUDA_SUCCESS);
    assert_true(set_rules("*:2+=1"));
    assert_int_equal(CALL("cuDeviceGetCount", (int *), &count), CUDA_SUCCESS);
    assert_int_equal(CALL("cuDriverGetVersion", (int *), &count), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(CALL("cuDeviceGetCount", (int *), &count), CUDA_ERROR_INVALID_VALUE);
    assert_true(set_rules(NULL));
    assert_int_equal(CALL("cuDeviceGetCount", (int *), &count), CUDA_SUCCESS);
}

static void rules_that_cannot_be_read_are_refused(void **state)
{
    (void)state;
    assert_false(set_rules("cuMemAlloc_v2"));
    assert_false(set_rules("cuMemAlloc_v2:0=2"));
    assert_false(set_rules("cuMemAlloc_v2:1=2;cuInit:1=1"));
    assert_false(set_rules(":1=2"));
}

int main(int num_arguments, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_is_counted),
        cmocka_unit_test(arguments_on_the_stack_arrive),
        cmocka_unit_test(the_nth_call_fails),
        cmocka_unit_test(rules_that_cannot_be_read_are_refused),
    };
    if (num_arguments != 2)
        return 2;
    library_path = arguments[1];
    return cmocka_run_group_tests(tests, open_library, close_library);
}
