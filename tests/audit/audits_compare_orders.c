// SPDX-License-Identifier: Apache-2.0
// An audit compares orders that the graph allows, and no others. It tells of results that no order
// repeats, and leaves buffers as one frame does. BRAID_TEST_BACKEND names the device.
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "audit/audit_testing.h"
#include "audit/audited_kernels.h"
#include "support/failing_memory.h"

enum { NUM_CHAINS = 4 };

static uint32_t outside; // in no buffer

static void begin(void *user)
{
    (void)user;
    outside = 0;
}

// The state outside becomes another with each call.
static uint32_t step(uint32_t number)
{
    return outside = outside * 31 + number;
}

static void step_into(void *word)
{
    *(uint32_t *)word = step((uint32_t)((uint32_t *)word - audited.words));
}

// Accesses to one word.
#define WORD(number, mode_) BRAID_ACCESSES({ word_at(number), (mode_) })

static braid_resource word_at(uint32_t number)
{
    braid_resource range;
    check_ok(braid_graph_add_range(audited.graph, audited.buffer, number * 4, 4, &range));
    return range;
}

static braid_node add_begin(void)
{
    braid_node node;
    check_ok(braid_graph_add_host_call(
        audited.graph,
        &(braid_host_call){ .node.name = "begin",
                            .call = begin,
                            BRAID_ACCESSES({ audited.buffer, BRAID_EXCLUSIVE }) },
        &node));
    return node;
}

#define FOLLOWS(node) .after = (node), .num_after = 1

// A node that writes a word of its own, by the state outside.
static braid_node add_step(const char *name, uint32_t number, braid_node_options options)
{
    braid_node node;
    const braid_access access = { word_at(number), BRAID_WRITE };
    options.name = name;
    options.accesses = &access;
    options.num_accesses = 1;
    check_ok(braid_graph_add_host_call(
        audited.graph,
        &(braid_host_call){ .node = options, .call = step_into, .user = &audited.words[number] },
        &node));
    return node;
}

static braid_status audit_orders(size_t *num)
{
    audited.findings.num = 0;
    return braid_graph_audit(
        audited.graph, audited.device,
        &(braid_audit_options){ .report = keep_finding, .user = &audited.findings, .orders = true },
        num);
}

// Finds these orders, in any order of each other.
static void expect(size_t num, const char *const *texts)
{
    size_t num_orders = 0;
    audit_frames(audited.device, audited.graph, true, &audited.findings);
    for (size_t i = 0; i < audited.findings.num; i++) {
        const struct finding *finding = &audited.findings.items[i];
        size_t k = 0;
        if (finding->told.kind < BRAID_AUDIT_ORDER)
            continue;
        while (k < num && strcmp(finding->text, texts[k]) != 0)
            k++;
        if (k == num)
            fail_msg("%s", finding->text);
        num_orders++;
    }
    assert_int_equal(num_orders, num);
}
#define EXPECT(...)                                                                                \
    expect(sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *),                          \
           (const char *const[]){ __VA_ARGS__ })

static void all_pairs_are_told_and_results_are_of_one_frame(void **state)
{
    (void)state;
    add_begin();
    braid_node one = add_step("one", 1, (braid_node_options){ 0 });
    add_step("two", 2, (braid_node_options){ FOLLOWS(&one) });
    add_step("three", 3, (braid_node_options){ FOLLOWS(&one) });
    add_step("four", 4, (braid_node_options){ FOLLOWS(&one) });
    EXPECT("nothing orders nodes 2 'two' and 3 'three', and byte 8 of 'words' depends on their "
           "order",
           "nothing orders nodes 3 'three' and 4 'four', and byte 12 of 'words' depends on their "
           "order");
    assert_int_equal(audited.words[4], ((1 * 31 + 2) * 31 + 3) * 31 + 4);
}

static void no_more_than_sixteen_pairs_are_told(void **state)
{
    (void)state;
    add_begin();
    for (uint32_t i = 0; i < 30; i++)
        add_step("step", i, (braid_node_options){ 0 });
    size_t num = 0;
    check_ok(audit_orders(&num));
    while (num && audited.findings.items[num - 1].told.kind == BRAID_AUDIT_ORDER)
        num--;
    assert_int_equal(audited.findings.num - num, 16);
}

static void edges_hints_and_bundles_are_orders(void **state)
{
    (void)state;
    braid_node begun = add_begin(), first = add_step("first", 1, (braid_node_options){ 0 });
    add_step("second", 2, (braid_node_options){ FOLLOWS(&first), .lane_hint = 3 });
    braid_node third = add_step("third", 3, (braid_node_options){ .lane_hint = 3 });
    add_step("before", 4, (braid_node_options){ .prelude_of = third });
    expect(0, NULL);
    add_step("other", 5, (braid_node_options){ FOLLOWS(&begun) });
    EXPECT("nothing orders nodes 3 'third' and 5 'other', and byte 12 of 'words' depends on their "
           "order");
}

// Sums are rounded, and appends are seen.
static void nodes_that_accumulate_together_keep_an_order(void **state)
{
    (void)state;
    add_begin();
    for (uint32_t i = 1; i < 4; i++)
        check_ok(braid_graph_add_host_call(audited.graph,
                                           &(braid_host_call){ .call = step_into,
                                                               .user = &audited.words[i],
                                                               WORD(0, BRAID_ACCUMULATE) },
                                           NULL));
    expect(0, NULL);
    check_ok(braid_graph_add_host_call(audited.graph,
                                       &(braid_host_call){ .call = step_into,
                                                           .user = &audited.words[4],
                                                           WORD(5, BRAID_ACCUMULATE) },
                                       NULL));
    assert_int_equal(audit_orders(&(size_t){ 0 }), BRAID_OK);
    assert_int_equal(audited.findings.items[audited.findings.num - 1].told.other.index, 4);
}

static void nodes_of_a_body_have_orders_of_their_own(void **state)
{
    (void)state;
    skip_loops_of_host_calls();
    audited.words[9] = 1;
    add_begin();
    check_ok(braid_graph_begin_loop(audited.graph, &(braid_loop){ .node.name = "loop", .times = 3 },
                                    NULL));
    braid_node one = add_step("one", 1, (braid_node_options){ .lane_hint = 1 });
    check_ok(braid_graph_begin_if(
        audited.graph, &(braid_if){ .node.name = "if", BRAID_AFTER(one), .condition = word_at(9) },
        NULL));
    add_step("two", 2, (braid_node_options){ 0 });
    add_step("three", 3, (braid_node_options){ 0 });
    check_ok(braid_graph_else(audited.graph));
    add_step("four", 4, (braid_node_options){ 0 });
    check_ok(braid_graph_end(audited.graph));
    check_ok(braid_graph_end(audited.graph));
    EXPECT("nothing orders nodes 4 'two' and 5 'three', and byte 4 of 'words' depends on their "
           "order");
    add_step("five", 5, (braid_node_options){ .lane_hint = 1 });
    EXPECT("nothing orders nodes 4 'two' and 5 'three', and byte 4 of 'words' depends on their "
           "order",
           "nothing orders nodes 1 'loop' and 7 'five', and byte 4 of 'words' depends on their "
           "order");
}

static void count_down(void *word)
{
    *(uint32_t *)word -= 1;
}

// Its results are those of two iterations.
static void a_condition_ends_a_loop_in_each_order(void **state)
{
    (void)state;
    skip_loops_of_host_calls();
    audited.words[3] = 2;
    check_ok(braid_graph_begin_loop(audited.graph,
                                    &(braid_loop){ .condition = word_at(3), .most = 5 }, NULL));
    for (uint32_t i = 3; i < 5; i++)
        check_ok(braid_graph_add_host_call(audited.graph,
                                           &(braid_host_call){ .call = count_down,
                                                               .user = &audited.words[i],
                                                               WORD(i, BRAID_READ_WRITE) },
                                           NULL));
    check_ok(braid_graph_end(audited.graph));
    expect(0, NULL);
    assert_int_equal(audited.words[3], 0);
    assert_int_equal(audited.words[4], UINT32_MAX - 1);
}

static uint32_t count;

static void count_into(void *word)
{
    *(uint32_t *)word = count++;
}

static void results_that_never_repeat_are_told_with_their_node(void **state)
{
    (void)state;
    add_begin();
    add_step("one", 1, (braid_node_options){ 0 });
    check_ok(braid_graph_add_host_call(audited.graph,
                                       &(braid_host_call){ .node.name = "clock",
                                                           .call = count_into,
                                                           .user = &audited.words[2],
                                                           WORD(2, BRAID_WRITE) },
                                       NULL));
    add_step("two", 3, (braid_node_options){ 0 });
    EXPECT("node 2 'clock' does not repeat its results: byte 8 of 'words' differs");
    const braid_audit_finding *found = &audited.findings.items[audited.findings.num - 1].told;
    assert_int_equal(found->kind, BRAID_AUDIT_UNREPEATABLE);
    assert_int_equal(found->other.graph, 0);
    assert_ptr_equal(found->address, &audited.words[2]);
    assert_int_equal(found->begin, 8);
    assert_int_equal(found->end, 9);
    assert_int_equal(found->num, 1);
}

static braid_node add_next(braid_resource from, braid_resource to, uint64_t cost_ns)
{
    braid_node node;
    check_ok(
        braid_graph_add_kernel(audited.graph,
                               &(braid_kernel_node){ .node.cost_ns = cost_ns,
                                                     .kernel = &next_kernel,
                                                     BRAID_ARGS(BRAID_IN(from), BRAID_OUT(to)) },
                               &node));
    return node;
}

// Adds two nodes with a transient buffer between. Returns the first one. The plan runs the dearer
// second node first.
static braid_node add_chain(uint32_t number)
{
    braid_resource between;
    check_ok(braid_graph_add_transient(audited.graph, "between", 4, 0, &between));
    braid_node first = add_next(word_at(2 * number), between, 1);
    add_next(between, word_at(2 * number + 1), 50 - 10 * number);
    audited.words[2 * number] = 10 * number;
    return first;
}

static void contents_of_transient_buffers_are_no_results(void **state)
{
    braid_resource kept;
    (void)state;
    check_ok(braid_graph_add_transient(audited.graph, "kept", 4, 0, &kept));
    check_ok(braid_graph_add_kernel(
        audited.graph,
        &(braid_kernel_node){
            .kernel = &counting_kernel,
            BRAID_ARGS(BRAID_OUT(kept), { &audited.outside, sizeof(audited.outside),
                                          BRAID_ARG_UNCHECKED_POINTER }) },
        NULL));
    expect(0, NULL);
}

// The plan gives some of these buffers the same memory. An order that is not the plan's has both
// in use at once: a node that follows the first nodes of all chains is to come early.
static void transient_buffers_do_not_order_nodes(void **state)
{
    (void)state;
    braid_exec *exec;
    braid_exec_info info;
    braid_node firsts[NUM_CHAINS];
    for (uint32_t i = 0; i < NUM_CHAINS; i++)
        firsts[i] = add_chain(i);
    check_ok(braid_graph_add_host_call(
        audited.graph,
        &(braid_host_call){ .node = { .after = firsts, .num_after = NUM_CHAINS, .cost_ns = 1 },
                            .call = begin },
        NULL));
    check_ok(braid_exec_create(audited.device, audited.graph, NULL, &exec));
    braid_exec_get_info(exec, &info);
    assert_true(!audits_cpu() || info.transient_bytes < info.unshared_transient_bytes);
    braid_exec_destroy(exec);
    expect(0, NULL);
    for (uint32_t i = 0; i < NUM_CHAINS; i++)
        assert_int_equal(audited.words[2 * i + 1], 10 * i + 2);
}

// A version that an earlier frame wrote, memory that nobody may write, and work on a stream.
static braid_status fill_word(braid_device *device, braid_stream *stream, void *user)
{
    (void)device;
    return braid_stream_fill(stream, user, 9, 1, 4);
}

static void versions_queue_calls_and_read_only_memory_take_part(void **state)
{
    (void)state;
    uint32_t *fixed = map_pages(1);
    braid_resource constant, turns;
    *fixed = 5;
    mprotect(fixed, PAGE, PROT_READ);
    check_ok(braid_graph_add_buffer(audited.graph, "fixed", fixed, PAGE, &constant));
    check_ok(braid_graph_add_versioned_buffer(audited.graph, "turns", NULL, 2, 4, &turns));
    check_ok(braid_graph_add_copy(
        audited.graph,
        &(braid_copy){ .to_resource = turns,
                       .from_resource = constant,
                       .bytes = 4,
                       BRAID_ACCESSES({ constant, BRAID_READ }, { turns, BRAID_WRITE }) },
        NULL));
    check_ok(braid_graph_add_queue_call(
        audited.graph,
        &(braid_queue_call){ .node.name = "fill", .call = fill_word, .user = audited.words },
        NULL));
    check_ok(braid_graph_add_kernel(
        audited.graph,
        &(braid_kernel_node){
            .kernel = &adding_kernel,
            BRAID_ARGS({ &audited.words, sizeof(audited.words), BRAID_ARG_UNCHECKED_POINTER },
                       BRAID_INOUT(turns)) },
        NULL));
    EXPECT("nothing orders nodes 1 'fill' and 2 'adding', and byte 0 of 'turns' depends on their "
           "order");
    munmap(fixed, PAGE);
}

static uint32_t calls_before_failure;

static braid_status fail_later(braid_device *device, braid_stream *stream, void *user)
{
    (void)device, (void)stream, (void)user;
    return calls_before_failure-- ? BRAID_OK : BRAID_IO_ERROR;
}

// Wherever a run fails, buffers have their contents of before.
static void a_failed_run_ends_the_audit(void **state)
{
    (void)state;
    size_t num = 5;
    add_begin();
    for (uint32_t i = 0; i < 3; i++)
        add_step("step", 1 + i, (braid_node_options){ 0 });
    check_ok(
        braid_graph_add_queue_call(audited.graph, &(braid_queue_call){ .call = fail_later }, NULL));
    braid_status status = BRAID_IO_ERROR;
    uint32_t nth = 0;
    for (; status; nth++) {
        audited.words[1] = 20;
        calls_before_failure = nth;
        status = audit_orders(&num);
        assert_int_equal(status, status ? BRAID_IO_ERROR : BRAID_OK);
        if (status && nth < 10)
            assert_int_equal(audited.words[1], 20);
    }
    assert_true(nth > 10);
    assert_int_equal(audited.words[1], 1);
    // The same holds where a node does not repeat its results.
    check_ok(braid_graph_add_host_call(
        audited.graph, &(braid_host_call){ .call = count_into, .user = &audited.words[7] }, NULL));
    status = BRAID_IO_ERROR;
    for (nth = 0; status; nth++) {
        calls_before_failure = nth;
        status = audit_orders(&num);
        assert_int_equal(status, status ? BRAID_IO_ERROR : BRAID_OK);
    }
    assert_true(nth > 4);
}

static void too_many_nodes_are_refused(void **state)
{
    (void)state;
    size_t num = 5;
    for (uint32_t i = 0; i < 4097; i++)
        check_ok(braid_graph_add_empty(audited.graph, &(braid_empty){ 0 }, NULL));
    check_fails(audit_orders(&num), BRAID_UNSUPPORTED, "orders of 4097 nodes, and 4096");
    assert_int_equal(num, 5);
}

static void an_empty_graph_has_one_order(void **state)
{
    (void)state;
    expect(0, NULL);
}

static void any_allocation_may_fail(void **state)
{
    (void)state;
    braid_resource transient;
    bool failed = true;
    if (!audits_cpu())
        skip_because("tests/gpu/audits_see_what_kernels_access does this on a device");
    check_ok(braid_graph_add_transient(audited.graph, "between", 4, 0, &transient));
    add_begin();
    check_ok(braid_graph_begin_loop(audited.graph, &(braid_loop){ .times = 2 }, NULL));
    for (uint32_t i = 0; i < 2; i++)
        add_step("step", i, (braid_node_options){ 0 });
    check_ok(braid_graph_end(audited.graph));
    check_ok(braid_graph_add_fill(audited.graph,
                                  &(braid_fill){ .to_resource = transient,
                                                 .num_values = 4,
                                                 BRAID_ACCESSES({ transient, BRAID_WRITE },
                                                                { word_at(9), BRAID_ACCUMULATE }) },
                                  NULL));
    for (uint64_t nth = 1; failed; nth++) {
        size_t num = 5;
        failing_memory_arm_once(nth);
        braid_status status = audit_orders(&num);
        failed = failing_memory_disarm();
        assert_true(status == BRAID_OK || (failed && status == BRAID_NO_MEMORY));
        assert_int_equal(num, status ? 5 : 2); // it never writes the word
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        AUDITED_TEST(all_pairs_are_told_and_results_are_of_one_frame),
        AUDITED_TEST(no_more_than_sixteen_pairs_are_told),
        AUDITED_TEST(edges_hints_and_bundles_are_orders),
        AUDITED_TEST(nodes_that_accumulate_together_keep_an_order),
        AUDITED_TEST(nodes_of_a_body_have_orders_of_their_own),
        AUDITED_TEST(a_condition_ends_a_loop_in_each_order),
        AUDITED_TEST(results_that_never_repeat_are_told_with_their_node),
        AUDITED_TEST(contents_of_transient_buffers_are_no_results),
        AUDITED_TEST(transient_buffers_do_not_order_nodes),
        AUDITED_TEST(versions_queue_calls_and_read_only_memory_take_part),
        AUDITED_TEST(a_failed_run_ends_the_audit),
        AUDITED_TEST(too_many_nodes_are_refused),
        AUDITED_TEST(an_empty_graph_has_one_order),
        AUDITED_TEST(any_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
