// SPDX-License-Identifier: Apache-2.0
// The program states the memory of kernels that have no text. Their orders are those of proven
// kernels, and all that may be memory besides counts as written.
#include "import/captures.h"

enum { MOST_STATED = 4 };

static const void *nodes[MOST_STATED];
static braid_import_range ranges[MOST_STATED];
static braid_import_statement statements[MOST_STATED];

static void *at(CUdeviceptr address)
{
    return (void *)(uintptr_t)address; // NOLINT
}

// The node that was captured last.
static const void *last_node(void)
{
    CUstreamCaptureStatus status;
    CUgraph graph;
    const CUgraphNode *after;
    size_t num;
    must(cuStreamGetCaptureInfo_v2(here.stream, &status, NULL, &graph, &after, &num));
    assert_int_equal(num, 1);
    return after[0];
}

// Captures a copy of a word as number `index`, which reads and writes so much as it does.
static void state_copy(int index, CUdeviceptr from, CUdeviceptr to)
{
    LAUNCH("copy", from, to);
    nodes[index] = last_node();
    ranges[index] = (braid_import_range){ at(from), 8, false };
    statements[index] = (braid_import_statement){ &nodes[index], 1, &ranges[index], 1 };
}

static braid_import_options options_with(size_t num)
{
    return (braid_import_options){ .statements = statements, .num_statements = num };
}

static void import_stated(size_t num)
{
    const braid_import_options options = options_with(num);
    import_with(&options);
}

static void expect(uint32_t num_stated, uint32_t num_unproven, uint64_t num_kept)
{
    assert_int_equal(here.info.num_stated, num_stated);
    assert_int_equal(here.info.num_unproven, num_unproven);
    assert_int_equal(here.info.num_kept, num_kept);
}

static unsigned read_word(CUdeviceptr address)
{
    unsigned word;
    must(cuMemcpyDtoH_v2(&word, address, sizeof(word)));
    return word;
}

// ---- orders ----

static void a_chain_falls_apart(void **state)
{
    (void)state;
    for (int num = 3; num >= 0; num -= 3) {
        begin_capture();
        state_copy(0, here.memory[0], here.memory[1]);
        state_copy(1, here.memory[2], here.memory[3]);
        state_copy(2, here.memory[1], here.memory[0]);
        import_stated((size_t)num);
        expect((uint32_t)num, 3 - (uint32_t)num, num ? 1 : 3);
        braid_import_destroy(here.import);
    }
}

static void words_outside_of_ranges_are_written(void **state)
{
    (void)state;
    for (size_t num_ranges = 0; num_ranges < 2; num_ranges++) {
        begin_capture();
        state_copy(0, here.memory[0], here.memory[1]);
        state_copy(1, here.memory[0], here.memory[2]);
        statements[0].num_ranges = num_ranges;
        import_stated(2);
        expect(2, 0, num_ranges ? 0 : 1);
        braid_import_destroy(here.import);
    }
}

static void ranges_are_written_where_they_say_so(void **state)
{
    (void)state;
    for (int writes = 0; writes < 2; writes++) {
        begin_capture();
        state_copy(0, here.memory[0], here.memory[1]);
        state_copy(1, here.memory[0], here.memory[2]);
        ranges[1].is_written = writes;
        import_stated(2);
        expect(2, 0, (uint64_t)writes);
        braid_import_destroy(here.import);
    }
}

// A range may be what no parameter tells.
static void ranges_order_what_parameters_hide(void **state)
{
    (void)state;
    begin_capture();
    state_copy(0, here.memory[0], here.memory[1]);
    state_copy(1, here.memory[2], here.memory[3]);
    ranges[1] = (braid_import_range){ at(here.memory[1] + 64), 8, false };
    import_stated(2);
    expect(2, 0, 1);
    braid_import_destroy(here.import);
}

static void nodes_of_one_statement_touch_the_same(void **state)
{
    (void)state;
    begin_capture();
    state_copy(0, here.memory[0], here.memory[1]);
    state_copy(1, here.memory[2], here.memory[2] + 64);
    state_copy(2, here.memory[1], here.memory[3]);
    statements[0].num_nodes = 2;
    statements[1] = statements[2];
    import_stated(2);
    expect(3, 0, 3);
    braid_import_destroy(here.import);
}

static void kernels_touch_what_fills_of_their_statement_do(void **state)
{
    (void)state;
    for (size_t num_nodes = 1; num_nodes < 3; num_nodes++) {
        begin_capture();
        state_copy(0, here.memory[0], here.memory[1]);
        must(cuMemsetD8Async(here.memory[2], 1, 64, here.stream));
        nodes[1] = last_node();
        state_copy(2, here.memory[2], here.memory[3]);
        statements[0].num_nodes = num_nodes;
        statements[1] = statements[2];
        import_stated(2);
        expect(2, 0, num_nodes == 1 ? 1 : 3);
        braid_import_destroy(here.import);
    }
}

// A range reaches over parts that the program gives, and a part that has none of it stays apart.
static void ranges_cover_parts(void **state)
{
    (void)state;
    braid_import_buffer parts[3];
    for (unsigned i = 0; i < 3; i++)
        parts[i] = (braid_import_buffer){ .address = at(here.memory[0] + 64 * i), .bytes = 64 };
    for (int touches = 0; touches < 2; touches++) {
        begin_capture();
        state_copy(0, here.memory[0], here.memory[1]);
        state_copy(1, here.memory[2], here.memory[0] + (touches ? 64 : 128));
        ranges[0].bytes = 128;
        braid_import_options options = options_with(2);
        options.buffers = parts;
        options.num_buffers = 3;
        import_with(&options);
        expect(2, 0, (uint64_t)touches);
        braid_import_destroy(here.import);
    }
}

static void code_counts_before_statements(void **state)
{
    (void)state;
    begin_capture();
    state_copy(0, here.memory[0], here.memory[1]);
    state_copy(1, here.memory[0], here.memory[2]);
    ranges[0].is_written = true;
    import_with(
        &(braid_import_options){ TEXTS(text), .statements = statements, .num_statements = 2 });
    expect(0, 0, 0);
    braid_import_destroy(here.import);
}

// ---- results ----

static void stated_kernels_play(void **state)
{
    (void)state;
    must(cuMemsetD8_v2(here.memory[0], 5, 64));
    must(cuMemsetD8_v2(here.memory[1], 0, 64));
    must(cuMemsetD8_v2(here.memory[2], 0, 64));
    begin_capture();
    state_copy(0, here.memory[0], here.memory[1]);
    state_copy(1, here.memory[1], here.memory[2]);
    import_stated(2);
    expect(2, 0, 1);
    expect_report("2 kernels touch the memory that the program states\n");
    assert_non_null(strstr(report(BRAID_IMPORT_JSON), "\"stated\": 2"));
    play();
    assert_int_equal(read_word(here.memory[2]), 0x05050507); // each adds one
    braid_import_destroy(here.import);
}

// ---- memory ----

static void watched_memory_keeps_orders(void **state)
{
    (void)state;
    void *pinned;
    must(cuMemHostAlloc(&pinned, BYTES, 0));
    for (int by_word = 0; by_word < 2; by_word++) {
        begin_capture();
        state_copy(0, by_word ? (CUdeviceptr)(uintptr_t)pinned : here.memory[0], here.memory[1]);
        if (by_word)
            statements[0].num_ranges = 0;
        else
            ranges[0].address = pinned;
        import_stated(1);
        expect(0, 1, 0);
        expect_report("others may look at");
        braid_import_destroy(here.import);
    }
    must(cuMemFreeHost(pinned));
}

static void unknown_memory_keeps_orders(void **state)
{
    (void)state;
    begin_capture();
    state_copy(0, here.memory[0], here.memory[1]);
    state_copy(1, here.memory[2], here.memory[3]);
    ranges[1].address = at(0x10);
    import_stated(2);
    expect(1, 1, 1);
    expect_report("a range that it touches is in no known memory");
    braid_import_destroy(here.import);
}

// ---- mistakes ----

static void refuse_with(const char *message)
{
    const braid_import_options options = options_with(2);
    expect_refusal(&options, BRAID_INVALID_ARGUMENT, message);
}

static void begin_two(void)
{
    begin_capture();
    state_copy(0, here.memory[0], here.memory[1]);
    state_copy(1, here.memory[2], here.memory[3]);
}

static void mistakes_are_refused(void **state)
{
    (void)state;
    begin_two();
    nodes[1] = nodes;
    refuse_with("statement 1 names node 0, which the captured graph does not have");
    begin_two();
    nodes[1] = nodes[0];
    refuse_with("statement 1 names node 0 of the captured graph, which is named before");
    begin_two();
    statements[1].num_nodes = 0;
    refuse_with("statement 1 has no nodes");
    begin_two();
    statements[1].ranges = NULL;
    refuse_with("statement 1 has no nodes, or its ranges are NULL");
    begin_two();
    ranges[1].bytes = UINT64_MAX;
    refuse_with("range 0 of statement 1 ends behind the last address");
    begin_two();
    expect_refusal(&(braid_import_options){ .num_statements = 1 }, BRAID_INVALID_ARGUMENT,
                   "a list of the options is NULL");
}

// ---- later captures ----

static void later_captures_state_their_own(void **state)
{
    (void)state;
    braid_exec *exec;
    begin_capture();
    state_copy(0, here.memory[0], here.memory[1]);
    state_copy(1, here.memory[2], here.memory[3]);
    import_stated(2);
    check_ok(braid_exec_create(here.device, braid_import_get_graph(here.import), NULL, &exec));
    for (int shares = 0; shares < 2; shares++) {
        begin_capture();
        state_copy(0, here.memory[0] + 64, here.memory[1]);
        state_copy(1, here.memory[shares ? 1 : 2], here.memory[3]);
        const braid_import_options options = options_with(2);
        must(cuStreamEndCapture(here.stream, &here.graph));
        const braid_status status = braid_import_update(here.import, here.graph, &options, exec);
        if (shares)
            check_fails(status, BRAID_INVALID_ARGUMENT, "order");
        else
            check_ok(status);
        must(cuGraphDestroy(here.graph));
    }
    check_fails(braid_import_update(here.import, exec,
                                    &(braid_import_options){ .num_statements = 1 }, exec),
                BRAID_INVALID_ARGUMENT, "braid_import_update: a list of the options is NULL");
    braid_exec_destroy(exec);
    braid_import_destroy(here.import);
}

// ---- confined kernels ----

static const char *const confined[] = { "copy" };

static braid_import_options confined_options(size_t num)
{
    return (braid_import_options){ .confined = confined, .num_confined = num };
}

// The last copy shares memory with both others. The first two share none.
static void confined_kernels_write_what_their_parameters_point_into(void **state)
{
    (void)state;
    for (size_t num = 0; num < 2; num++) {
        begin_capture();
        LAUNCH("copy", here.memory[0], here.memory[1]);
        LAUNCH("copy", here.memory[2], here.memory[3]);
        LAUNCH("copy", here.memory[0] + 64, here.memory[2] + 64);
        const braid_import_options options = confined_options(num);
        import_with(&options);
        expect(num ? 3 : 0, num ? 0 : 3, num ? 2 : 3);
        braid_import_destroy(here.import);
    }
}

static void other_kernels_are_not_confined(void **state)
{
    (void)state;
    begin_capture();
    LAUNCH("copy", here.memory[0], here.memory[1]);
    LAUNCH("spread", here.memory[2]);
    const braid_import_options options = confined_options(1);
    import_with(&options);
    expect(1, 1, 1);
    braid_import_destroy(here.import);
}

static void code_counts_before_names(void **state)
{
    (void)state;
    begin_capture();
    LAUNCH("copy", here.memory[0], here.memory[1]);
    LAUNCH("copy", here.memory[0], here.memory[2]);
    import_with(&(braid_import_options){ TEXTS(text), .confined = confined, .num_confined = 1 });
    expect(0, 0, 0);
    braid_import_destroy(here.import);
}

static void lists_without_names_are_refused(void **state)
{
    (void)state;
    const char *const none[] = { "copy", NULL };
    begin_two();
    expect_refusal(&(braid_import_options){ .num_confined = 1 }, BRAID_INVALID_ARGUMENT,
                   "a list of the options is NULL");
    begin_two();
    expect_refusal(&(braid_import_options){ .confined = none, .num_confined = 2 },
                   BRAID_INVALID_ARGUMENT, "confined kernel 1 is NULL");
}

static void later_captures_confine_their_own(void **state)
{
    (void)state;
    const char *const none[] = { NULL };
    braid_exec *exec;
    begin_two();
    const braid_import_options options = confined_options(1), null = { .num_confined = 1 };
    const braid_import_options unnamed = { .confined = none, .num_confined = 1 };
    import_with(&options);
    check_ok(braid_exec_create(here.device, braid_import_get_graph(here.import), NULL, &exec));
    for (int shares = 0; shares < 2; shares++) {
        begin_capture();
        LAUNCH("copy", here.memory[0] + 64, here.memory[1]);
        LAUNCH("copy", here.memory[shares ? 0 : 2], here.memory[3]);
        must(cuStreamEndCapture(here.stream, &here.graph));
        check_fails(braid_import_update(here.import, here.graph, &null, exec),
                    BRAID_INVALID_ARGUMENT, "a list of the options is NULL");
        check_fails(braid_import_update(here.import, here.graph, &unnamed, exec),
                    BRAID_INVALID_ARGUMENT, "confined kernel 0 is NULL");
        const braid_status status = braid_import_update(here.import, here.graph, &options, exec);
        if (shares)
            check_fails(status, BRAID_INVALID_ARGUMENT, "order");
        else
            check_ok(status);
        must(cuGraphDestroy(here.graph));
    }
    braid_exec_destroy(exec);
    braid_import_destroy(here.import);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_falls_apart),
        cmocka_unit_test(words_outside_of_ranges_are_written),
        cmocka_unit_test(ranges_are_written_where_they_say_so),
        cmocka_unit_test(ranges_order_what_parameters_hide),
        cmocka_unit_test(nodes_of_one_statement_touch_the_same),
        cmocka_unit_test(kernels_touch_what_fills_of_their_statement_do),
        cmocka_unit_test(ranges_cover_parts),
        cmocka_unit_test(code_counts_before_statements),
        cmocka_unit_test(stated_kernels_play),
        cmocka_unit_test(watched_memory_keeps_orders),
        cmocka_unit_test(unknown_memory_keeps_orders),
        cmocka_unit_test(mistakes_are_refused),
        cmocka_unit_test(later_captures_state_their_own),
        cmocka_unit_test(confined_kernels_write_what_their_parameters_point_into),
        cmocka_unit_test(other_kernels_are_not_confined),
        cmocka_unit_test(code_counts_before_names),
        cmocka_unit_test(lists_without_names_are_refused),
        cmocka_unit_test(later_captures_confine_their_own),
    };
    return cmocka_run_group_tests(tests, open_captures, close_captures);
}
