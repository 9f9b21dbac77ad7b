// SPDX-License-Identifier: Apache-2.0
// An audit on the CPU compares declared accesses with sources for a GPU, which planning does not
// compile. It leaves out a source that nobody compiles, and an explanation tells why.
#include "audit/audit_testing.h"

#include <stdlib.h>

#define SOURCE "extern \"C\" __global__ void copy(const int *from, int *to) {}\n"
#define UNCOMPARED "; its accesses were not compared with its code: "

// PTX that the compiler of the stand-in gives for each source: `from` is read on line 6, and `to`
// is written on line 7.
static const char copies[] =
    ".version 8.0\n.target sm_75\n.address_size 64\n.entry copy(.param .u64 from, .param .u64 to) {"
    "ld.param.u64 %d0, [from];\nld.param.u64 %d1, [to];\n"
    "ld.global.u32 %r0, [%d0];\nst.global.u32 [%d1], %r0;\nret;\n}\n";

static void copy_word(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    **(volatile uint32_t *const *)args[1] = **(const volatile uint32_t *const *)args[0];
}

static void do_nothing(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    (void)args;
}

static const braid_kernel copy = { .name = "copy", .cpu = copy_word, .source = SOURCE },
                          idle = { .name = "copy", .cpu = do_nothing, .source = SOURCE },
                          broken = { .name = "copy", .cpu = copy_word, .source = "#error no" };

// The linker has every dlopen call this one.
static bool lacks_compiler;
void *__real_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags);

void *__wrap_dlopen(const char *name, int flags)
{
    const bool is_compiler = name && strstr(name, "nvrtc");
    return __real_dlopen(is_compiler && lacks_compiler ? "libnot-here.so" : name, flags);
}

// The page behind the words.
static braid_resource other;

static int open_two(void **state)
{
    open_audited(state);
    check_ok(braid_graph_add_buffer(audited.graph, "other", audited.outside, PAGE, &other));
    return 0;
}

static int close_two(void **state)
{
    unsetenv("BRAID_STANDIN_NVRTC_PTX");
    return close_audited(state);
}
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_two, close_two)

static braid_node add(const braid_kernel *kernel, braid_code_use use, braid_access_mode words,
                      braid_access_mode others)
{
    braid_node node;
    const void *from = audited.words, *to = audited.outside;
    check_ok(braid_graph_add_kernel(
        audited.graph,
        &(braid_kernel_node){ .kernel = kernel,
                              .code_use = use,
                              BRAID_ARGS(BRAID_ARG(from), BRAID_ARG(to)),
                              BRAID_ACCESSES({ audited.buffer, words }, { other, others }) },
        &node));
    return node;
}

// A new plan tells this of the node.
static void expect_explained(braid_node node, const char *part)
{
    char text[1024];
    braid_schedule *schedule;
    check_ok(braid_schedule_create(
        audited.graph, &(braid_schedule_options){ .device = audited.device }, &schedule));
    check_ok(braid_schedule_explain(schedule, &node, 1, text, sizeof(text)));
    if (part ? !strstr(text, part) : strstr(text, "its code") != NULL)
        fail_msg("'%s' has %s'%s'", text, part ? "no " : "", part ? part : "its code");
    braid_schedule_destroy(schedule);
}

static void a_write_without_a_declaration_is_refused(void **state)
{
    (void)state;
    setenv("BRAID_STANDIN_NVRTC_PTX", copies, 1);
    size_t num = 77;
    add(&idle, BRAID_CODE_CHECKS, BRAID_READ, BRAID_READ);
    check_fails(braid_graph_audit(audited.graph, audited.device, NULL, &num),
                BRAID_INVALID_ARGUMENT,
                "node 0 'copy': it declares to read 'other', and line 7 of the PTX of its kernel "
                "writes it, through argument 1");
    assert_int_equal(num, 77);
}

// The graph knows the PTX from then on, so its next plans compare it too.
static void an_access_that_the_source_never_makes_is_found(void **state)
{
    (void)state;
    const braid_node node = add(&idle, BRAID_CODE_CHECKS, BRAID_READ, BRAID_WRITE);
    expect_explained(node, UNCOMPARED "its source was not compiled for CUDA, as an audit on the "
                                      "CPU does");
    audit(audited.device, audited.graph, &audited.findings);
    assert_int_equal(audited.findings.num, 2);
    assert_string_equal(audited.findings.items[0].text,
                        "node 0 'copy' declares to read 'words', and by its code never does");
    assert_string_equal(audited.findings.items[1].text,
                        "node 0 'copy' declares to write 'other', and by its code never does");
    assert_true(audited.findings.items[0].told.by_code);
    expect_explained(node, "; its code never writes 'other', as it declares");
    add(&idle, BRAID_CODE_CHECKS, BRAID_READ, BRAID_READ);
    expect_explained(node, "; its code never writes 'other', as it declares");
}

static void a_right_declaration_is_no_finding(void **state)
{
    (void)state;
    setenv("BRAID_STANDIN_NVRTC_PTX", copies, 1);
    const braid_node node = add(&copy, BRAID_CODE_CHECKS, BRAID_READ, BRAID_WRITE);
    audit(audited.device, audited.graph, &audited.findings);
    assert_int_equal(audited.findings.num, 0);
    expect_explained(node, NULL);
}

static void a_source_that_is_refused_is_left_out(void **state)
{
    (void)state;
    const braid_node node = add(&broken, BRAID_CODE_CHECKS, BRAID_READ, BRAID_WRITE);
    audit(audited.device, audited.graph, &audited.findings);
    assert_int_equal(audited.findings.num, 0);
    expect_explained(node, UNCOMPARED "compiling kernel 'copy' (cuda, "
                                      "--gpu-architecture=compute_90) failed: ");
}

static void a_node_whose_code_is_unread_is_left_out(void **state)
{
    (void)state;
    setenv("BRAID_STANDIN_NVRTC_PTX", copies, 1);
    const braid_node node = add(&idle, BRAID_CODE_UNREAD, BRAID_READ, BRAID_READ);
    audit(audited.device, audited.graph, &audited.findings);
    expect_explained(node, NULL);
}

// A process looks for the compiler once. So this is a program of its own.
static void without_a_compiler_a_source_is_left_out(void **state)
{
    (void)state;
    const braid_node node = add(&copy, BRAID_CODE_CHECKS, BRAID_READ, BRAID_WRITE);
    audit(audited.device, audited.graph, &audited.findings);
    assert_int_equal(audited.findings.num, 0);
    expect_explained(node, UNCOMPARED "kernel 'copy' has only source for cuda and there is no "
                                      "run-time compiler: ");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(a_write_without_a_declaration_is_refused),
        TEST(an_access_that_the_source_never_makes_is_found),
        TEST(a_right_declaration_is_no_finding),
        TEST(a_source_that_is_refused_is_left_out),
        TEST(a_node_whose_code_is_unread_is_left_out),
    };
    const struct CMUnitTest alone[] = { TEST(without_a_compiler_a_source_is_left_out) };
    lacks_compiler = argc > 1 && !strcmp(argv[1], "alone");
    return lacks_compiler ? cmocka_run_group_tests(alone, NULL, NULL)
                          : cmocka_run_group_tests(tests, NULL, NULL);
}
