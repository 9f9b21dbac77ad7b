// SPDX-License-Identifier: Apache-2.0
// An import keeps an order where a kernel is not proven, where somebody may look at memory, and
// where nodes share memory. It tells why.
#include "import/captures.h"

static const char writes_both[] =
    HEAD ".visible .entry copy(.param .u64 from, .param .u64 to) {\n.reg .u64 %d<3>;\n"
         "ld.param.u64 %d0, [from]; ld.param.u64 %d1, [to];\n"
         "st.global.u32 [%d0], 1; st.global.u32 [%d1], 1;\nret;\n}\n";
static const char other_sizes[] =
    HEAD ".visible .entry copy(.param .u32 from, .param .u64 to) {\nret;\n}\n";

// ---- proven or not ----

static void a_chain_falls_apart(void **state)
{
    (void)state;
    begin_capture();
    LAUNCH("copy", here.memory[0], here.memory[1]);
    LAUNCH("copy", here.memory[2], here.memory[3]);
    LAUNCH("copy", here.memory[1], here.memory[0]);
    import_with(&(braid_import_options){ TEXTS(text) });
    assert_int_equal(here.info.num_captured, 3);
    assert_int_equal(here.info.num_kept, 1);
    assert_int_equal(here.info.longest_captured, 3);
    assert_int_equal(here.info.longest_kept, 2);
    assert_string_equal(report(BRAID_IMPORT_TEXT),
                        "captured graph: 3 nodes: 3 kernels, 0 copies, 0 fills, 0 host calls\n"
                        "orders: 3 captured, 1 kept\n"
                        "longest path: 3 nodes captured, 2 kept\n"
                        "nodes that may run at once, by level: 2 1 (most 2, mean 1.5)\n"
                        "0 nodes keep all captured orders\n");
    braid_import_destroy(here.import);
}

static void a_kernel_without_proof_keeps_its_orders(void **state)
{
    (void)state;
    begin_capture();
    LAUNCH("copy", here.memory[0], here.memory[1]);
    LAUNCH("follow", here.memory[2], here.memory[3]);
    LAUNCH("copy", here.memory[0], here.memory[1] + 64);
    import_with(&(braid_import_options){ TEXTS(text) });
    assert_int_equal(here.info.num_kept, 3);
    assert_int_equal(here.info.num_unproven, 1);
    expect_report("1 node keeps all captured orders:\n  1 node of 'follow': line ");
    expect_report(
        "    if it were proven and shared no memory, the longest path could have 2 nodes, "
        "now 3\n");
    assert_non_null(
        strstr(report(BRAID_IMPORT_JSON),
               "\"unproven\": [\n    {\"node\": \"1\", \"name\": \"follow\", \"line\": "));
    braid_import_destroy(here.import);
}

static void texts_of_one_name_are_joined(void **state)
{
    (void)state;
    for (int with_both = 0; with_both < 2; with_both++) {
        begin_capture();
        LAUNCH("copy", here.memory[0], here.memory[1]);
        LAUNCH("copy", here.memory[0], here.memory[2]);
        const braid_import_options options = { TEXTS(other_sizes, text,
                                                     with_both ? writes_both : text) };
        import_with(&options);
        assert_int_equal(here.info.num_unproven, 0);
        assert_int_equal(here.info.num_kept, with_both);
        braid_import_destroy(here.import);
    }
    begin_capture();
    LAUNCH("copy", here.memory[0], here.memory[1]);
    import_with(&(braid_import_options){ TEXTS(other_sizes) });
    expect_report("  1 node of 'copy': no text has it, with parameters of these sizes (0)\n");
    braid_import_destroy(here.import);
    begin_capture();
    LAUNCH("copy", here.memory[0], here.memory[1]);
    import_with(
        &(braid_import_options){ TEXTS(text, HEAD ".visible .entry copy(.param .u64 from") });
    assert_int_equal(here.info.num_unproven, 1);
    braid_import_destroy(here.import);
}

static void variables_of_modules_are_shared(void **state)
{
    (void)state;
    begin_capture();
    LAUNCH("count", 0);
    LAUNCH("copy", here.memory[0], here.memory[1]);
    LAUNCH("count", 0);
    import_with(&(braid_import_options){ TEXTS(text) });
    assert_int_equal(here.info.num_kept, 1);
    assert_int_equal(here.info.num_unproven, 0);
    braid_import_destroy(here.import);
    begin_capture();
    LAUNCH("count", 0); // no kernel has a parameter
    import_with(&(braid_import_options){ TEXTS(text) });
    assert_int_equal(here.info.num_unproven, 0);
    play();
    braid_import_destroy(here.import);
}

// ---- memory ----

static void parts_of_an_allocation_are_told_apart(void **state)
{
    (void)state;
    const braid_import_buffer parts[] = {
        { .name = "upper",
          .address = (void *)(uintptr_t)(here.memory[0] + 256),
          .bytes = 256 },                                                                // NOLINT
        { .name = "lower", .address = (void *)(uintptr_t)here.memory[0], .bytes = 256 }, // NOLINT
    };
    const braid_import_options with_parts = { TEXTS(text), .buffers = parts, .num_buffers = 2 };
    for (int num = 0; num < 3; num++) {
        begin_capture();
        LAUNCH("copy", here.memory[0] + 8, here.memory[0] + 16);
        LAUNCH("copy", here.memory[0] + 256, here.memory[0] + 264);
        if (num == 2) // it is in both
            must(cuMemsetD8Async(here.memory[0] + 128, 0, 256, here.stream));
        import_with(num ? &with_parts : &(braid_import_options){ TEXTS(text) });
        assert_int_equal(here.info.num_kept, num == 1 ? 0 : num == 2 ? 2 : 1);
        braid_import_destroy(here.import);
    }
    begin_capture();
    LAUNCH("copy", here.memory[0], here.memory[1]);
    const braid_import_buffer overlapping[] = { parts[0], parts[0] };
    expect_refusal(&(braid_import_options){ .buffers = overlapping, .num_buffers = 2 },
                   BRAID_INVALID_ARGUMENT, "two buffers overlap");
    begin_capture();
    expect_refusal(&(braid_import_options){ .buffers = (braid_import_buffer[]){ { "none" } },
                                            .num_buffers = 1 },
                   BRAID_INVALID_ARGUMENT, "buffer 0 has no address");
}

// A copy names memory of the host by a kind of its own. A kernel may use it as well.
static void copies_share_memory_of_the_host(void **state)
{
    (void)state;
    static char host[256];
    const braid_import_buffer part = { .address = host + 64, .bytes = 64 };
    void *pinned;
    must(cuMemHostAlloc(&pinned, BYTES, 0));
    begin_capture();
    must(cuMemcpyDtoHAsync_v2(pinned, here.memory[0], 64, here.stream));
    LAUNCH("copy", (uintptr_t)pinned, here.memory[1]);
    import_with(&(braid_import_options){ TEXTS(text), .is_unwatched = true });
    assert_int_equal(here.info.num_unproven, 0);
    assert_int_equal(here.info.num_kept, 1);
    braid_import_destroy(here.import);
    must(cuMemFreeHost(pinned));
    for (int at = 0; at <= 128; at += 64) { // into the part, out of it, and behind it
        begin_capture();
        must(cuMemcpyDtoHAsync_v2(host + at, here.memory[0], 96, here.stream));
        must(cuMemcpyHtoDAsync_v2(here.memory[1], host + 64, 32, here.stream));
        import_with(
            &(braid_import_options){ .buffers = &part, .num_buffers = 1, .is_unwatched = true });
        assert_int_equal(here.info.num_kept, at < 128);
        braid_import_destroy(here.import);
    }
}

static void rows_reach_to_their_last(void **state)
{
    (void)state;
    const braid_import_buffer parts[] = {
        { .address = (void *)(uintptr_t)here.memory[0], .bytes = 512 },         // NOLINT
        { .address = (void *)(uintptr_t)(here.memory[0] + 512), .bytes = 512 }, // NOLINT
    };
    begin_capture();
    must(cuMemsetD2D8Async(here.memory[0], 256, 1, 16, 3, here.stream));
    LAUNCH("copy", here.memory[0] + 512, here.memory[1]);
    LAUNCH("copy", here.memory[0], here.memory[2]);
    import_with(&(braid_import_options){ TEXTS(text), .buffers = parts, .num_buffers = 2 });
    assert_int_equal(here.info.num_kept, 2);
    play();
    braid_import_destroy(here.import);
}

static void watched_memory_keeps_orders(void **state)
{
    (void)state;
    static char own[64];
    void *pinned;
    CUdeviceptr managed;
    must(cuMemHostAlloc(&pinned, BYTES, 0));
    must(cuMemAllocManaged(&managed, BYTES, 1));
    const uint64_t watched[] = { (uintptr_t)pinned, managed };
    for (int i = 0; i < 4; i++) {
        begin_capture();
        LAUNCH("copy", here.memory[0], here.memory[1]);
        LAUNCH("copy", here.memory[2], watched[i % 2]);
        import_with(&(braid_import_options){ TEXTS(text), .is_unwatched = i > 1 });
        assert_int_equal(here.info.num_kept, i < 2);
        assert_int_equal(here.info.num_unproven, i < 2);
        if (i < 2)
            expect_report("  1 node of 'copy': it touches memory that others may look at (1)\n");
        braid_import_destroy(here.import);
    }
    begin_capture();
    LAUNCH("copy", here.memory[0], here.memory[1]);
    must(cuMemcpyDtoHAsync_v2(own, here.memory[2], 64, here.stream));
    import_with(&(braid_import_options){ TEXTS(text) });
    expect_report(
        "  1 node of 'copy': it touches memory of the host, which others may look at (1)\n");
    braid_import_destroy(here.import);
    const braid_import_buffer seen = { .address = (void *)(uintptr_t)here.memory[3], // NOLINT
                                       .bytes = BYTES,
                                       .is_watched = true };
    begin_capture();
    LAUNCH("copy", here.memory[0], here.memory[1]);
    LAUNCH("copy", here.memory[2], here.memory[3]);
    import_with(&(braid_import_options){ TEXTS(text), .buffers = &seen, .num_buffers = 1 });
    assert_int_equal(here.info.num_kept, 1);
    braid_import_destroy(here.import);
    must(cuMemFreeHost(pinned));
    must(cuMemFree_v2(managed));
}

static void races_get_no_order(void **state)
{
    (void)state;
    begin_capture();
    wait_for(side, here.stream);
    LAUNCH("copy", here.memory[0], here.memory[1]);
    LAUNCH_BESIDE("copy", here.memory[2], here.memory[1]);
    wait_for(here.stream, side);
    import_with(&(braid_import_options){ TEXTS(text) });
    assert_int_equal(here.info.num_races, 1);
    assert_int_equal(here.info.num_kept, 0);
    expect_report(
        "possible races of the program, which get no order: 1\n  0 'copy' and 1 'copy'\n");
    assert_non_null(strstr(report(BRAID_IMPORT_JSON), "\"races\": [\n    [{\"node\": \"0\""));
    braid_schedule *schedule;
    braid_schedule_info plan;
    check_ok(braid_schedule_create(braid_import_get_graph(here.import),
                                   &(braid_schedule_options){ .costs = &(braid_cost_model){ 0 } },
                                   &schedule));
    braid_schedule_get_info(schedule, &plan);
    assert_int_equal(plan.num_waits, 0);
    braid_schedule_destroy(schedule);
    braid_import_destroy(here.import);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_falls_apart),
        cmocka_unit_test(a_kernel_without_proof_keeps_its_orders),
        cmocka_unit_test(texts_of_one_name_are_joined),
        cmocka_unit_test(variables_of_modules_are_shared),
        cmocka_unit_test(parts_of_an_allocation_are_told_apart),
        cmocka_unit_test(copies_share_memory_of_the_host),
        cmocka_unit_test(rows_reach_to_their_last),
        cmocka_unit_test(watched_memory_keeps_orders),
        cmocka_unit_test(races_get_no_order),
    };
    return cmocka_run_group_tests(tests, open_captures, close_captures);
}
