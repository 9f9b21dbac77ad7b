// SPDX-License-Identifier: Apache-2.0
// Kernels load pointers from memory. While no node may write that memory, the pointers are as good
// as those among arguments.
#include "gpu/gpu_testing.h"
#include "import/captures.h"
#include "support/failing_memory.h"

enum { TABLE = 0, WORDS = 64, MOST_TRIED = 2000, UNKNOWN_ERROR = 999 };

#define ENTRY(name, params)                                                                        \
    ".visible .entry " name "(" params ") {\n.reg .u64 %d<5>; .reg .u32 %r;\n"
#define PARAM(name) ".param .u64 " name
static const char followers[] = HEAD
    // *to = **at, with the pointer 8 bytes behind `at`.
    ENTRY("follow",
          PARAM("at") ", " PARAM(
              "to")) "ld.param.u64 %d0, [at]; ld.param.u64 %d2, [to];\n"
                     "ld.u64 %d1, [%d0+8];\nld.u32 %r, [%d1]; st.u32 [%d2], %r;\nret;\n}\n"
    // **at = *from
    ENTRY("send",
          PARAM("from") ", " PARAM("at")) "ld.param.u64 %d0, [from]; ld.param.u64 %d1, [at];\n"
                                          "ld.global.u64 %d2, [%d1+8];\nld.global.u32 %r, [%d0]; "
                                          "st.global.u32 [%d2], %r;\nret;\n}\n"
    // *to = *at[index]
    ENTRY("pick",
          PARAM("at") ", " PARAM("index") ", " PARAM(
              "to")) "ld.param.u64 %d0, [at]; ld.param.u64 %d1, [index]; ld.param.u64 %d2, [to];\n"
                     "shl.b64 %d1, %d1, 3; add.u64 %d4, %d0, %d1; ld.u64 %d3, [%d4];\n"
                     "ld.u32 %r, [%d3]; st.u32 [%d2], %r;\nret;\n}\n"
    // *at[index] = *from, one word in front of the pointer
    ENTRY("put_behind",
          PARAM("from") ", " PARAM("at") ", " PARAM(
              "index")) "ld.param.u64 %d0, [at]; ld.param.u64 %d1, [index]; ld.param.u64 %d2, "
                        "[from];\n"
                        "shl.b64 %d1, %d1, 3; add.u64 %d4, %d0, %d1; ld.u64 %d3, [%d4];\n"
                        "ld.u32 %r, [%d2]; st.u32 [%d3+-4], %r;\nret;\n}\n"
    // *to = ***at
    ENTRY(
        "chain",
        PARAM("at") ", " PARAM(
            "to")) "ld.param.u64 %d0, [at]; ld.param.u64 %d2, [to];\n"
                   "ld.u64 %d1, [%d0+8]; ld.u64 %d3, [%d1];\nld.u32 %r, [%d3]; st.u32 [%d2], "
                   "%r;\nret;\n}\n"
                   // A function loads the pointer. The parameter's address is in a register.
                   ".func (.param .u64 loaded) load(.param .u64 at) {\n.reg .u64 %d<2>;\n"
                   "ld.param.u64 %d0, [at]; ld.u64 %d1, [%d0+8]; st.param.u64 [loaded], "
                   "%d1;\nret;\n}\n" ENTRY(
                       "call",
                       PARAM(
                           "to") ", .param .align 8 .b8 context[16]") "ld.param.u64 %d2, [to]; "
                                                                      "mov.b64 %d0, context; "
                                                                      "ld.param.b64 %d1, [%d0+8];\n"
                                                                      "{\n.param .u64 given; "
                                                                      ".param .u64 taken; "
                                                                      "st.param.u64 [given], %d1;\n"
                                                                      "call (taken), load, "
                                                                      "(given);\nld.param.u64 %d3, "
                                                                      "[taken];\n}\n"
                                                                      "ld.u32 %r, [%d3]; st.u32 "
                                                                      "[%d2], %r;\nret;\n}\n"
    // *at = pointer
    ENTRY("store",
          PARAM("at") ", " PARAM(
              "pointer")) "ld.param.u64 %d0, [at]; ld.param.u64 %d1, [pointer];\n"
                          "st.u64 [%d0], %d1;\nret;\n}\n" ENTRY(
                              "copy",
                              PARAM("from") ", " PARAM(
                                  "to")) "ld.param.u64 %d0, [from]; ld.param.u64 %d1, [to];\n"
                                         "ld.u32 %r, [%d0]; st.u32 [%d1], %r;\nret;\n}\n";

static int open_followers(void **state)
{
    (void)state;
    open_here(followers, BYTES);
    return 0;
}

static int close_followers(void **state)
{
    (void)state;
    close_here();
    return 0;
}

// Word number `index` of the table becomes an address.
static void point(unsigned index, CUdeviceptr to)
{
    must(cuMemcpyHtoD_v2(here.memory[TABLE] + 8 * index, &to, sizeof(to)));
}

static void clear(void)
{
    for (int i = 0; i < MEMORIES; i++)
        must(cuMemsetD8_v2(here.memory[i], 0, BYTES));
}

static const braid_import_options following = { TEXTS(followers), .follows_pointers = true };

static void expect(uint32_t num_unproven, uint64_t num_kept)
{
    assert_int_equal(here.info.num_unproven, num_unproven);
    assert_int_equal(here.info.num_kept, num_kept);
    braid_import_destroy(here.import);
}

static CUdeviceptr place(int memory, unsigned offset)
{
    return here.memory[memory] + offset;
}

// ---- pointers that stay ----

static void pointers_lead_to_memory(void **state)
{
    (void)state;
    for (int shares = 0; shares < 2; shares++) {
        clear();
        point(1, here.memory[1]);
        must(cuMemsetD8_v2(here.memory[1], 5, WORDS));
        begin_capture();
        LAUNCH("follow", here.memory[TABLE], here.memory[2]);
        LAUNCH("copy", here.memory[3], here.memory[shares ? 1 : 3] + 64);
        import_with(&following);
        assert_int_equal(here.info.num_pointers, 1);
        expect_report("words of memory that were read as pointers: 1\n");
        play();
        uint32_t word;
        must(cuMemcpyDtoH_v2(&word, here.memory[2], sizeof(word)));
        assert_int_equal(word, 0x05050505);
        expect(0, (uint64_t)shares);
    }
}

static void writes_go_where_pointers_lead(void **state)
{
    (void)state;
    for (int shares = 0; shares < 2; shares++) {
        clear();
        point(1, here.memory[1]);
        point(3, here.memory[shares ? 1 : 2]);
        begin_capture();
        LAUNCH("send", here.memory[3], place(TABLE, 0));
        LAUNCH("send", here.memory[3], place(TABLE, 16));
        import_with(&following);
        expect(0, (uint64_t)shares);
    }
}

static void nobody_follows_unasked(void **state)
{
    (void)state;
    clear();
    point(1, here.memory[1]);
    begin_capture();
    LAUNCH("follow", here.memory[TABLE], here.memory[2]);
    LAUNCH("copy", here.memory[3], here.memory[3] + 64);
    import_with(&(braid_import_options){ TEXTS(followers) });
    expect_report("line 8 of its PTX: an address is loaded from memory");
    expect(1, 1);
}

// Nobody knows which, so each pointer of that memory counts.
static void any_pointer_may_be_picked(void **state)
{
    (void)state;
    for (int shares = 0; shares < 2; shares++) {
        clear();
        point(1, here.memory[1]);
        point(77, here.memory[shares ? 3 : 1] + 128);
        begin_capture();
        LAUNCH("pick", here.memory[TABLE], 1, here.memory[2]);
        LAUNCH("copy", here.memory[3], here.memory[3] + 64);
        import_with(&following);
        assert_int_equal(here.info.num_pointers, BYTES / 8);
        expect(0, (uint64_t)shares);
    }
}

// A kernel may count down from the end of an array. That end is a pointer, too.
static void ends_of_memory_may_be_picked(void **state)
{
    (void)state;
    clear();
    point(5, here.memory[1] + BYTES);
    begin_capture();
    LAUNCH("put_behind", here.memory[2], here.memory[TABLE], 5);
    LAUNCH("copy", here.memory[1], here.memory[3]);
    import_with(&following);
    expect(0, 1);
}

// Some devices reach all memory of the process.
static void addresses_of_the_host_prove_nothing(void **state)
{
    (void)state;
    static const uint64_t own = 7;
    clear();
    point(5, (uintptr_t)&own);
    begin_capture();
    LAUNCH("pick", here.memory[TABLE], 5, here.memory[2]);
    import_with(&following);
    expect_report("it loads an address in no known memory");
    expect(1, 0);
}

static void pointers_lead_to_pointers(void **state)
{
    (void)state;
    for (int shares = 0; shares < 2; shares++) {
        clear();
        point(1, here.memory[TABLE] + 256);
        point(32, here.memory[shares ? 3 : 1]);
        begin_capture();
        LAUNCH("chain", here.memory[TABLE], here.memory[2]);
        LAUNCH("copy", here.memory[3], here.memory[3] + 64);
        import_with(&following);
        expect(0, (uint64_t)shares);
    }
}

static void functions_load_pointers(void **state)
{
    (void)state;
    for (int shares = 0; shares < 2; shares++) {
        const uint64_t to = here.memory[2], context[] = { 0, here.memory[TABLE] };
        void *params[] = { (void *)(uintptr_t)&to, (void *)(uintptr_t)context };
        CUfunction function;
        clear();
        point(1, here.memory[shares ? 3 : 1]);
        must(cuModuleGetFunction(&function, here.module, "call"));
        begin_capture();
        must(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, here.stream, params, NULL));
        LAUNCH("copy", here.memory[3], here.memory[3] + 64);
        import_with(&following);
        expect(0, (uint64_t)shares);
    }
}

// A kernel may test such a pointer before it uses it.
static void null_leads_nowhere(void **state)
{
    (void)state;
    clear();
    begin_capture();
    LAUNCH("chain", here.memory[TABLE], here.memory[2]);
    LAUNCH("copy", here.memory[3], here.memory[3] + 64);
    import_with(&following);
    expect(0, 0);
}

// ---- pointers that may change ----

static void written_cells_prove_nothing(void **state)
{
    (void)state;
    clear();
    point(1, here.memory[1]);
    begin_capture();
    LAUNCH("follow", here.memory[TABLE], here.memory[2]);
    LAUNCH("copy", here.memory[3], here.memory[3] + 64);
    LAUNCH("store", place(TABLE, 8), here.memory[3]);
    import_with(&following);
    expect_report("line 8 of its PTX: it loads a pointer from memory that node 2 writes");
    expect(1, 3 - 1); // `copy` and `store` share nothing
}

// The kernel that uses the changed pointer may write any memory, also other pointers.
static void all_kernels_with_cells_fall_together(void **state)
{
    (void)state;
    clear();
    point(1, here.memory[1]);
    must(cuMemcpyHtoD_v2(here.memory[2] + 8, &here.memory[1], 8));
    begin_capture();
    LAUNCH("follow", here.memory[2], here.memory[3]);
    LAUNCH("send", here.memory[1], here.memory[TABLE]);
    LAUNCH("store", place(TABLE, 8), here.memory[3]);
    import_with(&following);
    expect_report("it loads a pointer from memory that node 2 writes");
    expect_report("it loads a pointer from memory, and node 1 may write any memory");
    expect(2, 3);
}

static void writes_through_pointers_count(void **state)
{
    (void)state;
    clear();
    point(1, place(TABLE, 8));
    begin_capture();
    LAUNCH("send", here.memory[1], here.memory[TABLE]);
    import_with(&following);
    expect_report("it loads a pointer from memory that node 0 writes");
    expect(1, 0);
}

static void unproven_nodes_may_write_cells(void **state)
{
    (void)state;
    CUmodule module;
    CUfunction function;
    clear();
    point(1, here.memory[1]);
    must(cuModuleLoadData(&module, HEAD ".visible .entry secret() {\nret;\n}\n"));
    must(cuModuleGetFunction(&function, module, "secret"));
    begin_capture();
    LAUNCH("follow", here.memory[TABLE], here.memory[2]);
    must(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, here.stream, NULL, NULL));
    import_with(&following);
    expect_report("it loads a pointer from memory, and node 1 may write any memory");
    expect(2, 1);
    must(cuModuleUnload(module));
}

// A copy to the host is not proven, and writes no cell.
static void watched_copies_write_what_they_say(void **state)
{
    (void)state;
    void *pinned;
    clear();
    point(1, here.memory[1]);
    must(cuMemHostAlloc(&pinned, BYTES, 0));
    begin_capture();
    LAUNCH("follow", here.memory[TABLE], here.memory[2]);
    must(cuMemcpyDtoHAsync_v2(pinned, here.memory[3], 64, here.stream));
    import_with(&following);
    expect(1, 1);
    must(cuMemFreeHost(pinned));
}

static void the_host_may_write_its_memory(void **state)
{
    (void)state;
    void *pinned;
    must(cuMemHostAlloc(&pinned, BYTES, 0));
    ((uint64_t *)pinned)[1] = here.memory[1];
    begin_capture();
    LAUNCH("follow", (CUdeviceptr)(uintptr_t)pinned, here.memory[2]);
    import_with(&following);
    expect_report("it touches memory that others may look at");
    expect(1, 0);
    must(cuMemFreeHost(pinned));
}

static void pointers_to_no_memory_prove_nothing(void **state)
{
    (void)state;
    clear();
    point(1, UINT64_C(1) << 44);
    begin_capture();
    LAUNCH("follow", here.memory[TABLE], here.memory[2]);
    import_with(&following);
    expect_report("it loads an address in no known memory");
    expect(1, 0);
}

// ---- extents ----

// A struct of pointers and room for results lie in one allocation.
static void parts_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes; // that the struct has
        size_t num;
        const char *why;
    } rows[] = {
        { 64, 0, "it loads a pointer from memory that node 0 writes" },
        { 64, 2, NULL },
        { 8, 2, "it loads a pointer from beyond the memory that an address leads to" },
        { 15, 2, "it loads a pointer from beyond the memory that an address leads to" },
        { 16, 2, NULL },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const braid_import_buffer parts[] = {
            { .address = (void *)(uintptr_t)place(TABLE, 0), .bytes = rows[i].bytes }, // NOLINT
            { .address = (void *)(uintptr_t)place(TABLE, 64), .bytes = 1024 },         // NOLINT
        };
        braid_import_options options = following;
        options.buffers = parts;
        options.num_buffers = rows[i].num;
        clear();
        point(1, here.memory[1]);
        begin_capture();
        LAUNCH("follow", here.memory[TABLE], place(TABLE, 64));
        import_with(&options);
        if (rows[i].why)
            expect_report(rows[i].why);
        expect(rows[i].why != NULL, 0);
    }
}

// ---- later captures ----

static void changed_pointers_are_noticed(void **state)
{
    (void)state;
    braid_exec *exec;
    clear();
    point(1, here.memory[1]);
    point(3, here.memory[2]);
    for (int turn = 0; turn < 3; turn++) {
        begin_capture();
        LAUNCH("send", here.memory[3], place(TABLE, 0));
        LAUNCH("send", here.memory[3], place(TABLE, 16));
        if (turn == 0) {
            import_with(&following);
            assert_int_equal(here.info.num_kept, 0);
            check_ok(
                braid_exec_create(here.device, braid_import_get_graph(here.import), NULL, &exec));
            continue;
        }
        point(3, turn == 1 ? here.memory[2] + 64 : here.memory[1]);
        must(cuStreamEndCapture(here.stream, &here.graph));
        const braid_status status = braid_import_update(here.import, here.graph, &following, exec);
        if (turn == 1)
            check_ok(status);
        else
            check_fails(status, BRAID_INVALID_ARGUMENT, "does not order them");
        must(cuGraphDestroy(here.graph));
    }
    braid_exec_destroy(exec);
    braid_import_destroy(here.import);
}

// ---- failures ----

// Returns whether the call or allocation was there to fail. Without a pointer there is no proof.
static bool fails_without(long nth, bool of_driver)
{
    braid_import *import = NULL;
    braid_import_info info;
    if (of_driver)
        fail_calls("*:%ld=%d", nth, UNKNOWN_ERROR);
    else
        failing_memory_arm_once((uint64_t)nth);
    const braid_status status = braid_import_create(here.device, here.graph, &following, &import);
    const bool has_failed = failing_memory_disarm() || status;
    fail_calls(NULL);
    if (!status) {
        braid_import_get_info(import, &info);
        assert_true(info.num_kept >= here.info.num_kept);
    }
    assert_int_equal(status != BRAID_OK, import == NULL);
    braid_import_destroy(import);
    return has_failed;
}

static void any_failure_is_told(void **state)
{
    (void)state;
    clear();
    point(1, here.memory[1]);
    point(32, here.memory[1]);
    for (int writes = 0; writes < 2; writes++) {
        begin_capture();
        LAUNCH("chain", here.memory[TABLE], here.memory[2]);
        LAUNCH("pick", here.memory[TABLE], 1, here.memory[2] + 64);
        LAUNCH("store", writes ? place(TABLE, 64) : here.memory[3], here.memory[3]);
        must(cuStreamEndCapture(here.stream, &here.graph));
        check_ok(braid_import_create(here.device, here.graph, &following, &here.import));
        braid_import_get_info(here.import, &here.info);
        assert_int_equal(here.info.num_unproven, writes ? 2 : 0);
        braid_import_destroy(here.import);
        long num_calls = 0, num_allocations = 0;
        while (num_allocations < MOST_TRIED && fails_without(num_allocations + 1, false))
            num_allocations++;
        for (long nth = 1; nth < MOST_TRIED && nth <= num_calls + 8; nth++) {
            if (fails_without(nth, true)) // some are about nothing that matters
                num_calls = nth;
        }
        assert_true(num_calls > 8 && num_allocations > 8 && num_allocations < MOST_TRIED);
        must(cuGraphDestroy(here.graph));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pointers_lead_to_memory),
        cmocka_unit_test(writes_go_where_pointers_lead),
        cmocka_unit_test(nobody_follows_unasked),
        cmocka_unit_test(any_pointer_may_be_picked),
        cmocka_unit_test(ends_of_memory_may_be_picked),
        cmocka_unit_test(addresses_of_the_host_prove_nothing),
        cmocka_unit_test(pointers_lead_to_pointers),
        cmocka_unit_test(functions_load_pointers),
        cmocka_unit_test(null_leads_nowhere),
        cmocka_unit_test(written_cells_prove_nothing),
        cmocka_unit_test(all_kernels_with_cells_fall_together),
        cmocka_unit_test(writes_through_pointers_count),
        cmocka_unit_test(unproven_nodes_may_write_cells),
        cmocka_unit_test(watched_copies_write_what_they_say),
        cmocka_unit_test(the_host_may_write_its_memory),
        cmocka_unit_test(pointers_to_no_memory_prove_nothing),
        cmocka_unit_test(parts_are_told_apart),
        cmocka_unit_test(changed_pointers_are_noticed),
        cmocka_unit_test(any_failure_is_told),
    };
    return cmocka_run_group_tests(tests, open_followers, close_followers);
}
