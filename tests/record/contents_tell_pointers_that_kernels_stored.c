// SPDX-License-Identifier: Apache-2.0
// A record has the bytes that memory had in the end. So the import knows pointers that a kernel
// stored before the frame, unless later work of the record may have changed them.
#include "record/program.h"

#include <braid/import.h>
#include <string.h>

enum { BYTES = 256, WORDS = BYTES / 8, KEPT = 64 };

static const char text[] =
    ".version 7.8\n.target sm_90\n.address_size 64\n"
    ".visible .entry follow(.param .u64 at, .param .u64 to)\n{\n"
    ".reg .b64 %d<3>;\n.reg .b32 %r;\nld.param.u64 %d0, [at];\nld.param.u64 %d1, [to];\n"
    "ld.u64 %d2, [%d0+8];\nld.u32 %r, [%d2];\nst.u32 [%d1], %r;\nret;\n}\n"
    ".visible .entry put(.param .u64 at, .param .u64 value)\n{\n"
    ".reg .b64 %d<2>;\nld.param.u64 %d0, [at];\nld.param.u64 %d1, [value];\n"
    "st.u64 [%d0+8], %d1;\nret;\n}\n";

static CUmodule module;
static CUfunction follow, put;
static CUstream stream;
static CUdeviceptr kept, changed, freed, late, source, result;
static const braid_record_contents *record;

static void launch(CUfunction function, CUdeviceptr at, CUdeviceptr second)
{
    void *arguments[] = { &at, &second };
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

static void change(void)
{
    must(cuStreamSynchronize(stream));
    must(cuMemcpyDtoD_v2(changed, source, BYTES));
    must(cuMemFree_v2(freed));
}

static const struct {
    const char *name;
    void (*run)(void);
    uint32_t num_unproven;
} frames[] = {
    { "a table that stays", use_kept, 0 },
    { "a table that a later copy changes", use_changed, 1 },
    { "a table that is freed", use_freed, 0 },
    { "an allocation", make_late, 0 },
    { "a table from the frame before", use_late, 0 },
    { "a kernel that stores the pointer", store_and_use, 1 },
    { "a copy and a free", change, 0 },
};

enum { FRAMES = sizeof(frames) / sizeof(frames[0]) };

static int run_program(void **state)
{
    open_program(state);
    must(cuModuleLoadData(&module, text));
    must(cuModuleGetFunction(&follow, module, "follow"));
    must(cuModuleGetFunction(&put, module, "put"));
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
    for (uint32_t i = 0; i < record->num_allocations; i++) {
        const braid_record_allocation *of = &record->allocations[i];
        uint64_t word = 0;
        if (of->address != kept && of->address != freed && of->address != late)
            continue;
        assert_int_equal(of->num_contents, KEPT);
        memcpy(&word, (const char *)of->contents + 8, sizeof(word));
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
        braid_import_destroy(import);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(allocations_have_their_first_bytes),
                                        cmocka_unit_test(pointers_are_known_unless_they_changed) };
    return cmocka_run_group_tests(tests, run_program, end_program);
}
