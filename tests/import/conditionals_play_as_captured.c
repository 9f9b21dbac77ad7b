// SPDX-License-Identifier: Apache-2.0
// Conditional nodes of a captured graph become loops and branches, with their bodies' orders, or
// are refused by their place.
#include "import/conditionals.h"

static void play_both(uint32_t num_words, const uint32_t *words)
{
    uint32_t expected[4], found[4];
    play_captured(words, expected);
    play_imported(words, found);
    for (uint32_t i = 0; i < num_words; i++)
        assert_int_equal(found[i], expected[i]);
}

// ---- what plays ----

// memory[0] counts down, and memory[1] and [2] count up beside it.
static void a_loop_counts_down(void **state)
{
    (void)state;
    begin();
    LAUNCH("up", here.memory[3]);
    struct conditional loop = begin_conditional(BRAID_IMPORT_WHILE, here.memory[0]);
    LAUNCH("up", here.memory[1]);
    LAUNCH("up", here.memory[2]);
    LAUNCH("down", here.memory[0]);
    end_conditional(&loop);
    LAUNCH("move", here.memory[1], here.memory[3]); // shares memory with the body
    import_all(BRAID_OK, NULL);
    assert_int_equal(here.info.num_conditionals, 1);
    assert_int_equal(here.info.num_kernels, 5);
    assert_int_equal(here.info.num_nodes, 8);
    assert_int_equal(here.info.longest_captured, 5);
    assert_int_equal(here.info.longest_kept, 2);
    assert_int_equal(here.info.num_captured, 3 + 3);
    assert_int_equal(here.info.num_kept, 2); // none with the first node is of the loop
    play_both(4, (const uint32_t[]){ 5, 0, 7, 1 });
    play_both(4, (const uint32_t[]){ 0, 3, 7, 1 }); // no iteration
    end();
}

// An allocation of the graph has the word.
static void a_word_moves_with_its_allocation(void **state)
{
    (void)state;
    CUdeviceptr own;
    begin();
    must(cuMemAllocAsync(&own, 64, here.stream));
    LAUNCH("move", here.memory[0], own);
    struct conditional loop = begin_conditional(BRAID_IMPORT_WHILE, own);
    LAUNCH("up", here.memory[1]);
    LAUNCH("down", own);
    end_conditional(&loop);
    must(cuMemFreeAsync(own, here.stream));
    import_all(BRAID_OK, NULL);
    assert_int_equal(here.info.num_allocations, 1);
    play_both(2, (const uint32_t[]){ 6, 0, 0, 0 });
    end();
}

// memory[0] turns of memory[1] to memory[2] each.
static void loops_nest(void **state)
{
    (void)state;
    begin();
    struct conditional outer = begin_conditional(BRAID_IMPORT_WHILE, here.memory[0]);
    LAUNCH("move", here.memory[2], here.memory[1]);
    struct conditional inner = begin_conditional(BRAID_IMPORT_WHILE, here.memory[1]);
    LAUNCH("up", here.memory[3]);
    LAUNCH("down", here.memory[1]);
    end_conditional(&inner);
    LAUNCH("down", here.memory[0]);
    end_conditional(&outer);
    import_all(BRAID_OK, NULL);
    assert_int_equal(here.info.num_conditionals, 2);
    assert_int_equal(here.info.longest_captured, 4);
    assert_int_equal(here.info.longest_kept, 2);
    play_both(4, (const uint32_t[]){ 3, 0, 4, 0 });
    end();
}

// Arms may write their word. An arm may be empty, and its setter the only one.
static void branches_choose_an_arm(void **state)
{
    (void)state;
    for (int arms = 1; arms < 8; arms++) {
        const bool is_pair = arms & 4;
        if (is_pair && (arms & 3) != 3)
            continue;
        for (uint32_t word = 0; word < 3; word++) {
            begin();
            struct conditional branch = begin_branch(here.memory[0], arms & 3, is_pair);
            for (int i = 0; i < 2; i++) {
                if (!branch.told.bodies[i])
                    continue;
                enter_body(&branch, i);
                LAUNCH("up", here.memory[1 + i]);
                LAUNCH("clear", here.memory[0]);
                LAUNCH("up", here.memory[1 + i]);
                leave_body(&branch);
            }
            LAUNCH("up", here.memory[0]);
            import_all(BRAID_OK, NULL);
            assert_int_equal(here.info.num_conditionals, 1);
            play_both(3, (const uint32_t[]){ word, 5, 9, 0 });
            end();
        }
    }
    begin();
    struct conditional branch = begin_branch(here.memory[0], 3, true);
    LAUNCH("up", here.memory[1]);
    import_all(BRAID_OK, NULL);
    play_both(2, (const uint32_t[]){ 1, 1, 1, 1 });
    assert_non_null(branch.told.otherwise);
    end();
}

// Inside it a kernel has no proof: the loop keeps all orders outside, and other kernels go.
static void a_body_without_proof_keeps_orders_around_it(void **state)
{
    (void)state;
    for (int proven = 0; proven < 2; proven++) {
        begin();
        LAUNCH("up", here.memory[2]);
        struct conditional loop = begin_conditional(BRAID_IMPORT_WHILE, here.memory[0]);
        LAUNCH(proven ? "down" : "hidden", here.memory[0]);
        end_conditional(&loop);
        LAUNCH("up", here.memory[3]);
        import_all(BRAID_OK, NULL);
        assert_int_equal(here.info.num_unproven, !proven);
        assert_int_equal(here.info.num_kept, proven ? 0 : 3);
        assert_int_equal(here.info.longest_kept, proven ? 1 : 3);
        play_both(4, (const uint32_t[]){ 4, 1, 1, 1 });
        end();
    }
}

static void reports_tell_of_bodies(void **state)
{
    (void)state;
    begin();
    LAUNCH("up", here.memory[0]);
    struct conditional loop = begin_conditional(BRAID_IMPORT_WHILE, here.memory[0]);
    LAUNCH("up", here.memory[1]);
    LAUNCH("hidden", here.memory[0]);
    end_conditional(&loop);
    LAUNCH("up", here.memory[1]);
    import_all(BRAID_OK, NULL);
    char written[8192];
    for (int form = 0; form <= BRAID_IMPORT_PAGE; form++) {
        static const char *const parts[] = {
            "loops and branches: 1, whose bodies count once\n"
            "orders: 4 captured, 4 kept\nlongest path: 4 nodes captured, 4 kept\n"
            "nodes that may run at once, by level: 1 1 1 1 (most 1, mean 1.0)\n",
            "\"conditionals\": 1,",
            "loops and branches",
        };
        FILE *file = fmemopen(written, sizeof(written), "w");
        check_ok(braid_import_write(here.import, (braid_import_report)form, file));
        assert_int_equal(fclose(file), 0);
        if (!strstr(written, parts[form]))
            fail_msg("'%s' is not in: %s", parts[form], written);
        if (form == BRAID_IMPORT_TEXT)
            assert_non_null(strstr(written, "(2.1)"));
    }
    end();
}

// Each arm writes it before any node reads it.
static void both_arms_fill_an_allocation(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        CUdeviceptr own;
        begin();
        must(cuMemAllocAsync(&own, 64, here.stream));
        struct conditional branch = begin_branch(here.memory[0], 3, kind == 1);
        for (uint32_t i = 0; i < 2; i++) {
            enter_body(&branch, (int)i);
            if (kind < 2)
                must(cuMemsetD32Async(own, 7 + i, 4, here.stream));
            else
                LAUNCH("move", here.memory[2 + i], own);
            LAUNCH("up", own);
            leave_body(&branch);
        }
        LAUNCH("move", own, here.memory[1]);
        must(cuMemFreeAsync(own, here.stream));
        import_all(BRAID_OK, NULL);
        play_both(4, (const uint32_t[]){ 1, 0, 5, 6 });
        play_both(4, (const uint32_t[]){ 0, 0, 5, 6 });
        end();
    }
}

// Others may look at the word, so that the loop is not proven.
static void a_loop_without_proof_has_an_allocation(void **state)
{
    (void)state;
    void *pinned;
    CUdeviceptr own;
    uint32_t found[4];
    must(cuMemAllocHost_v2(&pinned, 64));
    begin();
    must(cuMemAllocAsync(&own, 64, here.stream));
    struct conditional loop = begin_conditional(BRAID_IMPORT_WHILE, (uintptr_t)pinned);
    must(cuMemsetD32Async(own, 7, 4, here.stream));
    LAUNCH("move", own, here.memory[1]);
    LAUNCH("down", (uintptr_t)pinned);
    end_conditional(&loop);
    must(cuMemFreeAsync(own, here.stream));
    import_all(BRAID_OK, NULL);
    *(uint32_t *)pinned = 2;
    play_imported((const uint32_t[]){ 0, 0, 0, 0 }, found);
    assert_int_equal(*(uint32_t *)pinned, 0);
    assert_int_equal(found[1], 7);
    end();
    must(cuMemFreeHost(pinned));
}

// The kernel is not proven, since others may look at the memory. Its code sets no condition.
static void a_number_may_equal_a_handle(void **state)
{
    (void)state;
    void *pinned;
    must(cuMemAllocHost_v2(&pinned, 64));
    begin();
    LAUNCH("up", here.memory[0]);
    struct conditional loop = begin_conditional(BRAID_IMPORT_WHILE, here.memory[0]);
    LAUNCH("number", (uintptr_t)pinned, loop.told.handle);
    LAUNCH("down", here.memory[0]);
    end_conditional(&loop);
    import_all(BRAID_OK, NULL);
    assert_int_equal(here.info.num_unproven, 1);
    play_both(1, (const uint32_t[]){ 3, 0, 0, 0 });
    assert_int_equal(*(uint64_t *)pinned, loop.told.handle);
    end();
    must(cuMemFreeHost(pinned));
}

static void a_wait_for_a_value_may_follow_a_loop(void **state)
{
    (void)state;
    begin();
    struct conditional loop = begin_conditional(BRAID_IMPORT_WHILE, here.memory[0]);
    LAUNCH("up", here.memory[1]);
    LAUNCH("down", here.memory[0]);
    end_conditional(&loop);
    must(cuStreamWaitValue32_v2(here.stream, here.memory[2], 0, 0));
    LAUNCH("up", here.memory[1]);
    import_all(BRAID_OK, NULL);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_counts_down),
        cmocka_unit_test(a_word_moves_with_its_allocation),
        cmocka_unit_test(loops_nest),
        cmocka_unit_test(branches_choose_an_arm),
        cmocka_unit_test(a_body_without_proof_keeps_orders_around_it),
        cmocka_unit_test(both_arms_fill_an_allocation),
        cmocka_unit_test(a_loop_without_proof_has_an_allocation),
        cmocka_unit_test(a_number_may_equal_a_handle),
        cmocka_unit_test(a_wait_for_a_value_may_follow_a_loop),
        cmocka_unit_test(reports_tell_of_bodies),
    };
    return cmocka_run_group_tests(tests, open_conditionals, close_conditionals);
}
