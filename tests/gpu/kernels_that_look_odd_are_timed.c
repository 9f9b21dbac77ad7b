// SPDX-License-Identifier: Apache-2.0
// Kernels whose source is unusual are timed inside all the same, and where the code for it makes
// source that does not compile, or another name, they are timed around and the log says why.
#include <stdlib.h>
#include <string.h>

#include <braid/timings.h>

#include "backends/gpu/gpu_source_grid.h"
#include "backends/gpu/gpu_source_stamps.h"
#include "gpu/gpu_testing.h"
#include "support/check.h"

enum { kept = 2 };

struct pair {
    struct frame frame;
    braid_graph *graph;
    braid_node nodes[2];
};

static struct {
    int num;
    char last[1024];
} told;

static void take_log(void *user, braid_status status, const char *message)
{
    (void)user;
    assert_int_equal(status, BRAID_UNSUPPORTED);
    snprintf(told.last, sizeof(told.last), "%s", message);
    told.num++;
}

// words[1] = words[0] + words[0] + 1; words[2] = words[1] + words[1] + 1
static void open_pair(struct pair *pair, const braid_kernel *kernel)
{
    *pair = (struct pair){ 0 };
    told.num = 0;
    told.last[0] = '\0';
    reset_standin();
    braid_log_set(take_log, NULL);
    check_ok(frame_open(&pair->frame, backend_under_test()));
    check_ok(braid_graph_create(&pair->graph));
    memset(pair->frame.words, 0, 3 * sizeof(uint32_t));
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t *from = pair->frame.words + i, *to = from + 1, one = 1;
        const braid_launch launch = { .node = { .after = pair->nodes, .num_after = i },
                                      .kernel = kernel,
                                      BRAID_ARGS(BRAID_ARG(to), BRAID_ARG(from), BRAID_ARG(from),
                                                 BRAID_ARG(one)) };
        check_ok(braid_graph_add_kernel(pair->graph, &launch, &pair->nodes[i]));
    }
}

static void close_pair(struct pair *pair)
{
    braid_graph_destroy(pair->graph);
    frame_finish(&pair->frame);
    check_nothing_is_left();
    braid_log_set(NULL, NULL);
}

static braid_exec *make_exec(const struct pair *pair)
{
    braid_exec *exec;
    const braid_exec_options options = { .mode = BRAID_MODE_NATIVE,
                                         .islands = BRAID_ISLANDS_NEVER,
                                         .profile = kept };
    check_ok(braid_exec_create(pair->frame.device, pair->graph, &options, &exec));
    return exec;
}

static void check_timed(struct pair *pair, braid_timed_by expected)
{
    braid_exec *exec = make_exec(pair);
    for (int i = 0; i < kept; i++)
        check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(pair->frame.words[2], 3);
    braid_timings timings;
    check_ok(braid_exec_get_timings(exec, &timings));
    assert_int_equal(timings.num_frames, kept);
    for (int i = 0; i < 2; i++) {
        braid_timed_by timed_by;
        check_ok(braid_exec_get_timed_by(exec, pair->nodes[i], &timed_by));
        assert_int_equal(timed_by, expected);
    }
    braid_exec_destroy(exec);
}

static braid_kernel kernel_of(const char *source)
{
    braid_kernel kernel = sum_kernel;
    kernel.cuda = kernel.hip = (braid_image){ 0 };
    kernel.source = source;
    return kernel;
}

static void odd_kernels_are_timed_inside(void **state)
{
    (void)state;
    static const char *const sources[] = {
        "extern \"C\" __global__ void sum(unsigned *to, const unsigned *a, unsigned *b = 0,\n"
        "                                 unsigned c = (1, 2))\n"
        "{ *to = *a + *b + c; }\n",
        "extern \"C\" __global__ void sum(unsigned *to, unsigned *a, unsigned *b, unsigned c)\n"
        "    __launch_bounds__(64) { *to = *a + *b + c; }\n",
        "extern \"C\" __global__ void __launch_bounds__(64, 1)\n"
        "sum(unsigned *__restrict__ to, const unsigned a[4], unsigned b[], const unsigned c)\n"
        "    __attribute__((cold)) noexcept { if (a) { *to = *a + *b + c; return; } }",
        "extern \"C\" __global__ void sum_all(unsigned *to) { *to = '{'; }\n"
        "static __device__ __forceinline__ int all_sum() { return \"}\"[0]; } // \\\n {\n"
        "extern \"C\" __global__ void sum(unsigned *to, unsigned *a, unsigned *b, unsigned c)\n"
        "{ /* } */ *to = *a + *b + c; }",
    };
    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
        const braid_kernel kernel = kernel_of(sources[i]);
        struct pair pair;
        open_pair(&pair, &kernel);
        check_timed(&pair, BRAID_TIMED_INSIDE);
        assert_string_equal(told.last, "");
        close_pair(&pair);
    }
}

// Once for both nodes, and for all execs while the kernel is loaded: nothing is compiled again in
// vain either.
static void what_does_not_compile_so_is_timed_around(void **state)
{
    (void)state;
    const braid_kernel kernel =
        kernel_of("extern \"C\" __global__ void sum(unsigned *to, unsigned *a, unsigned *b,\n"
                  "                                 unsigned braid_stamps)\n"
                  "{ *to = *a + *b + braid_stamps; }\n");
    struct pair pair;
    if (!is_over_hip())
        skip_because("CUDA's text is changed, where no name meets the program's");
    open_pair(&pair, &kernel);
    check_timed(&pair, BRAID_TIMED_AROUND);
    check_timed(&pair, BRAID_TIMED_AROUND);
    assert_int_equal(told.num, 2); // the second time the kernel was loaded anew
    braid_exec *other = make_exec(&pair);
    check_timed(&pair, BRAID_TIMED_AROUND);
    assert_int_equal(told.num, 3);
    braid_exec_destroy(other);
    assert_non_null(strstr(told.last, "timed around: kernel 'sum' cannot write its times: "));
    assert_non_null(strstr(told.last, "HIPRTC_ERROR_COMPILATION"));
    assert_non_null(strstr(told.last, "there are two parameters braid_stamps"));
    close_pair(&pair);
}

// As the names are that compilers make of parameters, where a kernel is not extern "C".
static void what_is_not_found_by_its_name_is_timed_around(void **state)
{
    (void)state;
    const braid_kernel kernel = kernel_of(
        "extern \"C\" __global__ void sum(unsigned *to, unsigned *a, unsigned *b, unsigned c)\n"
        "{ *to = *a + *b + c; }\n");
    struct pair pair;
    char rule[64];
    if (!is_over_hip())
        skip_because("CUDA's text is changed, where names stay");
    open_pair(&pair, &kernel);
    check_timed(&pair, BRAID_TIMED_INSIDE);
    long before = standin_calls("cuModuleGetFunction");
    assert_true(standin_configure("BRAID_STANDIN_FAIL", NULL));
    check_timed(&pair, BRAID_TIMED_INSIDE);
    // The last function that is found is the one that writes times.
    snprintf(rule, sizeof(rule), "cuModuleGetFunction:%ld=500",
             standin_calls("cuModuleGetFunction") - before);
    assert_true(standin_configure("BRAID_STANDIN_FAIL", rule));
    check_timed(&pair, BRAID_TIMED_AROUND);
    assert_non_null(strstr(told.last, "with them it has another name than 'sum'"));
    reset_standin();
    close_pair(&pair);
}

// A call that goes wrong is no source that does not compile.
static void other_failures_are_failures(void **state)
{
    (void)state;
    const braid_kernel kernel = kernel_of(
        "extern \"C\" __global__ void sum(unsigned *to, unsigned *a, unsigned *b, unsigned c)\n"
        "{ *to = *a + *b + c; }\n");
    struct pair pair;
    open_pair(&pair, &kernel);
    check_timed(&pair, BRAID_TIMED_INSIDE);
    long before = standin_calls("cuModuleGetFunction");
    check_timed(&pair, BRAID_TIMED_INSIDE);
    char rule[64];
    snprintf(rule, sizeof(rule), "cuModuleGetFunction:%ld=999",
             standin_calls("cuModuleGetFunction") - before);
    assert_true(standin_configure("BRAID_STANDIN_FAIL", rule));
    braid_exec *exec;
    const braid_exec_options options = { .mode = BRAID_MODE_NATIVE,
                                         .islands = BRAID_ISLANDS_NEVER,
                                         .profile = kept };
    braid_log_set(NULL, NULL);
    check_fails(braid_exec_create(pair.frame.device, pair.graph, &options, &exec),
                BRAID_DEVICE_ERROR, "finding 'sum'");
    reset_standin();
    close_pair(&pair);
}

#define STAMPS "unsigned long long *braid_stamps, unsigned braid_mask)"
#define STAMPS_BY_DEFAULT "unsigned long long *braid_stamps = 0, unsigned braid_mask = 0)"
#define GRID "const unsigned *braid_grid_from"

static const struct odd_head {
    const char *before, *behind; // where parameters are added
    bool has_default;
    const char *none; // what is there instead of parameters
} odd_heads[] = {
    { "__global__ void a(int *x", "" },
    { "__global__ void a(int *x", " __launch_bounds__(64, (2))" },
    { "__global__ void a(int *x", " BOUNDS(64) __attribute__((x(1)))" },
    { "__global__ __launch_bounds__(64) void a(int *x", " noexcept(true)" },
    { "void __global__ __attribute__((cold)) __launch_bounds__(8) a(int *x", " [[x::y(1)]]" },
    { "BOUNDS(64) __global__ HIDDEN(1) void a(int *x", "" },
    { "template <class T = void, void (*f)(int)> __global__ void n::a(int *x", " __maxnreg__(8)" },
    { "__global__ VOID a(int *x", " __launch_bounds__(64)" },
    { "__global__ void LB(64) a(int *x", "" },
    { "__global__ void LB(N) a(int *x", "" },
    { "__global__ void LB(N, 2 * N) a(T x", " LB(N * N)" },
    { "__global__ void LB(64) WHY(\"\") a(T", "" },
    { "__global__ void NAME(a, b)(int *x", "" },
    { "__global__ VOID LB(64) a(int *x", " LB(64)" },
    { "__global__ void a(int *x", " LB(64)" },
    { "__global__ void a(T", " LB(N)" },
    { "__global__ void a(n::T<8> &", " LB(8 * N)" },
    { "__global__ void a(", " LB(64)", .none = "" },
    { "__global__ void a(", " LB(N)", .none = "" },
    { "__global__ void LB(N) a(", "", .none = "" },
    { "__global__ void a(", " LB(N)", .none = "void" },
    { "__global__ void LB(64) a(", "", .none = "void" },
    { "__global__ void [[gnu::x(1)]] a(int *x", "" },
    { "__global__ void a [[gnu::x(1)]] (int *x", "" },
    { "__global__ [[gnu::x(int y)]] void a(T", " [[gnu::x(int y)]]" },
    { "__global__ void [[gnu::x(1)]] a(", " [[gnu::x(int *y)]]", .none = "" },
    { "__global__ void __launch_bounds__(64) a(int x", " __attribute__((noinline))" },
    { "__global__ void a(int *x = 0", "", .has_default = true },
    { "__global__ void a(int *x, int y = f(1, 2)", " __launch_bounds__(64)", .has_default = true },
};

static void check_changed(char *changed, const char *expected, const char *reason)
{
    if (!changed || !strstr(changed, expected))
        fail_msg("'%s' is not in: %s", expected, changed ? changed : reason);
    free(changed);
}

// Parameters stand behind the program's, and nowhere else.
static void parameters_are_told_from_attributes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(odd_heads) / sizeof(odd_heads[0]); i++) {
        const struct odd_head *head = &odd_heads[i];
        const char *comma = head->none ? "" : ", ", *reason = NULL;
        char text[400], stamped[400], reading[400];
        snprintf(text, sizeof(text), "%s%s)%s {}", head->before, head->none ? head->none : "",
                 head->behind);
        snprintf(stamped, sizeof(stamped), "%s%s%s%s { const", head->before, comma,
                 head->has_default ? STAMPS_BY_DEFAULT : STAMPS, head->behind);
        snprintf(reading, sizeof(reading), "%s%s" GRID "%s)%s { enum", head->before, comma,
                 head->has_default ? " = 0" : "", head->behind);
        check_changed(braid_gpu_source_with_stamps(text, &reason), stamped, reason);
        check_changed(braid_gpu_source_with_read_grid(text, NULL, &reason), reading, reason);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(odd_kernels_are_timed_inside),
        cmocka_unit_test(what_does_not_compile_so_is_timed_around),
        cmocka_unit_test(what_is_not_found_by_its_name_is_timed_around),
        cmocka_unit_test(other_failures_are_failures),
        cmocka_unit_test(parameters_are_told_from_attributes),
    };
    return cmocka_run_group_tests_name("kernels_that_look_odd_are_timed", tests, NULL, NULL);
}
