// SPDX-License-Identifier: Apache-2.0
// HIP calls through the interposer arrive whole at the library behind it, are counted, and fail
// when told to.
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "hip_abi_types.h"

static const char *library_path;
static void *library;

static void *find(const char *name)
{
    void *found = dlsym(library, name);
    if (found == NULL)
        fail_msg("%s", dlerror());
    return found;
}

// Calls a function of HIP through the interposer.
#define CALL(name, signature, ...) ((hipError_t(*) signature)(uintptr_t)find(name))(__VA_ARGS__)

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
    (void)state;
    library = dlopen(library_path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        fail_msg("%s", dlerror());
    assert_int_equal(CALL("hipInit", (unsigned), 0), hipSuccess);
    return 0;
}

static int clear_rules(void **state)
{
    (void)state;
    assert_true(set_rules(NULL));
    return 0;
}

static void each_call_is_counted(void **state)
{
    (void)state;
    int count = 0;
    long before = count_of("hipGetDeviceCount"), all = count_of("*");
    for (int i = 0; i < 3; i++)
        assert_int_equal(CALL("hipGetDeviceCount", (int *), &count), hipSuccess);
    assert_int_equal(count, 1);
    assert_int_equal(count_of("hipGetDeviceCount"), before + 3);
    assert_int_equal(count_of("*"), all + 3);
    assert_int_equal(count_of("hipNoSuchFunction"), -1);
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
    void *module, *function;
    int number = 4711;
    void *params[] = { &number };
    assert_int_equal(CALL("hipModuleLoadData", (void **, const void *), &module, ptx), hipSuccess);
    assert_int_equal(
        CALL("hipModuleGetFunction", (void **, void *, const char *), &function, module, "see"),
        hipSuccess);
    assert_int_equal(CALL("hipModuleLaunchKernel",
                          (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                           unsigned, hipStream_t, void **, void **),
                          function, 1, 2, 3, 4, 5, 6, 7, NULL, params, NULL),
                     hipSuccess);
    assert_int_equal(CALL("hipStreamSynchronize", (hipStream_t), NULL), hipSuccess);
    const struct seen expected = { { 1, 2, 3 }, { 4, 5, 6 }, 7, 4711 };
    assert_memory_equal(&seen, &expected, sizeof(expected));
    assert_int_equal(CALL("hipModuleUnload", (void *), module), hipSuccess);
}

static void the_nth_call_fails(void **state)
{
    (void)state;
    int count = 0;
    void *memory = &count;
    assert_true(set_rules("hipGetDeviceCount:2=999,hipMalloc:1=2"));
    assert_int_equal(CALL("hipGetDeviceCount", (int *), &count), hipSuccess);
    assert_int_equal(CALL("hipGetDeviceCount", (int *), &count), hipErrorUnknown);
    assert_int_equal(CALL("hipGetDeviceCount", (int *), &count), hipSuccess);
    assert_int_equal(CALL("hipMalloc", (void **, size_t), &memory, 16), hipErrorOutOfMemory);
    assert_ptr_equal(memory, &count); // nothing was done
    assert_int_equal(CALL("hipMalloc", (void **, size_t), &memory, 16), hipSuccess);
    assert_int_equal(CALL("hipFree", (void *), memory), hipSuccess);
    assert_true(set_rules(NULL));
}

int main(int num_arguments, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_is_counted),
        cmocka_unit_test(arguments_on_the_stack_arrive),
        cmocka_unit_test(the_nth_call_fails),
    };
    if (num_arguments != 2)
        return 2;
    library_path = arguments[1];
    return cmocka_run_group_tests(tests, open_library, clear_rules);
}
