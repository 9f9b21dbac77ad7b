// SPDX-License-Identifier: Apache-2.0
// An audit tells which declared accesses a kernel never makes by its code, whether it runs or not,
// and which it only did not make in this frame.
#include "audit/audit_testing.h"

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"
#define TWO "(.param .u64 from, .param .u64 to) {\n"

static const char texts[] =
    HEAD ".entry copy" TWO "ld.param.u64 %d0, [from];\nld.param.u64 %d1, [to];\n"
         "ld.global.u32 %r0, [%d0];\nst.global.u32 [%d1], %r0;\nret;\n}\n"
         ".entry idle" TWO "ret;\n}\n";

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

static const braid_kernel copy = { .name = "copy", .cpu = copy_word, .cuda.data = texts },
                          no_copy = { .name = "copy", .cpu = do_nothing, .cuda.data = texts },
                          idle = { .name = "idle", .cpu = do_nothing, .cuda.data = texts },
                          copies_on_cpu = { .name = "idle", .cpu = copy_word, .cuda.data = texts };

// The page behind the words.
static braid_resource other;

static int open_two(void **state)
{
    open_audited(state);
    check_ok(braid_graph_add_buffer(audited.graph, "other", audited.outside, PAGE, &other));
    return 0;
}
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_two, close_audited)

static void add(const braid_kernel *kernel, braid_access_mode words, braid_access_mode others)
{
    const void *from = audited.words, *to = audited.outside;
    check_ok(braid_graph_add_kernel(
        audited.graph,
        &(braid_kernel_node){ .kernel = kernel,
                              BRAID_ARGS(BRAID_ARG(from), BRAID_ARG(to)),
                              BRAID_ACCESSES({ audited.buffer, words }, { other, others }) },
        NULL));
}

// One finding each, by code or not.
static void expect(size_t num, const char *const *expected, const bool *by_code)
{
    audit(audited.device, audited.graph, &audited.findings);
    for (size_t i = 0; i < num && i < audited.findings.num; i++) {
        assert_string_equal(audited.findings.items[i].text, expected[i]);
        assert_int_equal(audited.findings.items[i].told.by_code, by_code[i]);
    }
    assert_int_equal(audited.findings.num, num);
}

static void code_and_frame_are_told_apart(void **state)
{
    (void)state;
    add(&copy, BRAID_READ_WRITE, BRAID_WRITE);
    add(&no_copy, BRAID_READ, BRAID_WRITE);
    expect(3,
           (const char *const[]){
               "node 0 'copy' declares to write 'words', and by its code never does",
               "node 1 'copy' declares to read 'words', and in this frame never does",
               "node 1 'copy' declares to write 'other', and in this frame never does",
           },
           (const bool[]){ true, false, false });
    assert_int_equal(audited.findings.items[0].told.kind, BRAID_AUDIT_NEVER_WRITES);
    assert_int_equal(audited.findings.items[1].told.kind, BRAID_AUDIT_NEVER_READS);
}

// The function for the CPU may do what the code for a GPU does not.
static void an_access_that_is_made_is_no_finding(void **state)
{
    (void)state;
    add(&copies_on_cpu, BRAID_READ, BRAID_WRITE);
    expect(0, NULL, NULL);
}

static void a_node_that_does_not_run_is_known_by_its_code(void **state)
{
    (void)state;
    check_ok(braid_graph_begin_if(audited.graph, &(braid_if){ .condition = audited.buffer }, NULL));
    add(&no_copy, BRAID_READ, BRAID_WRITE);
    add(&idle, BRAID_READ, BRAID_WRITE);
    check_ok(braid_graph_end(audited.graph));
    expect(2,
           (const char *const[]){
               "node 2 'idle' declares to read 'words', and by its code never does",
               "node 2 'idle' declares to write 'other', and by its code never does",
           },
           (const bool[]){ true, true });
}

// A node that no output needs is not played. A plan from before has compared it.
static void a_node_that_is_left_out_has_no_finding(void **state)
{
    (void)state;
    braid_schedule *schedule;
    add(&idle, BRAID_READ, BRAID_WRITE);
    check_ok(braid_graph_add_fill(audited.graph,
                                  &(braid_fill){ .to = audited.words,
                                                 .num_values = PAGE,
                                                 BRAID_ACCESSES({ audited.buffer, BRAID_WRITE }) },
                                  NULL));
    check_ok(braid_graph_set_output(audited.graph, audited.buffer));
    check_ok(braid_schedule_create(
        audited.graph, &(braid_schedule_options){ .device = audited.device }, &schedule));
    braid_schedule_destroy(schedule);
    expect(0, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(code_and_frame_are_told_apart),
        TEST(an_access_that_is_made_is_no_finding),
        TEST(a_node_that_does_not_run_is_known_by_its_code),
        TEST(a_node_that_is_left_out_has_no_finding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
