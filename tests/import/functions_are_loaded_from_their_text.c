// SPDX-License-Identifier: Apache-2.0
// Kernels of an import start early once their functions are loaded from the program's text. Where a
// new module could act in another way, the program's own functions play, and the report says why.
#include <stdlib.h>
#include <string.h>

#include "gpu/gpu_testing.h"
#include "import/captures.h"
#include "support/failing_memory.h"

enum { CHAIN = 9, MOST_TRIED = 200, UNKNOWN_ERROR = 999 };

#define HEAD_OF(version) ".version " version "\n.target sm_90\n.address_size 64\n"
// grow(at, by): adds to a word, by two instructions of the text's choice.
#define GROW(more, first)                                                                          \
    ".visible .entry grow(.param .u64 at, .param .u32 by)\n" more "{\n"                            \
    ".reg .u64 %d0; .reg .u32 %r<4>;\n"                                                            \
    "ld.param.u64 %d0, [at]; ld.param.u32 %r1, [by];\nld.global.u32 %r0, [%d0];\n" first           \
    "add.u32 %r0, %r0, %r1; st.global.u32 [%d0], %r0;\nret;\n}\n"
#define PLAIN HEAD GROW("", "")

static CUmodule module; // the program's
static int num_loaded, num_waiting;

static void watch_module(const char *loaded)
{
    num_loaded++;
    num_waiting += strstr(loaded, "griddepcontrol.wait") != NULL;
}

static int set_up(void **state)
{
    reset_standin();
    open_captures(state);
    return 0;
}

static int tear_down(void **state)
{
    close_captures(state);
    check_nothing_is_left();
    return 0;
}

static void grow_by(CUmodule from, uint32_t by, unsigned cluster)
{
    CUfunction function;
    void *args[] = { &here.memory[0], &by };
    CUlaunchAttribute attribute = { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION };
    attribute.value.clusterDim.x = cluster;
    attribute.value.clusterDim.y = attribute.value.clusterDim.z = 1;
    const CUlaunchConfig config = { .gridDimX = 1,
                                    .gridDimY = 1,
                                    .gridDimZ = 1,
                                    .blockDimX = 1,
                                    .blockDimY = 1,
                                    .blockDimZ = 1,
                                    .hStream = here.stream,
                                    .attrs = &attribute,
                                    .numAttrs = cluster > 0 };
    must(cuModuleGetFunction(&function, from, "grow"));
    must(cuLaunchKernelEx(&config, function, args, NULL));
}

// A chain of one function, and at its end one of another module.
static void capture(const char *own, CUmodule other, unsigned cluster)
{
    must(cuModuleLoadData(&module, own));
    begin_capture();
    for (uint32_t i = 0; i < CHAIN; i++)
        grow_by(i + 1 < CHAIN || !other ? module : other, i + 1, cluster);
}

static uint32_t count_early(const braid_exec *exec)
{
    braid_exec_info info;
    braid_exec_get_info(exec, &info);
    return info.num_early_starts;
}

static uint32_t play_captured(void)
{
    CUgraphExec exec;
    uint32_t word;
    must(cuMemsetD8_v2(here.memory[0], 0, BYTES));
    must(cuGraphInstantiateWithFlags(&exec, here.graph, 0));
    must(cuGraphLaunch(exec, here.stream));
    must(cuStreamSynchronize(here.stream));
    must(cuMemcpyDtoH_v2(&word, here.memory[0], sizeof(word)));
    must(cuGraphExecDestroy(exec));
    return word;
}

// Returns how many kernels start early.
static uint32_t play_imported(braid_exec_options options, uint32_t expected)
{
    braid_exec *exec;
    uint32_t word;
    num_loaded = num_waiting = 0;
    options.islands = options.no_rewriting ? BRAID_ISLANDS_AUTO : BRAID_ISLANDS_NEVER;
    must(cuMemsetD8_v2(here.memory[0], 0, BYTES));
    standin_watch_modules(watch_module);
    check_ok(braid_exec_create(here.device, braid_import_get_graph(here.import), &options, &exec));
    standin_watch_modules(NULL);
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    must(cuMemcpyDtoH_v2(&word, here.memory[0], sizeof(word)));
    assert_int_equal(word, expected);
    const uint32_t num = count_early(exec);
    braid_exec_destroy(exec);
    return num;
}

static void finish_import(void)
{
    braid_import_destroy(here.import);
    must(cuGraphDestroy(here.graph));
    must(cuModuleUnload(module));
}

static void import_text(const braid_import_options *options)
{
    must(cuStreamEndCapture(here.stream, &here.graph));
    check_ok(braid_import_create(here.device, here.graph, options, &here.import));
    braid_import_get_info(here.import, &here.info);
}

#define RELOADED(...)                                                                              \
    .reloaded = (const char *const[]){ __VA_ARGS__ },                                              \
    .num_reloaded = sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *)

// Returns how many kernels start early, in each mode as many.
static uint32_t play_all_modes(void)
{
    const uint32_t expected = play_captured();
    const uint32_t num = play_imported((braid_exec_options){ .mode = BRAID_MODE_GRAPH }, expected);
    assert_int_equal(play_imported((braid_exec_options){ .mode = BRAID_MODE_STREAMS }, expected),
                     num);
    return num;
}

// ---- what is loaded ----

static void a_chain_starts_early(void **state)
{
    (void)state;
    char *given = strdup(PLAIN);
    capture(PLAIN, NULL, 0);
    import_text(&(braid_import_options){ RELOADED(given) });
    memset(given, 'x', strlen(given)); // the import has a copy
    free(given);
    assert_int_equal(here.info.num_reloadable, 1);
    assert_int_equal(here.info.num_unproven, 0);
    assert_int_equal(play_all_modes(), CHAIN - 1);
    assert_int_equal(num_waiting, 1); // all nodes share one module
    expect_report("functions that may be loaded from their text: 1 of 1\n");
    finish_import();
}

static void functions_of_the_program_play_on_demand(void **state)
{
    (void)state;
    capture(PLAIN, NULL, 0);
    import_text(&(braid_import_options){ RELOADED(PLAIN) });
    const uint32_t expected = play_captured();
    assert_int_equal(play_imported((braid_exec_options){ .no_rewriting = true }, expected), 0);
    assert_int_equal(num_loaded, 0);
    assert_int_equal(
        play_imported((braid_exec_options){ .no_early_start = true, .no_prefetch = true },
                      expected),
        0);
    assert_int_equal(num_waiting, 0);
    finish_import();
    capture(PLAIN, NULL, 0);
    import_text(&(braid_import_options){ TEXTS(PLAIN) }); // which are only read
    assert_int_equal(play_all_modes(), 0);
    assert_int_equal(here.info.num_reloadable, 0);
    assert_null(strstr(report(BRAID_IMPORT_TEXT), "loaded"));
    finish_import();
}

static void islands_have_the_text(void **state) // a text that is only read makes no kernel
{
    (void)state;
    if (!HAS_NVRTC)
        skip_because("there is no NVRTC, which compiles islands");
    for (int loads = 0; loads < 2; loads++) {
        braid_exec *exec;
        braid_exec_info info;
        capture(PLAIN, NULL, 0);
        import_text(loads ? &(braid_import_options){ RELOADED(PLAIN) }
                          : &(braid_import_options){ TEXTS(PLAIN) });
        check_ok(braid_exec_create(
            here.device, braid_import_get_graph(here.import),
            &(braid_exec_options){ .islands = BRAID_ISLANDS_ALWAYS, .mode = BRAID_MODE_GRAPH },
            &exec));
        braid_exec_get_info(exec, &info);
        assert_int_equal(info.num_island_nodes, loads ? CHAIN : 0);
        braid_exec_destroy(exec);
        finish_import();
    }
}

static void newer_texts_are_lowered(void **state)
{
    (void)state;
    static const char newer[] = HEAD_OF("9.4")
        GROW(".maxntid 1024, 1, 1\n", ".pragma \"nounroll\";\nmin.u32 %r1, %r1, 99;\n");
    CUmodule refused;
    assert_int_equal(cuModuleLoadData(&refused, newer), CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
    capture(PLAIN, NULL, 0);
    import_text(&(braid_import_options){ RELOADED(newer) });
    assert_int_equal(here.info.num_reloadable, 1);
    assert_int_equal(play_all_modes(), CHAIN - 1);
    finish_import();
}

// A text that the driver refuses leaves the program's function.
static void refused_texts_are_not_played(void **state)
{
    (void)state;
    static const char *const refused[] = {
        HEAD_OF("9.4") GROW("", ""),          // the driver is older than it says
        HEAD GROW(".maxntid 64, 1, 1\n", ""), // fewer threads
        HEAD GROW("", "griddepcontrol.wait;\n"),
    };
    for (int i = 0; i < 3; i++) {
        capture(PLAIN, NULL, 0);
        if (i == 0)
            assert_true(standin_configure("BRAID_STANDIN_VERSION", "12040"));
        import_text(&(braid_import_options){ RELOADED(refused[i]) });
        assert_int_equal(play_all_modes(), 0);
        finish_import();
        assert_true(standin_configure("BRAID_STANDIN_VERSION", NULL));
    }
}

// Its text cannot start early, so nothing is loaded for the one, and the text as it is for the
// other.
static void a_function_and_its_text_play_in_one_graph(void **state)
{
    (void)state;
    static const char own_wait[] = HEAD GROW("", "griddepcontrol.wait;\n");
    const uint32_t by = 3;
    uint32_t word;
    braid_graph *graph;
    braid_exec *exec;
    braid_node node = { 0 };
    must(cuModuleLoadData(&module, PLAIN));
    CUfunction function;
    must(cuModuleGetFunction(&function, module, "grow"));
    const braid_kernel kernels[] = {
        { .name = "grow", .cuda = { .data = own_wait, .function = function } },
        { .name = "grow", .cuda = { .data = own_wait } },
    };
    check_ok(braid_graph_create(&graph));
    for (int i = 0; i < 4; i++)
        check_ok(braid_graph_add_kernel(
            graph,
            &(braid_kernel_node){ .node = { .after = &node, .num_after = i > 0 },
                                  .kernel = &kernels[i % 2],
                                  BRAID_ARGS(BRAID_ARG(here.memory[0]), BRAID_ARG(by)) },
            &node));
    must(cuMemsetD8_v2(here.memory[0], 0, BYTES));
    check_ok(braid_exec_create(here.device, graph, NULL, &exec));
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    must(cuMemcpyDtoH_v2(&word, here.memory[0], sizeof(word)));
    assert_int_equal(word, 4 * by);
    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
    must(cuModuleUnload(module));
}

// ---- what is not ----

#define VARIABLES "its text uses variables of its module"
#define USE "mov.u64 %d0, number;\nld.param.u64 %d0, [at];\n"

static void expect_own(const braid_import_options *options, const char *why)
{
    char line[256];
    import_text(options);
    snprintf(line, sizeof(line), "    grow: %s\n", why);
    assert_int_equal(here.info.num_reloadable, 0);
    expect_report(line);
    assert_non_null(strstr(report(BRAID_IMPORT_JSON), why));
    assert_int_equal(play_all_modes(), 0);
    finish_import();
}

static void variables_keep_the_function(void **state)
{
    (void)state;
    static const struct {
        const char *text, *why;
    } tries[] = {
        { HEAD ".global .u32 number;\n" GROW("", USE), VARIABLES },
        { HEAD ".global .align 4 .b8 number[4] = {1, 2, 3, 4};\n" GROW("", USE), VARIABLES },
        { HEAD ".global .align 4 .b8 $str[4];\n" GROW("", "ld.global.u32 %r2, [$str];\n"),
          VARIABLES },
        { HEAD ".visible .const .u32 number;\n" GROW("", "ld.const.u32 %r2, [number];\n"),
          VARIABLES },
        { HEAD ".const .align 4 .b8 number[4] = {1, 2, 3, 4};\n" GROW("", USE), VARIABLES },
        { HEAD ".extern .global .u32 number;\n" GROW("", USE), VARIABLES },
        { HEAD GROW("", ".global .u32 number;\n"), VARIABLES },
        { HEAD GROW("", "tex.1d.v4.u32.s32 {%r2, %r2, %r2, %r2}, [%d0, {%r2}];\n"),
          "its module uses textures or surfaces" },
        { HEAD GROW("", "ponder.u32 %r1;\n"), "Braid does not understand its text" },
        { HEAD_OF("9.4") GROW("", "tanh.approx.bf16x3 %r1, %r1;\n"),
          "its text may need a newer PTX than the driver reads" },
        { HEAD_OF("9.4") GROW("", "min.u32 %r1, %r1, %r1, %r1;\n"),
          "its text may need a newer PTX than the driver reads" },
        { HEAD_OF("9.4") GROW("", "add.rn.f32.f16 %r1, %r2, %r1;\n"),
          "its text may need a newer PTX than the driver reads" },
        { HEAD_OF("9.4") GROW("", ".pragma \"strange\";\n"),
          "its text may need a newer PTX than the driver reads" },
        { HEAD_OF("9.4") GROW(".strange 4\n", ""),
          "its text may need a newer PTX than the driver reads" },
        { HEAD_OF("9.4") GROW("", "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%d0];\n"),
          "its text may need a newer PTX than the driver reads" },
    };
    for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
        capture(PLAIN, NULL, 0);
        expect_own(&(braid_import_options){ RELOADED(tries[i].text) }, tries[i].why);
    }
}

static void constants_of_compilers_and_unused_variables_do_not_matter(void **state)
{
    (void)state;
    static const char constants[] =
        HEAD ".global .align 1 .b8 $str$1[3] = {37, 100, 0};\n.extern .shared .b8 block[];\n"
             ".global .u32 unused;\n.const .align 4 .b8 number[2] = {1, 2};\n"
             ".global .align 4 .b8 __cudart_i2opi_f[4] = {65, 144, 67, 60};\n" GROW(
                 "", "ld.global.u32 %r2, [__cudart_i2opi_f];\nld.global.u8 %r2, [$str$1];\n");
    capture(PLAIN, NULL, 0);
    import_text(&(braid_import_options){ RELOADED(constants) });
    assert_int_equal(play_all_modes(), CHAIN - 1);
    finish_import();
}

static void texts_that_may_be_others_keep_the_function(void **state)
{
    (void)state;
    static const char other[] =
        HEAD ".visible .entry grow(.param .u64 at, .param .u64 by)\n{\nret;\n}\n";
    static const char *const none = "no text that may be loaded has it, with parameters of these "
                                    "sizes";
    capture(PLAIN, NULL, 0);
    expect_own(&(braid_import_options){ RELOADED(other), TEXTS(PLAIN) }, none);
    capture(PLAIN, NULL, 0);
    expect_own(&(braid_import_options){ RELOADED(PLAIN), TEXTS(PLAIN) }, "several texts have it");
    capture(PLAIN, NULL, 0);
    expect_own(&(braid_import_options){ RELOADED(PLAIN, PLAIN) }, "several texts have it");
    capture(PLAIN, NULL, 1);
    expect_own(&(braid_import_options){ RELOADED(PLAIN) }, "it is launched in clusters");
}

static void functions_of_two_modules_play_themselves(void **state)
{
    (void)state;
    CUmodule other;
    must(cuModuleLoadData(&other, PLAIN));
    capture(PLAIN, other, 0);
    expect_own(&(braid_import_options){ RELOADED(PLAIN) },
               "the program has loaded its text more than once");
    must(cuModuleUnload(other));
}

// ---- attributes ----

static CUfunction function_of(CUmodule of)
{
    CUfunction function;
    must(cuModuleGetFunction(&function, of, "grow"));
    return function;
}

// ---- failures ----

// An exec that loads a text, on a device of its own, whose nth call or -nth allocation fails.
// Returns whether one failed.
static bool try_exec(long nth, uint32_t expected)
{
    braid_device *device;
    braid_exec *exec = NULL;
    uint32_t word = expected;
    const long before = count_objects();
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cuda" }, &device));
    must(cuMemsetD8_v2(here.memory[0], 0, BYTES));
    if (nth > 0)
        fail_calls("*:%ld=%d", nth, UNKNOWN_ERROR);
    else
        failing_memory_arm_once((uint64_t)-nth);
    const braid_status status =
        braid_exec_create(device, braid_import_get_graph(here.import), NULL, &exec);
    const bool has_failed = failing_memory_disarm() || status;
    fail_calls(NULL);
    if (status) {
        assert_null(exec);
    } else {
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        must(cuMemcpyDtoH_v2(&word, here.memory[0], sizeof(word)));
    }
    assert_int_equal(word, expected);
    braid_exec_destroy(exec);
    check_ok(braid_device_close(device));
    assert_int_equal(count_objects(), before);
    return has_failed;
}

static void any_call_may_fail(void **state)
{
    (void)state;
    int num_failed = 0;
    capture(PLAIN, NULL, 0);
    must(cuFuncSetAttribute(function_of(module), CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                            50));
    import_text(&(braid_import_options){ RELOADED(PLAIN) });
    const uint32_t expected = play_captured();
    for (long nth = 1; nth <= MOST_TRIED; nth++)
        num_failed += try_exec(nth, expected);
    print_message("summary: %d execs failed\n", num_failed);
    assert_true(num_failed > 20);
    finish_import();
}

static char logged[512];

static void keep_message(braid_status status, const char *message, void *user)
{
    (void)status;
    (void)user;
    snprintf(logged, sizeof(logged), "%s", message);
}

static void expect_own_function(const char *function, long nth, const char *why)
{
    const uint32_t expected = play_captured();
    logged[0] = '\0';
    fail_calls("%s:%ld=%d", function, nth, UNKNOWN_ERROR);
    const braid_exec_options options = { .mode = BRAID_MODE_GRAPH };
    assert_int_equal(play_imported(options, expected), 0); // none starts early
    fail_calls(NULL);
    if (!strstr(logged, "kernel 'grow' plays the program's own function: ") || !strstr(logged, why))
        fail_msg("'%s' is not in: %s", why, logged);
}

// The driver may refuse an attribute of the function that is loaded.
static void refused_attributes_leave_the_function(void **state)
{
    (void)state;
    capture(PLAIN, NULL, 0);
    must(cuFuncSetAttribute(function_of(module), CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                            50));
    import_text(&(braid_import_options){ RELOADED(PLAIN) });
    braid_log_set(keep_message, NULL);
    expect_own_function("cuFuncSetAttribute", 1, "setting a function's attributes");
    expect_own_function("cuFuncGetAttribute", 2, "reading a function's attributes");
    expect_own_function("cuFuncGetAttribute", 3, "reading a function's attributes");
    braid_log_set(NULL, NULL);
    finish_import();
}

static void any_allocation_may_fail(void **state)
{
    (void)state;
    long nth = 1;
    capture(PLAIN, NULL, 0);
    import_text(&(braid_import_options){ RELOADED(HEAD_OF("9.4") GROW("", "")) });
    const uint32_t expected = play_captured();
    while (try_exec(-nth, expected))
        nth++;
    assert_true(nth > 20);
    finish_import();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_chain_starts_early),
        TEST(functions_of_the_program_play_on_demand),
        TEST(islands_have_the_text),
        TEST(newer_texts_are_lowered),
        TEST(refused_texts_are_not_played),
        TEST(a_function_and_its_text_play_in_one_graph),
        TEST(variables_keep_the_function),
        TEST(constants_of_compilers_and_unused_variables_do_not_matter),
        TEST(texts_that_may_be_others_keep_the_function),
        TEST(functions_of_two_modules_play_themselves),
        TEST(refused_attributes_leave_the_function),
        TEST(any_call_may_fail),
        TEST(any_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
