// SPDX-License-Identifier: Apache-2.0
// An audit of orders names no two nodes for results that change by themselves. It leaves out memory
// that nobody can read, ends loops that another order keeps going, and compares traps.
// BRAID_TEST_BACKEND names the device.
#include <string.h>
#include <sys/mman.h>

#include "audit/audit_testing.h"
#include "audit/audited_kernels.h"

enum { NUM_WORDS = PAGE / 4 };

static uint32_t calls, calls_before_change;

static braid_resource words_at(uint32_t number, uint32_t num)
{
    braid_resource range;
    check_ok(braid_graph_add_range(audited.graph, audited.buffer, number * 4, num * 4, &range));
    return range;
}

static braid_node add_call(const char *name, braid_host_function *call, uint32_t number,
                           const braid_node *after)
{
    const braid_access access = { words_at(number, 1), BRAID_WRITE };
    braid_node node;
    check_ok(braid_graph_add_host_call(
        audited.graph,
        &(braid_host_call){
            .node = { name, .accesses = &access, 1, .after = after, .num_after = after != NULL },
            .call = call,
            .user = &audited.words[number] },
        &node));
    return node;
}

// The findings of orders; other findings come before.
static const struct finding *audit_orders(size_t *out_num)
{
    size_t first = 0;
    audit_frames(audited.device, audited.graph, true, &audited.findings);
    while (first < audited.findings.num &&
           audited.findings.items[first].told.kind < BRAID_AUDIT_ORDER)
        first++;
    *out_num = audited.findings.num - first;
    return &audited.findings.items[first];
}

static void expect_one(const char *text)
{
    size_t num;
    const struct finding *found = audit_orders(&num);
    assert_int_equal(num, 1);
    assert_string_equal(found->text, text);
}

static void expect_none(void)
{
    size_t num;
    const struct finding *found = audit_orders(&num);
    if (num)
        fail_msg("%s", found->text);
}

static void write_seven(void *word)
{
    *(uint32_t *)word = 7;
}

static void write_clock(void *word)
{
    *(uint32_t *)word = calls++ >= calls_before_change;
}

// Whether there is such a finding. There is no other.
static bool is_told_as_unrepeatable(uint32_t before_change)
{
    size_t num;
    calls = 0;
    calls_before_change = before_change;
    const struct finding *found = audit_orders(&num);
    assert_in_range(num, 0, 1);
    if (!num)
        return false;
    assert_int_equal(found->told.kind, BRAID_AUDIT_UNREPEATABLE);
    assert_int_equal(found->told.node.graph, 0);
    assert_ptr_equal(found->told.address, &audited.words[5]);
    assert_string_equal(found->text,
                        "the frame does not always repeat its results: byte 20 of 'words' differs");
    return true;
}

static void check_late_changes(void)
{
    uint32_t num_told = 0, before = 1;
    for (bool runs_on = true; runs_on; before++) {
        bool is_told = is_told_as_unrepeatable(before);
        runs_on = calls > before;
        num_told += is_told;
    }
    assert_true(num_told > 1);
}

static void add_clock_among_others(void)
{
    for (uint32_t i = 0; i < 9; i++)
        add_call(i == 5 ? "clock" : "seven", i == 5 ? write_clock : write_seven, i, NULL);
}

static void results_that_change_late_name_no_pair(void **state)
{
    (void)state;
    add_clock_among_others();
    check_late_changes();
}

static void neither_do_those_of_a_body(void **state)
{
    (void)state;
    skip_loops_of_host_calls();
    add_call("seven", write_seven, 10, NULL);
    check_ok(braid_graph_begin_loop(audited.graph, &(braid_loop){ .times = 1 }, NULL));
    add_clock_among_others();
    check_ok(braid_graph_end(audited.graph));
    check_late_changes();
}

static void memory_that_cannot_be_read_is_left_out(void **state)
{
    (void)state;
    braid_resource resource;
    unsigned char *partly = map_pages(3);
    mprotect(partly + PAGE, PAGE, PROT_NONE);
    check_ok(braid_graph_add_buffer(audited.graph, "nowhere", (void *)PAGE, PAGE, &resource));
    check_ok(braid_graph_add_buffer(audited.graph, "partly", partly, 3 * PAGE, &resource));
    for (uint32_t i = 0; i < 2; i++)
        check_ok(braid_graph_add_host_call(
            audited.graph,
            &(braid_host_call){ .call = i ? write_seven : write_clock, .user = partly + 2 * PAGE },
            NULL));
    calls_before_change = UINT32_MAX;
    expect_one("nothing orders nodes 0 'host call' and 1 'host call', and byte 8192 of 'partly' "
               "depends on their order");
    assert_ptr_equal(audited.findings.items[audited.findings.num - 1].told.address,
                     partly + 2 * PAGE);
    munmap(partly, 3 * PAGE);
}

static void reset(void *word)
{
    *(uint32_t *)word = 1;
    *audited.outside = false;
}

static void get_ready(void *word)
{
    *(uint32_t *)word = 2;
    *audited.outside = true;
}

static void go_on_unless_ready(void *word)
{
    *(uint32_t *)word = !*audited.outside;
}

static void add_loop(void)
{
    audited.words[0] = 1;
    check_ok(braid_graph_begin_loop(
        audited.graph,
        &(braid_loop){ .node.name = "loop", .condition = words_at(0, 1), .unbounded = true },
        NULL));
    braid_node first = add_call("reset", reset, 1, NULL);
    add_call("ready", get_ready, 2, &first);
    add_call("go on", go_on_unless_ready, 0, &first);
    check_ok(braid_graph_end(audited.graph));
}

static void a_loop_that_another_order_keeps_going_is_ended(void **state)
{
    (void)state;
    skip_loops_of_host_calls();
    add_loop();
    expect_one("nothing orders nodes 2 'ready' and 3 'go on', and the end of node 0 'loop' depends "
               "on their order");
    const braid_audit_finding *found = &audited.findings.items[audited.findings.num - 1].told;
    assert_null(found->buffer);
    assert_int_equal(found->resource.graph, 0);
    assert_int_equal(found->num, 0);
}

static uint32_t steps;

static void begin_steps(void *user)
{
    (void)user;
    steps = 0;
}

static void step_into(void *word)
{
    *(uint32_t *)word = steps = steps * 31 + (uint32_t)((uint32_t *)word - audited.words);
}

static void add_begin(void)
{
    check_ok(braid_graph_add_host_call(
        audited.graph,
        &(braid_host_call){ .call = begin_steps,
                            BRAID_ACCESSES({ audited.buffer, BRAID_EXCLUSIVE }) },
        NULL));
}

static void count_down(void *word)
{
    *(uint32_t *)word -= 1;
}

static void a_long_loop_is_not_ended(void **state)
{
    (void)state;
    skip_loops_of_host_calls();
    audited.words[0] = 5000;
    check_ok(braid_graph_begin_loop(
        audited.graph, &(braid_loop){ .condition = words_at(0, 1), .unbounded = true }, NULL));
    add_call("count", count_down, 0, NULL);
    add_call("seven", write_seven, 1, NULL);
    check_ok(braid_graph_end(audited.graph));
    add_begin();
    for (uint32_t i = 1; i < 3; i++)
        add_call("step", step_into, i, NULL);
    expect_one("nothing orders nodes 4 'step' and 5 'step', and byte 4 of 'words' depends on their "
               "order");
    assert_int_equal(audited.words[0], 0);
}

static void a_trap_of_another_order_is_no_trap_of_the_frame(void **state)
{
    (void)state;
    braid_node first = add_call("reset", reset, 1, NULL);
    add_call("ready", get_ready, 2, &first);
    check_ok(braid_graph_add_kernel(
        audited.graph,
        &(braid_kernel_node){ .node = { "checks", .after = &first, .num_after = 1 },
                              .kernel = &trapping_kernel,
                              BRAID_ARGS(BRAID_TRAP(), { &audited.outside, sizeof(audited.outside),
                                                         BRAID_ARG_UNCHECKED_POINTER }) },
        NULL));
    expect_one("nothing orders nodes 1 'ready' and 2 'checks', and the end of node 2 'checks' "
               "depends on their order");
}

// Nodes change the version of the frame before, which they only declare to read.
static void the_last_version_of_a_buffer_is_a_result(void **state)
{
    (void)state;
    braid_resource turns, earlier;
    check_ok(braid_graph_add_versioned_buffer(audited.graph, "turns", NULL, 3, 4, &turns));
    check_ok(braid_graph_add_earlier_version(audited.graph, turns, 1, &earlier));
    for (uint32_t i = 1; i < 3; i++) {
        uint32_t *number = &audited.outside[i];
        *number = i;
        check_ok(braid_graph_add_kernel(
            audited.graph,
            &(braid_kernel_node){ .kernel = &changing_kernel,
                                  .code_use = BRAID_CODE_UNREAD,
                                  BRAID_ARGS(BRAID_IN(earlier), { &number, sizeof(number),
                                                                  BRAID_ARG_UNCHECKED_POINTER }) },
            NULL));
    }
    expect_one("nothing orders nodes 0 'changing' and 1 'changing', and byte 0 of 'turns' depends "
               "on their order");
}

static void add_sum(uint32_t number, const braid_access *accesses, uint32_t num)
{
    check_ok(braid_graph_add_host_call(
        audited.graph,
        &(braid_host_call){ .node = { .accesses = accesses, .num_accesses = num },
                            .call = step_into,
                            .user = &audited.words[number] },
        NULL));
}

// Ranges that share bytes keep an order, of however many; ranges side by side do not.
static void sums_that_share_bytes_keep_an_order(void **state)
{
    (void)state;
    braid_resource tokens;
    add_begin();
    check_ok(braid_graph_add_resource(audited.graph, "tokens", &tokens));
    const braid_access far = { words_at(24, 2), BRAID_ACCUMULATE },
                       own = { words_at(20, 2), BRAID_ACCUMULATE },
                       next = { words_at(22, 2), BRAID_ACCUMULATE },
                       shared = { words_at(0, 12), BRAID_ACCUMULATE },
                       part = { words_at(8, 8), BRAID_ACCUMULATE },
                       token = { tokens, BRAID_ACCUMULATE };
    add_sum(1, (braid_access[]){ own, shared }, 2);
    add_sum(2, (braid_access[]){ part, token }, 2);
    add_sum(3, (braid_access[]){ token, far }, 2);
    expect_none();
    add_sum(4, (braid_access[]){ next }, 1);
    expect_one("nothing orders nodes 3 'host call' and 4 'host call', and byte 12 of 'words' "
               "depends on their order");
}

// In an exec's own graph such a call waits for one number, and on a stream for another.
static void a_blocking_call_is_made_in_each_order(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        const braid_access access = { words_at(i, 1), BRAID_WRITE };
        check_ok(
            braid_graph_add_host_call(audited.graph,
                                      &(braid_host_call){ .node = { NULL, .accesses = &access, 1 },
                                                          .call = write_seven,
                                                          .user = &audited.words[i],
                                                          .blocking = i != 1 },
                                      NULL));
    }
    expect_none();
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(audited.words[i], 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        AUDITED_TEST(results_that_change_late_name_no_pair),
        AUDITED_TEST(neither_do_those_of_a_body),
        AUDITED_TEST(memory_that_cannot_be_read_is_left_out),
        AUDITED_TEST(a_loop_that_another_order_keeps_going_is_ended),
        AUDITED_TEST(a_long_loop_is_not_ended),
        AUDITED_TEST(a_trap_of_another_order_is_no_trap_of_the_frame),
        AUDITED_TEST(the_last_version_of_a_buffer_is_a_result),
        AUDITED_TEST(sums_that_share_bytes_keep_an_order),
        AUDITED_TEST(a_blocking_call_is_made_in_each_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
