// SPDX-License-Identifier: Apache-2.0
// An address may be the end of one buffer and the begin of the next. A kernel that goes down from
// it touches the first one. The parts of one allocation stand beside each other on purpose.
#include "import/captures.h"

enum { PART = 1024, TABLE = 3 };

#define PARAMS(a, b) "(.param .u64 " a ", .param .u64 " b ") {\n.reg .u64 %d<4>; .reg .u32 %r<2>;\n"
static const char downwards[] = HEAD ".visible .entry copy" PARAMS(
    "from",
    "to") "ld.param.u64 %d0, [from]; ld.param.u64 %d1, [to];\n"
          "ld.global.u32 %r0, [%d0]; st.global.u32 [%d1], %r0;\nret;\n}\n"
          // to[-1] = from[0]
          ".visible .entry put_before" PARAMS(
              "from",
              "to") "ld.param.u64 %d0, [from]; ld.param.u64 %d1, [to];\n"
                    "ld.global.u32 %r0, [%d0]; st.global.u32 [%d1+-4], %r0;\nret;\n}\n"
                    // to[0] = from[-1]
                    ".visible .entry take_before" PARAMS(
                        "from",
                        "to") "ld.param.u64 %d0, [from]; ld.param.u64 %d1, [to];\n"
                              "ld.global.u32 %r0, [%d0+-4]; st.global.u32 [%d1], %r0;\nret;\n}\n"
                              // to[0] = from[-1] + from[0]
                              ".visible .entry take_both" PARAMS(
                                  "from",
                                  "to") "ld.param.u64 %d0, [from]; ld.param.u64 %d1, [to];\n"
                                        "ld.global.u32 %r0, [%d0+-4]; ld.global.u32 %r1, [%d0]; "
                                        "add.u32 %r0, %r0, %r1;\n"
                                        "st.global.u32 [%d1], %r0;\nret;\n}\n"
                                        // (*at)[-1] = from[0]
                                        ".visible .entry put_before_loaded" PARAMS(
                                            "from",
                                            "at") "ld.param.u64 %d0, [from]; ld.param.u64 %d1, "
                                                  "[at]; ld.global.u64 %d2, [%d1];\n"
                                                  "ld.global.u32 %r0, [%d0]; st.global.u32 "
                                                  "[%d2+-4], %r0;\nret;\n}\n"
                                                  // to[0] = *at[-1]
                                                  ".visible .entry take_loaded_before" PARAMS(
                                                      "at",
                                                      "to") "ld.param.u64 %d0, [at]; ld.param.u64 "
                                                            "%d1, [to]; ld.global.u64 %d2, "
                                                            "[%d0+-8];\n"
                                                            "ld.global.u32 %r0, [%d2]; "
                                                            "st.global.u32 [%d1], %r0;\nret;\n}\n"
                                                            // The same by an index
                                                            ".visible .entry "
                                                            "take_loaded_anywhere" PARAMS(
                                                                "at",
                                                                "to") "ld.param.u64 %d0, [at]; "
                                                                      "ld.param.u64 %d1, [to]; "
                                                                      "not.b32 %r1, %tid.x;\n"
                                                                      "mul.wide.s32 %d3, %r1, 8; "
                                                                      "add.s64 %d0, %d0, %d3; "
                                                                      "ld.global.u64 %d2, [%d0];\n"
                                                                      "ld.global.u32 %r0, [%d2]; "
                                                                      "st.global.u32 [%d1], "
                                                                      "%r0;\nret;\n}\n";

static int open_downwards(void **state)
{
    (void)state;
    open_here(downwards, BYTES);
    return 0;
}

static int close_downwards(void **state)
{
    (void)state;
    close_here();
    return 0;
}

static CUdeviceptr part(int number)
{
    return here.memory[0] + (CUdeviceptr)number * PART;
}

static braid_import_options in_parts(void)
{
    static braid_import_buffer parts[BYTES / PART];
    static const char *const texts[] = { downwards };
    for (int i = 0; i < BYTES / PART; i++)
        parts[i] = (braid_import_buffer){ .address = (void *)(uintptr_t)part(i), // NOLINT
                                          .bytes = PART };
    return (braid_import_options){ .texts = texts,
                                   .num_texts = 1,
                                   .buffers = parts,
                                   .num_buffers = BYTES / PART,
                                   .follows_pointers = true };
}

// The kept orders of what was captured.
static void expect_kept(uint64_t num)
{
    const braid_import_options options = in_parts();
    import_with(&options);
    assert_int_equal(here.info.num_unproven, 0);
    assert_int_equal(here.info.num_kept, num);
    braid_import_destroy(here.import);
}

static void writes_in_front_of_a_pointer_reach_the_buffer_before(void **state)
{
    (void)state;
    for (int shares = 0; shares < 2; shares++) {
        begin_capture();
        LAUNCH("put_before", part(3), part(1));
        LAUNCH("copy", part(shares ? 0 : 2), here.memory[1]);
        expect_kept((uint64_t)shares);
        begin_capture();
        LAUNCH("put_before", part(3), part(1));
        LAUNCH("copy", part(1), here.memory[1]); // it may mean the one that begins there
        expect_kept(1);
    }
}

static void reads_in_front_of_a_pointer_order_no_reads(void **state)
{
    (void)state;
    for (int writes = 0; writes < 2; writes++) {
        begin_capture();
        LAUNCH("take_before", part(1), here.memory[1]);
        LAUNCH("copy", writes ? here.memory[2] : part(0), writes ? part(0) : here.memory[2]);
        expect_kept((uint64_t)writes);
    }
}

static void other_kernels_need_no_buffer_before(void **state)
{
    (void)state;
    begin_capture();
    LAUNCH("copy", part(3), part(1));
    LAUNCH("copy", part(0), here.memory[1]);
    LAUNCH("put_before", part(3), part(1) + 64); // inside of it
    LAUNCH("copy", part(0), here.memory[2]);
    expect_kept(1);
}

// The program gives one part, in front of which others may end.
static void the_rest_of_an_allocation_may_end_where_a_part_begins(void **state)
{
    (void)state;
    braid_import_options options = in_parts();
    options.buffers++;
    options.num_buffers = 1;
    begin_capture();
    LAUNCH("put_before", here.memory[2], part(1));
    LAUNCH("copy", part(0), here.memory[1]);
    import_with(&options);
    assert_int_equal(here.info.num_kept, 1);
    braid_import_destroy(here.import);
}

static void loaded_pointers_may_be_ends(void **state)
{
    (void)state;
    const CUdeviceptr end = part(1);
    must(cuMemcpyHtoD_v2(here.memory[TABLE], &end, sizeof(end)));
    for (int shares = 0; shares < 2; shares++) {
        begin_capture();
        LAUNCH("put_before_loaded", part(3), here.memory[TABLE]);
        LAUNCH("copy", part(shares ? 0 : 2), here.memory[1]);
        expect_kept((uint64_t)shares);
    }
}

static void pointers_may_stand_in_front_of_a_pointer(void **state)
{
    (void)state;
    static const char *const names[] = { "take_loaded_before", "take_loaded_anywhere" };
    const CUdeviceptr behind = here.memory[2];
    must(cuMemsetD8_v2(part(0), 0, BYTES));
    must(cuMemcpyHtoD_v2(part(1) - 8, &behind, sizeof(behind)));
    for (int i = 0; i < 2; i++) {
        for (int shares = 0; shares < 2; shares++) {
            begin_capture();
            LAUNCH(names[i], part(1), here.memory[1]);
            LAUNCH("copy", part(3), shares ? here.memory[2] : part(2));
            expect_kept((uint64_t)shares);
        }
    }
}

// An allocation of the graph moves, and memory beside it stays.
static void ends_of_allocations_are_refused(void **state)
{
    (void)state;
    static const char *const names[] = { "take_before", "take_both" };
    for (int is_both = 0; is_both < 2; is_both++) {
        for (int is_end = 0; is_end < 2; is_end++) {
            CUdeviceptr memory;
            begin_capture();
            must(cuMemAllocAsync(&memory, 512, here.stream));
            LAUNCH(names[is_both], is_end ? memory + 512 : memory, here.memory[1]);
            must(cuMemFreeAsync(memory, here.stream));
            const braid_import_buffer beside = {
                .address = (void *)(uintptr_t)(is_end ? memory + 512 : memory - 512), // NOLINT
                .bytes = 512
            };
            const braid_import_options options = { TEXTS(downwards), .buffers = &beside,
                                                   .num_buffers = 1 };
            if (is_both) {
                import_with(&options);
                braid_import_destroy(here.import);
            } else {
                expect_refusal(&options, BRAID_UNSUPPORTED,
                               "kernel 'take_before', goes down from 0x");
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_in_front_of_a_pointer_reach_the_buffer_before),
        cmocka_unit_test(reads_in_front_of_a_pointer_order_no_reads),
        cmocka_unit_test(other_kernels_need_no_buffer_before),
        cmocka_unit_test(the_rest_of_an_allocation_may_end_where_a_part_begins),
        cmocka_unit_test(loaded_pointers_may_be_ends),
        cmocka_unit_test(pointers_may_stand_in_front_of_a_pointer),
        cmocka_unit_test(ends_of_allocations_are_refused),
    };
    return cmocka_run_group_tests(tests, open_downwards, close_downwards);
}
