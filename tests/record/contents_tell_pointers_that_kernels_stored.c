// SPDX-License-Identifier: Apache-2.0
// A record has the bytes that memory had in the end. So the import knows pointers that a kernel
// stored before the frame, unless later work of the record may have changed them. Kernels that
// touch other bytes behind such a pointer need no order.
#include "record/program.h"

#include <braid/import.h>
#include <string.h>

enum { BYTES = 256, WORDS = BYTES / 8, KEPT = 64 };

// A kernel that stores behind the pointer at +8, or beside that.
#define STORES(name, moves, store)                                                                 \
    ".visible .entry " name "(.param .u64 at, .param .u64 unused)\n{\n"                            \
    ".reg .b64 %d<3>;\nld.param.u64 %d0, [at];\nld.u64 %d2, [%d0+8];\n" moves "st." store          \
    ";\nret;\n}\n"

// The same without a pointer that is loaded.
#define STORE(name, store)                                                                         \
    ".visible .entry " name "(.param .u64 at, .param .u64 unused)\n{\n"                            \
    ".reg .b64 %d;\nld.param.u64 %d, [at];\nst." store ";\nret;\n}\n"

static const char text[] =
    ".version 7.8\n.target sm_90\n.address_size 64\n"
    ".visible .entry follow(.param .u64 at, .param .u64 to)\n{\n"
    ".reg .b64 %d<3>;\n.reg .b32 %r;\nld.param.u64 %d0, [at];\nld.param.u64 %d1, [to];\n"
    "ld.u64 %d2, [%d0+8];\nld.u32 %r, [%d2];\nst.u32 [%d1], %r;\nret;\n}\n"
    ".visible .entry put(.param .u64 at, .param .u64 value)\n{\n"
    ".reg .b64 %d<2>;\nld.param.u64 %d0, [at];\nld.param.u64 %d1, [value];\n"
    "st.u64 [%d0+8], %d1;\nret;\n}\n" STORES("first", "", "u32 [%d2], 1")
        STORES("second", "", "u32 [%d2+4], 1") STORES("pair", "", "v2.u32 [%d2], {1, 1}")
            STORES("moved", "add.u64 %d2, %d2, 4;\n", "u32 [%d2], 1")
                STORES("beside", "", "u32 [%d0+16], 1")
    // the first word, and each one behind that
    ".visible .entry march(.param .u64 at, .param .u64 unused)\n{\n.reg .pred %p;\n"
    ".reg .b32 %r;\n.reg .b64 %d;\nld.param.u64 %d, [at];\nmov.u32 %r, 0;\nst.u32 [%d], 1;\n"
    "NEXT:\nadd.u64 %d, %d, 4;\nst.u32 [%d], 1;\nadd.u32 %r, %r, 1;\n"
    "setp.lt.u32 %p, %r, 3;\n@%p bra NEXT;\nret;\n}\n"
    // by memory of the thread
    ".visible .entry keep(.param .u64 at, .param .u64 unused)\n{\n.local .align 8 .b8 own[8];\n"
    ".reg .b64 %d<3>;\nld.param.u64 %d0, [at];\nst.local.u64 [own], %d0;\n"
    "ld.local.u64 %d1, [own];\nst.u32 [%d1+4], 1;\nret;\n}\n"
    ".visible .entry add_second(.param .u64 at, .param .u64 unused)\n{\n.reg .b64 %d;\n"
    "ld.param.u64 %d, [at];\nred.global.add.u32 [%d+4], 1;\nret;\n}\n"
    ".func into(.param .b64 to)\n{\n.reg .b64 %y;\nld.param.b64 %y, [to];\nst.u32 [%y+4], 1;\n"
    "ret;\n}\n.visible .entry call_second(.param .u64 at, .param .u64 unused)\n{\n.reg .b64 %d;\n"
    "ld.param.u64 %d, [at];\n{\n.param .b64 g;\nst.param.b64 [g], %d;\ncall into, (g);\n}\n"
    "ret;\n}\n" STORE("first_word", "u32 [%d], 1") STORE("second_word", "u32 [%d+4], 1")
        STORE("four_words", "v4.u32 [%d], {1, 1, 1, 1}")
            STORE("around", "u32 [%d+4], 1;\nst.u32 [%d+-4], 1")
    // three pointers one behind another, and a call by a fourth, where no thread comes
    ".visible .entry lost(.param .u64 at, .param .u64 unused)\n{\n"
    ".reg .pred %p;\n.reg .b64 %d<6>;\nld.param.u64 %d0, [at];\nld.u64 %d2, [%d0+8];\n"
    "setp.ne.u64 %p, %d2, 0;\n@%p bra END;\n"
    "ld.u64 %d3, [%d2];\nld.u64 %d4, [%d3];\nld.u64 %d5, [%d4];\nst.u64 [%d5], %d0;\n"
    "{\n.param .b64 param0;\n.param .b64 retval0;\nst.param.b64 [param0], %d0;\n"
    "prototype_0 : .callprototype (.param .b64 _) _ (.param .b64 _);\n"
    "call (retval0), %d5, (param0), prototype_0;\n}\nEND:\nret;\n}\n";

static CUmodule module;
static CUfunction follow, put, first, second, pair, moved, beside, lost, march, keep, add_second,
    call_second, first_word, second_word, four_words, around;
static CUstream stream;
static CUdeviceptr kept, changed, freed, late, source, result;
static const braid_record_contents *record;

static void launch(CUfunction function, CUdeviceptr at, CUdeviceptr value)
{
    void *arguments[] = { &at, &value };
    must(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
}

static CUdeviceptr make_table(void)
{
    CUdeviceptr table;
    must(cuMemAlloc_v2(&table, BYTES));
    launch(put, table, source);
    return table;
}

// ---- the program ----

static void use_kept(void)
{
    launch(follow, kept, result);
}

static void use_changed(void)
{
    launch(follow, changed, result);
}

static void use_freed(void)
{
    launch(follow, freed, result);
}

static void make_late(void)
{
    late = make_table();
}

static void use_late(void)
{
    launch(follow, late, result);
}

static void store_and_use(void)
{
    launch(put, kept, source);
    launch(follow, kept, result);
}

static void store_twice(CUfunction one, CUfunction other)
{
    launch(one, kept, 0);
    launch(other, kept, 0);
}

static void store_two_words(void)
{
    store_twice(first, second);
}

static void store_one_word(void)
{
    store_twice(first, first);
}

static void store_a_word_of_two(void)
{
    store_twice(pair, second);
}

static void store_anywhere(void)
{
    store_twice(second, moved);
}

static void store_beside_the_pointer(void)
{
    launch(beside, kept, 0);
    launch(follow, kept, result);
}

static void lose_pointers(void)
{
    launch(lost, kept, 0);
    launch(follow, kept, result);
}

#define PAIR(name, one, other, at)                                                                 \
    static void name(void)                                                                         \
    {                                                                                              \
        launch(one, source, 0);                                                                    \
        launch(other, at, 0);                                                                      \
    }
PAIR(march_over, march, first_word, source + 8)
PAIR(keep_and_store, keep, second_word, source)
PAIR(keep_beside, keep, first_word, source)
PAIR(add_and_store, add_second, second_word, source)
PAIR(add_beside, add_second, first_word, source)
PAIR(call_and_store, call_second, second_word, source)
PAIR(call_beside, call_second, first_word, source)
PAIR(store_by_two_pointers, second_word, first_word, source + 4)
PAIR(store_four_and_last, four_words, first_word, source + 12)
PAIR(store_four_and_next, four_words, first_word, source + 16)
PAIR(store_forth_and_back, second_word, around, source + 8)

static void change(void)
{
    must(cuStreamSynchronize(stream));
    must(cuMemcpyDtoD_v2(changed, source, BYTES));
    must(cuMemFree_v2(freed));
}

static const struct {
    const char *name;
    void (*run)(void);
    uint32_t num_unproven, num_kept;
} frames[] = {
    { "a table that stays", use_kept, 0, 0 },
    { "a table that a later copy changes", use_changed, 1, 0 },
    { "a table that is freed", use_freed, 0, 0 },
    { "an allocation", make_late, 0, 0 },
    { "a table from the frame before", use_late, 0, 0 },
    { "a kernel that stores the pointer", store_and_use, 1, 1 },
    { "two words behind a pointer", store_two_words, 0, 0 },
    { "one word twice", store_one_word, 0, 1 },
    { "two words and one of them", store_a_word_of_two, 0, 1 },
    { "a word and nobody knows which", store_anywhere, 0, 1 },
    { "a word beside the pointer", store_beside_the_pointer, 0, 0 },
    { "pointers that code loses", lose_pointers, 2, 1 },
    { "a pointer that moves from a word on", march_over, 0, 1 },
    { "a pointer in memory of the thread", keep_and_store, 0, 1 },
    { "a word beside that", keep_beside, 0, 0 },
    { "an atomic sum", add_and_store, 0, 1 },
    { "a word beside a sum", add_beside, 0, 0 },
    { "a function that stores", call_and_store, 0, 1 },
    { "a word beside one of a function", call_beside, 0, 0 },
    { "one word by two pointers", store_by_two_pointers, 0, 1 },
    { "four words and the last", store_four_and_last, 0, 1 },
    { "four words and the next", store_four_and_next, 0, 0 },
    { "words around a pointer", store_forth_and_back, 0, 1 },
    { "a copy and a free", change, 0, 0 },
};

enum { FRAMES = sizeof(frames) / sizeof(frames[0]), LOST = 11, FOUR_AND_LAST = 20 };

static void find(CUfunction *out_function, const char *name)
{
    must(cuModuleGetFunction(out_function, module, name));
}

static int run_program(void **state)
{
    open_program(state);
    must(cuModuleLoadData(&module, text));
    find(&follow, "follow");
    find(&put, "put");
    find(&first, "first");
    find(&second, "second");
    find(&pair, "pair");
    find(&moved, "moved");
    find(&beside, "beside");
    find(&lost, "lost");
    find(&march, "march");
    find(&keep, "keep");
    find(&add_second, "add_second");
    find(&call_second, "call_second");
    find(&first_word, "first_word");
    find(&second_word, "second_word");
    find(&four_words, "four_words");
    find(&around, "around");
    must(cuStreamCreate(&stream, 0));
    must(cuMemAlloc_v2(&source, BYTES));
    must(cuMemAlloc_v2(&result, BYTES));
    kept = make_table();
    changed = make_table();
    freed = make_table();
    for (int frame = 0; frame < FRAMES; frame++) {
        assert_true(braid_record_frame_mark());
        frames[frame].run();
        must(cuStreamSynchronize(stream));
    }
    assert_true(braid_record_frame_mark());
    record = open_own_record();
    assert_int_equal(record->num_frames, FRAMES);
    return 0;
}

static int end_program(void **state)
{
    const CUdeviceptr rest[] = { kept, changed, late, source, result };
    close_own_record();
    for (size_t i = 0; i < sizeof(rest) / sizeof(rest[0]); i++)
        must(cuMemFree_v2(rest[i]));
    must(cuStreamDestroy_v2(stream));
    must(cuModuleUnload(module));
    return close_program(state);
}

static void allocations_have_their_first_bytes(void **state)
{
    uint32_t num = 0;
    (void)state;
    for (uint32_t i = 0; i < record->num_memory; i++) {
        const braid_record_memory *bytes = &record->memory[i];
        const braid_record_allocation *of = &record->allocations[bytes->allocation];
        uint64_t word = 0;
        if (of->address != kept && of->address != freed && of->address != late)
            continue;
        assert_true(bytes->is_of_end);
        assert_int_equal(bytes->num_bytes, KEPT);
        memcpy(&word, (const char *)bytes->bytes + 8, sizeof(word));
        assert_true(word == source);
        num++;
    }
    assert_int_equal(num, 3);
}

static void pointers_are_known_unless_they_changed(void **state)
{
    (void)state;
    for (uint32_t frame = 0; frame < FRAMES; frame++) {
        const braid_import_options options = { .is_unwatched = true, .follows_pointers = true };
        braid_import *import;
        braid_import_info info;
        check_ok(braid_import_create_recorded(record, frame, &options, &import));
        braid_import_get_info(import, &info);
        if (info.num_unproven != frames[frame].num_unproven)
            fail_msg("%s: %u nodes are not proven", frames[frame].name, info.num_unproven);
        if (info.num_kept != frames[frame].num_kept)
            fail_msg("%s: %u orders are kept", frames[frame].name, (unsigned)info.num_kept);
        braid_import_destroy(import);
    }
}

// The pointers that code loses lead into closed buffers, one of which the other kernel writes.
static void closed_buffers_hold_what_code_loses(void **state)
{
    (void)state;
    for (int is_closed = 0; is_closed < 2; is_closed++) {
        const braid_import_buffer buffers[] = {
            { .address = (void *)(uintptr_t)source, .bytes = BYTES, .is_closed = is_closed },
            { .address = (void *)(uintptr_t)result, .bytes = BYTES, .is_closed = is_closed },
        };
        const braid_import_options options = {
            .is_unwatched = true, .follows_pointers = true, .buffers = buffers, .num_buffers = 2
        };
        braid_import *import;
        braid_import_info info;
        check_ok(braid_import_create_recorded(record, LOST, &options, &import));
        braid_import_get_info(import, &info);
        assert_int_equal(info.num_unproven, is_closed ? 0 : 2);
        assert_int_equal(info.num_kept, 1);
        braid_import_destroy(import);
    }
}

// The code tells that it leaves the part in which its pointer leads.
static void bytes_may_lie_in_two_parts(void **state)
{
    (void)state;
    for (int is_next = 0; is_next < 2; is_next++) {
        const braid_import_buffer buffers[] = {
            { .address = (void *)(uintptr_t)source, .bytes = 8 },
            { .address = (void *)(uintptr_t)(source + 8), .bytes = BYTES - 8 },
        };
        const braid_import_options options = {
            .is_unwatched = true, .follows_pointers = true, .buffers = buffers, .num_buffers = 2
        };
        braid_import *import;
        braid_import_info info;
        check_ok(braid_import_create_recorded(record, FOUR_AND_LAST + (uint32_t)is_next, &options,
                                              &import));
        braid_import_get_info(import, &info);
        assert_int_equal(info.num_kept, !is_next);
        braid_import_destroy(import);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(allocations_have_their_first_bytes),
                                        cmocka_unit_test(pointers_are_known_unless_they_changed),
                                        cmocka_unit_test(closed_buffers_hold_what_code_loses),
                                        cmocka_unit_test(bytes_may_lie_in_two_parts) };
    return cmocka_run_group_tests(tests, run_program, end_program);
}
