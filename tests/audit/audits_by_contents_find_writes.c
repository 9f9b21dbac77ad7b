// SPDX-License-Identifier: Apache-2.0
// Where kernels cannot tell of their accesses, an audit finds writes that change undeclared bytes,
// and says that it sees no others. BRAID_TEST_BACKEND names the device.
#include "audit/audit_testing.h"
#include "audit/audited_kernels.h"
#include "support/failing_memory.h"

#define UNSEEN "reads are not seen here, nor are writes that change nothing"
#define UNDECLARED ", which it does not declare"

static void add(const braid_kernel *kernel, uint32_t *one, uint32_t *other,
                const braid_access *access)
{
    check_ok(braid_graph_add_kernel(
        audited.graph,
        &(braid_kernel_node){ .node = { .accesses = access, .num_accesses = access != NULL },
                              .kernel = kernel,
                              BRAID_ARGS({ &one, sizeof(one), BRAID_ARG_UNCHECKED_POINTER },
                                         { &other, sizeof(other), BRAID_ARG_UNCHECKED_POINTER }) },
        NULL));
}

static braid_access words_from(uint32_t number, uint32_t num, braid_access_mode mode)
{
    braid_access access = { .mode = mode };
    check_ok(braid_graph_add_range(audited.graph, audited.buffer, number * 4, num * 4,
                                   &access.resource));
    return access;
}

// The findings are these, in order, and then that others are not seen.
static void expect(size_t num, const char *const *texts)
{
    audit(audited.device, audited.graph, &audited.findings);
    for (size_t i = 0; i < num && i < audited.findings.num; i++)
        assert_string_equal(audited.findings.items[i].text, texts[i]);
    assert_int_equal(audited.findings.num, num + 1);
    assert_string_equal(audited.findings.items[num].text, UNSEEN);
    assert_int_equal(audited.findings.items[num].told.kind, BRAID_AUDIT_UNSEEN);
    assert_int_equal(audited.findings.items[num].told.node.graph, 0);
}
#define EXPECT(...)                                                                                \
    expect(sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *),                          \
           (const char *const[]){ __VA_ARGS__ })

static void undeclared_bytes_that_change_are_told(void **state)
{
    (void)state;
    const braid_access reads = words_from(8, 1, BRAID_READ), beside = words_from(8, 1, BRAID_WRITE);
    audited.outside[0] = 0x01010101;
    add(&adding_kernel, &audited.outside[0], &audited.words[8], &reads);
    add(&adding_kernel, &audited.outside[0], &audited.words[9], &beside);
    add(&adding_kernel, &audited.outside[0], &audited.words[1023], NULL);
    EXPECT("node 0 'adding' writes bytes from 32 to 35 of 'words'" UNDECLARED,
           "node 1 'adding' writes bytes from 36 to 39 of 'words'" UNDECLARED,
           "node 2 'adding' writes bytes from 4092 to 4095 of 'words'" UNDECLARED);
    const braid_audit_finding *found = &audited.findings.items[0].told;
    assert_int_equal(found->kind, BRAID_AUDIT_WRITES);
    assert_string_equal(found->kernel, "adding");
    assert_ptr_equal(found->address, &audited.words[8]);
    assert_int_equal(found->num, 1);
    assert_int_equal(audited.words[8], 0x01010101);
}

// Words of no buffer, declared ones, and what stays as it is.
static void other_writes_are_not_told(void **state)
{
    (void)state;
    const braid_access writes = words_from(8, 1, BRAID_WRITE);
    audited.outside[0] = 1;
    add(&adding_kernel, &audited.outside[0], &audited.words[8], &writes);
    add(&adding_kernel, &audited.outside[0], &audited.outside[9], NULL);
    add(&adding_kernel, &audited.outside[8], &audited.words[7], NULL);
    expect(0, NULL);
}

static void add_one(void *word)
{
    ++*(uint32_t *)word;
}

static braid_status fill_words(braid_device *device, braid_stream *stream, void *user)
{
    (void)device;
    return braid_stream_fill(stream, user, 5, 4, 4);
}

// Each by its own node. Of a queue call that declares two words in the middle of four.
static void all_kinds_of_nodes_are_judged(void **state)
{
    (void)state;
    const braid_access middle = words_from(9, 2, BRAID_WRITE);
    braid_resource transient;
    check_ok(braid_graph_add_transient(audited.graph, "transient", 64, 0, &transient));
    check_ok(braid_graph_add_fill(audited.graph,
                                  &(braid_fill){ .to_resource = transient,
                                                 .value = 7,
                                                 .value_bytes = 4,
                                                 .num_values = 16,
                                                 BRAID_ACCESSES({ transient, BRAID_WRITE }) },
                                  NULL));
    check_ok(braid_graph_add_queue_call(
        audited.graph,
        &(braid_queue_call){ .node = { .accesses = &middle, .num_accesses = 1 },
                             .call = fill_words,
                             .user = &audited.words[8] },
        NULL));
    check_ok(braid_graph_add_host_call(
        audited.graph, &(braid_host_call){ .call = add_one, .user = &audited.words[2] }, NULL));
    check_ok(braid_graph_add_kernel(
        audited.graph,
        &(braid_kernel_node){
            .kernel = &changing_kernel,
            .code_use = BRAID_CODE_UNREAD,
            BRAID_ARGS(BRAID_IN(transient), { &audited.outside, sizeof(audited.outside),
                                              BRAID_ARG_UNCHECKED_POINTER }) },
        NULL));
    EXPECT("node 1 'queue call' writes bytes from 32 to 44 of 'words'" UNDECLARED,
           "node 2 'host call' writes byte 8 of 'words'" UNDECLARED,
           "node 3 'changing' writes byte 0 of 'transient'" UNDECLARED);
}

static void buffers_are_copied_once(void **state)
{
    (void)state;
    enum { MANY = 1 << 24 };
    braid_resource large;
    check_ok(braid_graph_add_transient(audited.graph, "large", MANY, 0, &large));
    const braid_access writes = { large, BRAID_WRITE };
    add(&adding_kernel, &audited.outside[0], &audited.outside[9], &writes);
    const uint64_t before = failing_memory_num_bytes();
    audit(audited.device, audited.graph, &audited.findings);
    assert_true(failing_memory_num_bytes() - before >= MANY);
    assert_true(failing_memory_num_bytes() - before < 2 * MANY);
}

static void any_allocation_may_fail(void **state)
{
    (void)state;
    bool failed = true;
    add(&counting_kernel, &audited.words[8], &audited.outside[0], NULL);
    for (uint64_t nth = 1; failed; nth++) {
        size_t num = 5;
        failing_memory_arm_once(nth);
        braid_status status = braid_graph_audit(audited.graph, audited.device, NULL, &num);
        failed = failing_memory_disarm();
        assert_true(status == BRAID_OK || (failed && status == BRAID_NO_MEMORY));
        assert_int_equal(num, status ? 5 : 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        AUDITED_TEST(undeclared_bytes_that_change_are_told),
        AUDITED_TEST(other_writes_are_not_told),
        AUDITED_TEST(all_kinds_of_nodes_are_judged),
        AUDITED_TEST(buffers_are_copied_once),
        AUDITED_TEST(any_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
