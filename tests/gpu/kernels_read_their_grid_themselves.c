// SPDX-License-Identifier: Apache-2.0
// Text whose kernels are to read their grid from memory: each entry takes one parameter more and
// sees that grid wherever it asks for its own; text in which that would not do stays as it is.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/gpu/gpu_ptx_grid.h"
#include "backends/gpu/gpu_ptx_words.h"
#include "backends/gpu/gpu_source_grid.h"
#include "gpu/cut_off.h"
#include "support/check.h"

#define HEAD ".version 7.4\n.target sm_80\n"
#define MORE ".param .u64 braid_grid_from)"
#define READ                                                                                       \
    "ld.param.u64 %braid_from, [braid_grid_from];", "ld.global.u32 %braid_grid_x, [%braid_from];", \
        "ld.global.u32 %braid_grid_y, [%braid_from+4];",                                           \
        "ld.global.u32 %braid_grid_z, [%braid_from+8];", "ret;"

static char *change(const char *text)
{
    const char *reason;
    char *changed = braid_gpu_ptx_with_read_grid(text, &reason);
    if (!changed)
        fail_msg("'%s' is left alone, since %s", text, reason ? reason : "memory ran out");
    return changed;
}

// The parts follow each other in the changed text.
static void check_text(const char *text, const char *const *parts)
{
    char *changed = change(text);
    const char *at = changed;
    for (; *parts; parts++) {
        at = strstr(at, *parts);
        if (!at)
            fail_msg("'%s' is not where it should be in:\n%s", *parts, changed);
        at += strlen(*parts);
    }
    free(changed);
}

static void check_refused(const char *text, const char *expected)
{
    const char *reason = NULL;
    assert_null(braid_gpu_ptx_with_read_grid(text, &reason));
    assert_non_null(reason);
    assert_string_equal(reason, expected);
}

static void every_entry_takes_one_parameter_more(void **state)
{
    (void)state;
    check_text(HEAD ".entry a(.param .u64 x)\n.maxntid 32, 1, 1\n{ st.u32 [%r1], 0; ret; }\n"
                    ".entry b() { ret; }\n.entry c { ret; }\n.entry d(.param .u64 x);\n",
               (const char *const[]){ "a(.param .u64 x, " MORE "\n.maxntid 32, 1, 1\n{", READ,
                                      "st.u32 [%r1], 0; ret; }", "b(" MORE " {", READ, "ret; }",
                                      "c(" MORE, READ, "ret; }", "d(.param .u64 x, " MORE ";",
                                      NULL });
}

static void entries_see_the_grid_that_was_read(void **state)
{
    (void)state;
    char *changed = change(HEAD ".entry a(.param .u64 x) {\n\tmov.u32 %r1, %nctaid.x;\n"
                                "\t{ mov.u32 %r2, %nctaid.y; }\n\tmov.u32 %r3, %nctaid.z;\n"
                                "\tmov.u32 %r4, %ctaid.x;\n\tret;\n}\n");
    const char *body = strstr(changed, "mov.u32 %r1, %braid_grid_x;");
    assert_non_null(body);
    assert_non_null(strstr(body, "{ mov.u32 %r2, %braid_grid_y; }"));
    assert_non_null(strstr(body, "mov.u32 %r3, %braid_grid_z;"));
    assert_non_null(strstr(body, "mov.u32 %r4, %ctaid.x;"));
    assert_null(strstr(body, "%nctaid"));
    free(changed);
}

// What only looks like it is left alone, and so is what it says.
static void comments_and_strings_are_no_words(void **state)
{
    (void)state;
    static const char text[] = HEAD "// .entry x() { %nctaid.w }\n/* %cluster_ctaid.x\n */\n"
                                    ".file 1 \"%nctaid.x {\"\n.entry a(/* ) */ .param .u64 x)\n"
                                    "{ // }\n\tmov.u32 %r1, 5; /* %nctaid.x */ ret;\n} /* open";
    check_text(text,
               (const char *const[]){ "// .entry x() { %nctaid.w }\n/* %cluster_ctaid.x\n */",
                                      "\"%nctaid.x {\"", "a(/* ) */ .param .u64 x, " MORE, READ,
                                      "mov.u32 %r1, 5; /* %nctaid.x */ ret;\n} /* open", NULL });
    const char *unclosed = "\"open", *at = unclosed;
    assert_int_equal(braid_ptx_next_word(&at).length, strlen(unclosed));
    assert_int_equal(braid_ptx_next_word(&at).length, 0);
}

static void text_in_which_it_would_not_do_stays(void **state)
{
    (void)state;
    static const char clusters[] = "it uses clusters";
    check_refused(HEAD ".func f() { mov.u32 %r1, %nctaid.x; ret; }\n.entry a() { ret; }",
                  "a function of it reads the grid");
    check_refused(HEAD ".entry a() { mov.v4.u32 {%r1, %r2, %r3, %r4}, %nctaid; ret; }",
                  "it reads its grid in an unknown way");
    check_refused(HEAD ".entry a() .reqnctapercluster 2 { ret; }", clusters);
    check_refused(HEAD ".entry a() .explicitcluster { ret; }", clusters);
    check_refused(HEAD ".entry a() .maxclusterrank 4 { ret; }", clusters);
    check_refused(HEAD ".entry a() { barrier.cluster.arrive; ret; }", clusters);
    check_refused(HEAD ".entry a() { mov.u32 %r1, %cluster_ctarank; ret; }", clusters);
    check_refused(HEAD ".func f() { mov.u32 %r1, %nclusterid.x; ret; }", clusters);
}

// As a file that was cut off: the driver says what is wrong with it, and nothing is read beyond.
static void text_that_ends_early_stays_as_wrong_as_it_is(void **state)
{
    (void)state;
    static const char whole[] = HEAD ".entry a(.param .u64 x)\n.maxntid 32, 1, 1\n"
                                     "{ mov.u32 %r1, %nctaid.x; /* and */ { ret; } }\n";
    check_cut_off(whole, braid_gpu_ptx_with_read_grid);
}

// HIP's source, where functions see another grid than the kernel.
static char *change_source(const char *source, const char *entry, const char **out_reason)
{
    *out_reason = NULL;
    return braid_gpu_source_with_read_grid(source, entry, out_reason);
}

static void check_source(const char *source, const char *const *parts)
{
    const char *reason;
    char *changed = change_source(source, NULL, &reason), *at = changed;
    if (!changed)
        fail_msg("'%s' is left alone, since %s", source, reason ? reason : "memory ran out");
    for (; *parts; parts++) {
        at = strstr(at, *parts);
        if (!at)
            fail_msg("'%s' is not where it should be in:\n%s", *parts, changed);
        at += strlen(*parts);
    }
    free(changed);
}

static void check_source_refused(const char *source, const char *entry, const char *expected)
{
    const char *reason;
    assert_null(change_source(source, entry, &reason));
    assert_non_null(reason);
    assert_string_equal(reason, expected);
}

#define KERNEL "extern \"C\" __global__ void "
#define POINTER "const unsigned *braid_grid_from) {"
#define RETURN "if (blockIdx.x >= braid_grid_x", "return;"

static void every_kernel_of_a_source_takes_one_parameter_more(void **state)
{
    (void)state;
    check_source("#include <hip/hip_runtime.h>\n" KERNEL "a(int *x) { x[gridDim.x] = 0; }\n"
                 "namespace n { __device__ int f(int x) { return x; } }\n" KERNEL
                 "__launch_bounds__(256) b() {}\n" KERNEL "c(void) { if (1) { n::f(2); } }\n"
                 "template <class T> struct s { T x; }; // gridDim\n",
                 (const char *const[]){ "a(int *x, " POINTER, RETURN, "x[gridDim.x] = 0; }",
                                        "f(int x) {", "__launch_bounds__(256) b(" POINTER, RETURN,
                                        "c(" POINTER, RETURN, "if (1) { n::f(2); } }", NULL });
}

static void kernels_of_functions_that_read_the_grid_are_left_alone(void **state)
{
    (void)state;
    static const char source[] =
        "__device__ int later();\n"
        "__device__ int width() { return gridDim.x; }\n" KERNEL
        "direct(int *x) { *x = width(); }\n" KERNEL "indirect(int *x) { *x = later(); }\n" KERNEL
        "fine(int *x) { *x = 1; }\n"
        "__device__ int later() { return width() + 1; }\n";
    check_source(source, (const char *const[]){ "direct(int *x) { *x", "indirect(int *x) { *x",
                                                "fine(int *x, " POINTER, NULL });
    check_source_refused(source, "direct", "a function of it reads the grid");
    check_source_refused(source, "indirect", "a function of it reads the grid");
    const char *reason;
    char *changed = change_source(source, "fine", &reason);
    assert_non_null(changed);
    free(changed);
}

// What stands behind a function's parameters is not its name.
static void functions_are_known_by_their_names(void **state)
{
    (void)state;
    static const char *const functions[] = {
        "__device__ int width(int x) LB(64) { return gridDim.x; }\n",
        "__device__ void width(int *x) LB(N) { *x = gridDim.x; }\n",
        "__device__ LB(64) int width() { return gridDim.x; }\n",
        "__device__ width::width(int x) : y(x), z(0) { y = gridDim.x; }\n",
        "template <int N, if_t<(N > M)> = 0> __device__ int width() { return gridDim.x; }\n",
        "template <class T, bool B = (sizeof(T) > N)> int width() { return gridDim.x; }\n",
        "template <class T, int N = (T::a * T::b)> __device__ int width() { return gridDim.x; }\n",
        "template <int (*F)(int x)> __device__ int width() { return gridDim.x; }\n",
        "template <int N = 1 << 3> __device__ int width(int x) LB(N) { return gridDim.x; }\n",
        "MACRO(int a) __device__ int width() { return gridDim.x; }\n",
    };
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        char source[400];
        snprintf(source, sizeof(source), "%s" KERNEL "a(int *x) { x[width(1)] = 0; }\n",
                 functions[i]);
        check_source_refused(source, "a", "a function of it reads the grid");
    }
}

static void source_that_is_not_understood_is_refused(void **state)
{
    (void)state;
    static const char fine[] = KERNEL "fine(int *x) { *x = 1; }\n";
    static const char *const rows[][2] = {
        { "#define K __global__\n", "a macro hides its kernels" },
        { "#define WIDTH gridDim.x\n", "a macro of it reads the grid" },
        { "#include \"mine.h\"\n", "it includes a file" },
        { "struct s { int w() { return gridDim.x; } };\n",
          "a type or an operator of it reads the grid" },
        { "__device__ int operator+(s a, s b) { return gridDim.x; }\n",
          "a type or an operator of it reads the grid" },
        { "const char *raw = R\"({)\";\n", "it has a raw string" },
        { KERNEL "early(int *x);\n", "a kernel of it is declared before it is defined" },
        { "__device__ int f() { return __ockl_get_num_groups(0); }\n",
          "it reads its grid in an unknown way" },
        { "#if A\n" KERNEL "a(int *x) {\n#else\n" KERNEL "a(long *x) {\n#endif\n}\n",
          "its kernels are not told apart" },
        { "__global__ void {\n}\n", "its kernels are not told apart" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char source[400];
        snprintf(source, sizeof(source), "%s%s", rows[i][0], fine);
        check_source_refused(source, NULL, rows[i][1]);
    }
    check_source_refused("__device__ int f() { return 1; }\n", "f",
                         "its kernels are not told apart");
    check_source_refused("__device__ int w() { return gridDim.x; }\n" KERNEL
                         "all(int *x) { *x = w(); }\n",
                         NULL, "a function of it reads the grid");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_entry_takes_one_parameter_more),
        cmocka_unit_test(entries_see_the_grid_that_was_read),
        cmocka_unit_test(comments_and_strings_are_no_words),
        cmocka_unit_test(text_in_which_it_would_not_do_stays),
        cmocka_unit_test(text_that_ends_early_stays_as_wrong_as_it_is),
        cmocka_unit_test(every_kernel_of_a_source_takes_one_parameter_more),
        cmocka_unit_test(kernels_of_functions_that_read_the_grid_are_left_alone),
        cmocka_unit_test(functions_are_known_by_their_names),
        cmocka_unit_test(source_that_is_not_understood_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
