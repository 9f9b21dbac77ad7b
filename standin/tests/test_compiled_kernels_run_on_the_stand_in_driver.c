// SPDX-License-Identifier: Apache-2.0
// What the stand-in compiler makes of CUDA C, the stand-in driver can load and run.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "nvrtc_abi.h"

static nvrtcProgram compile(const char *source, nvrtcResult expected)
{
    nvrtcProgram program;
    const char *options[] = { "--gpu-architecture=compute_90", "-default-device" };
    assert_int_equal(nvrtcCreateProgram(&program, source, "kernels.cu", 0, NULL, NULL),
                     NVRTC_SUCCESS);
    assert_int_equal(nvrtcCompileProgram(program, 2, options), expected);
    return program;
}

static char *get_ptx(nvrtcProgram program)
{
    size_t bytes;
    assert_int_equal(nvrtcGetPTXSize(program, &bytes), NVRTC_SUCCESS);
    char *ptx = malloc(bytes);
    assert_non_null(ptx);
    assert_int_equal(nvrtcGetPTX(program, ptx), NVRTC_SUCCESS);
    assert_int_equal(strlen(ptx) + 1, bytes);
    return ptx;
}

static void check_log(const char *source, const char *expected)
{
    char log[512];
    size_t bytes;
    nvrtcProgram program = compile(source, NVRTC_ERROR_COMPILATION);
    assert_int_equal(nvrtcGetProgramLogSize(program, &bytes), NVRTC_SUCCESS);
    assert_true(bytes <= sizeof(log));
    assert_int_equal(nvrtcGetProgramLog(program, log), NVRTC_SUCCESS);
    if (strstr(log, expected) == NULL)
        fail_msg("'%s' is not in the log: %s", expected, log);
    assert_int_equal(nvrtcGetPTXSize(program, &bytes), NVRTC_ERROR_INVALID_PROGRAM);
    assert_int_equal(nvrtcDestroyProgram(&program), NVRTC_SUCCESS);
    assert_null(program);
}

static void a_compiled_kernel_runs(void **state)
{
    (void)state;
    nvrtcProgram program = compile("extern \"C\" __global__ void add_one(unsigned *word)\n"
                                   "{ if (threadIdx.x == 0) { (*word)++; } }\n",
                                   NVRTC_SUCCESS);
    char *ptx = get_ptx(program);
    unsigned *memory = make_memory(1);
    void *params[] = { &memory };
    CUmodule module;
    CUfunction function;
    must(cuModuleLoadData(&module, ptx));
    must(cuModuleGetFunction(&function, module, "add_one"));
    must(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    must(cuStreamSynchronize(NULL));
    assert_int_equal(memory[0], 1);
    must(cuModuleUnload(module));
    free_memory(memory);
    free(ptx);
    assert_int_equal(nvrtcDestroyProgram(&program), NVRTC_SUCCESS);
}

static void parameters_have_the_size_of_their_types(void **state)
{
    (void)state;
    nvrtcProgram program = compile(
        "// __global__ void in_a_comment(int n) {}\n"
        "#define WIDE(x) \\\n    __global__ void in_a_macro(int x) {}\n"
        "typedef unsigned long long u64;\n"
        "typedef float real;\n"
        "struct pair { int a; int b; };\n"
        "static __device__ int helper(struct pair p) { return p.a; }\n"
        "extern \"C\" {\n"
        "__global__ void declared_only(int n);\n"
        "__global__ __launch_bounds__(256, 2) void\n"
        "all(const float *__restrict__ a, void *b, int n, unsigned m, unsigned long l, u64 w,\n"
        "    long long s, double d, real f, char c, unsigned char u, short h, size_t z, bool t,\n"
        "    const int q[4])\n{ for (int i = 0; i < n; i++) { helper({ i, i }); } }\n"
        "}\n"
        "__global__ void mangled(int n) {}\n"
        "extern \"C\" __global__ void none(void) {}\n",
        NVRTC_SUCCESS);
    char *ptx = get_ptx(program);
    static const char *const sizes[] = { "u64", "u64", "u32", "u32", "u64", "u64", "u64", "u64",
                                         "u32", "u8",  "u8",  "u16", "u64", "u8",  "u64" };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        char line[64];
        snprintf(line, sizeof(line), ".param .%s all_param_%zu", sizes[i], i);
        assert_non_null(strstr(ptx, line));
    }
    assert_non_null(strstr(ptx, ".target sm_90"));
    assert_non_null(strstr(ptx, ".entry none(\n)"));
    assert_null(strstr(ptx, "all_param_15"));
    assert_null(strstr(ptx, "in_a_comment"));
    assert_null(strstr(ptx, "in_a_macro"));
    assert_null(strstr(ptx, "declared_only"));
    assert_null(strstr(ptx, ".entry mangled"));
    free(ptx);
    assert_int_equal(nvrtcDestroyProgram(&program), NVRTC_SUCCESS);
}

// The struct of the source below, as the compiler of this file lays it out.
struct mixed {
    char tag;
    double weight;
    short counts[3];
    const float *from, *to;
    unsigned long long total;
    unsigned char flags[5];
};

struct nested {
    char tag;
    struct mixed both[2];
    int last;
};

__attribute__((visibility("default"))) void braid_standin_takes(void);

// Found by its name and never run.
void braid_standin_takes(void)
{
}

static size_t parameter_bytes(CUfunction function, size_t index)
{
    size_t offset = 0, bytes = 0;
    must(cuFuncGetParamInfo(function, index, &offset, &bytes));
    return bytes;
}

static void structs_have_the_size_that_c_gives_them(void **state)
{
    (void)state;
    nvrtcProgram program = compile(
        "enum { ONE = 1, NUM_COUNTS = 3 };\n"
        "typedef unsigned char byte;\n"
        "typedef struct {\n"
        "    char tag; // three kinds of members\n"
        "    double weight;\n"
        "    short counts[NUM_COUNTS];\n"
        "    const float *from, *to;\n"
        "    unsigned long long total;\n"
        "    byte flags[5];\n"
        "} mixed;\n"
        "typedef struct { char tag; mixed both[2]; int last; } nested;\n"
        "typedef struct { short a, b[2]; } small;\n"
        "extern \"C\" __global__ void takes(mixed m, nested n, small s, mixed *p, small t) {}\n",
        NVRTC_SUCCESS);
    char *ptx = get_ptx(program);
    CUmodule module;
    CUfunction function;
    must(cuModuleLoadData(&module, ptx));
    must(cuModuleGetFunction(&function, module, "takes"));
    assert_int_equal(parameter_bytes(function, 0), sizeof(struct mixed));
    assert_int_equal(parameter_bytes(function, 1), sizeof(struct nested));
    assert_int_equal(parameter_bytes(function, 2), 3 * sizeof(short));
    assert_int_equal(parameter_bytes(function, 3), sizeof(void *));
    assert_int_equal(parameter_bytes(function, 4), 3 * sizeof(short));
    must(cuModuleUnload(module));
    free(ptx);
    assert_int_equal(nvrtcDestroyProgram(&program), NVRTC_SUCCESS);
}

static void structs_that_are_not_understood_are_refused(void **state)
{
    (void)state;
    check_log("typedef struct { unknown a; } s;\nextern \"C\" __global__ void f(s all) {}\n",
              "kernels.cu(2): error: the stand-in does not know the parameter type s");
}

static void errors_name_their_line(void **state)
{
    (void)state;
    check_log("int a;\n#error  no luck\n", "kernels.cu(2): error: #error directive: no luck");
    check_log("struct s { int a; };\n\nextern \"C\" __global__ void f(s all) {}\n",
              "kernels.cu(3): error: the stand-in does not know the parameter type s");
    check_log("template <typename T>\n__global__ void g(T *all) {}\n",
              "kernels.cu(2): error: the stand-in does not translate the template g");
}

static void misuse_is_an_error(void **state)
{
    (void)state;
    const char *option = "word";
    size_t bytes;
    nvrtcProgram program;
    assert_int_equal(nvrtcCreateProgram(&program, NULL, NULL, 0, NULL, NULL),
                     NVRTC_ERROR_INVALID_INPUT);
    assert_int_equal(nvrtcCreateProgram(&program, "", NULL, 0, NULL, NULL), NVRTC_SUCCESS);
    assert_int_equal(nvrtcGetPTXSize(program, &bytes), NVRTC_ERROR_INVALID_PROGRAM);
    assert_int_equal(nvrtcCompileProgram(program, 1, &option), NVRTC_ERROR_INVALID_OPTION);
    assert_int_equal(nvrtcGetCUBINSize(program, &bytes), NVRTC_ERROR_INVALID_PROGRAM);
    assert_int_equal(nvrtcDestroyProgram(&program), NVRTC_SUCCESS);
    assert_string_equal(nvrtcGetErrorString(NVRTC_ERROR_COMPILATION), "NVRTC_ERROR_COMPILATION");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_compiled_kernel_runs),
        cmocka_unit_test(parameters_have_the_size_of_their_types),
        cmocka_unit_test(structs_have_the_size_that_c_gives_them),
        cmocka_unit_test(structs_that_are_not_understood_are_refused),
        cmocka_unit_test(errors_name_their_line),
        cmocka_unit_test(misuse_is_an_error),
    };
    return cmocka_run_group_tests(tests, open_driver, close_driver);
}
