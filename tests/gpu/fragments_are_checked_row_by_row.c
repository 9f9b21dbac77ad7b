// SPDX-License-Identifier: Apache-2.0
// A warp loads and stores fragments of matrices row by row, and tells of each row once. It makes
// the access together behind that. The stand-in does not know the instruction, so the checks run
// without it, or with another one.
#include <stdio.h>
#include <string.h>

#include "audit/audit_kernel_table.h"
#include "audit/gpu_ptx_audit.h"
#include "base/host_memory.h"
#include "ptx/ptx_access.h"
#include "standin/ptx/ptx_run.h"
#include "support/check.h"

#define HEAD ".version 7.1\n.target sm_80\n.address_size 64\n"

static void fragments_have_rows(void **state)
{
    (void)state;
    static const struct {
        const char *instruction;
        uint32_t rows, bytes, stride_bits;
        bool writes, has_stride;
    } cases[] = {
        { "load.a.sync.aligned.row.m8n32k16.global.f16 {%r0}, [%a], %r1", 8, 32, 16, false, true },
        { "load.a.sync.aligned.col.m8n32k16.f16 {%r0}, [%a], %r1", 16, 16, 16, false, true },
        { "load.b.sync.aligned.row.m8n32k16.global.bf16 {%r0}, [%a], %r1", 16, 64, 16, false,
          true },
        { "load.b.sync.aligned.col.m8n32k16.global.s8 {%r0}, [%a], 48", 32, 16, 8, false, true },
        { "load.c.sync.aligned.row.m8n32k16.global.s32 {%r0}, [%a]", 8, 128, 1024, false, false },
        { "load.a.sync.aligned.row.m16n16k8.global.tf32 {%r0}, [%a], %r1", 16, 32, 32, false,
          true },
        { "load.b.sync.aligned.col.m8n8k32.global.s4 {%r0}, [%a], %r1", 8, 16, 4, false, true },
        { "load.a.sync.aligned.row.m8n8k128.global.b1 {%r0}, [%a], %r1", 8, 16, 1, false, true },
        { "store.d.sync.aligned.row.m8n8k4.global.f64 [%a+8], {%r0}, %r1", 8, 64, 64, true, true },
        { "store.d.sync.aligned.col.m8n32k16.f32 [%a], {%r0}, %r1", 32, 32, 32, true, true },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[300];
        struct ptx ptx;
        struct ptx_reason reason;
        struct ptx_access access;
        snprintf(text, sizeof(text), HEAD ".entry a()\n{\nwmma.%s;\nret;\n}\n",
                 cases[i].instruction);
        assert_true(braid_ptx_read(text, &ptx, &reason));
        assert_int_equal(braid_ptx_find_access(ptx_statements(&ptx, ptx_functions(&ptx)), &access),
                         PTX_ACCESS);
        assert_int_equal(access.act, cases[i].writes ? PTX_WRITES : PTX_READS);
        assert_true(braid_ptx_word_is(access.base, "%a"));
        if (access.rows != cases[i].rows || access.bytes != cases[i].bytes ||
            access.stride_bits != cases[i].stride_bits ||
            (access.stride.length != 0) != cases[i].has_stride)
            fail_msg("%s: %u rows of %u bytes, %u bits apart", cases[i].instruction, access.rows,
                     access.bytes, access.stride_bits);
        braid_ptx_finish(&ptx);
    }
}

enum { STRIDE = 20, ROWS = 16, ROW_BYTES = 32, WIDTH = 2 * STRIDE };

struct table {
    uint64_t num, rest, known[AUDIT_NUM_KNOWN];
    struct audit_segment segments[ROWS + 1];
};

static void run(const char *changed, const void *matrix, uintptr_t second,
                const struct table *table, uint64_t seed)
{
    const void *arguments[] = { matrix, (const void *)second, table };
    const struct grid grid = {
        .grid = { 1, 1, 1 }, .block = { 64, 1, 1 }, .arguments = arguments, .seed = seed
    };
    struct text error = { 0 };
    struct code code;
    if (!code_read(changed, "loads", &code, &error) || !code_run(&code, &grid, &error))
        fail_msg("%s", error.bytes);
    code_finish(&code);
}

static void replace_load(char *changed, const char *with)
{
    char *load = strstr(changed, "wmma.load");
    assert_non_null(load);
    memset(load, ' ', (size_t)(strchr(load, ';') + 1 - load));
    memcpy(load, with, strlen(with));
}

// Buffers lie between rows, and at the last row. The node declares none of them.
static void a_row_ends_before_the_next(void **state)
{
    (void)state;
    static unsigned char matrix[ROWS * WIDTH];
    static const char text[] =
        HEAD ".entry loads(.param .u64 matrix, .param .u64 stride)\n{\n.reg .pred %p;\n"
             ".reg .b64 %a, %d;\n.reg .b32 %s, %r<8>;\nld.param.u64 %a, [matrix];\n"
             "ld.param.u64 %d, [stride];\ncvt.u32.u64 %s, %d;\n"
             "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 "
             "{%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, [%a], %s;\nret;\n}\n";
    struct ptx_reason reason;
    uint64_t told = 0;
    struct table all = { .num = ROWS, .rest = (uintptr_t)&told };
    char *changed = braid_gpu_ptx_with_audit(text, 0, &reason);
    assert_non_null(changed);
    replace_load(changed, "");
    for (uint64_t i = 0; i < ROWS; i++) {
        const uint64_t row = (uintptr_t)matrix + i * WIDTH;
        all.segments[i] = (struct audit_segment){ .begin = row + ROW_BYTES, .end = row + WIDTH };
    }
    all.segments[ROWS - 1].begin = (uintptr_t)matrix + (ROWS - 1) * WIDTH;
    all.segments[ROWS] = (struct audit_segment){ .begin = UINT64_MAX, .end = UINT64_MAX };
    const struct table table = { .rest = (uintptr_t)&all,
                                 .segments = { { .begin = UINT64_MAX, .end = UINT64_MAX } } };
    run(changed, matrix, STRIDE, &table, 1);
    for (size_t i = 0; i < ROWS - 1; i++)
        assert_int_equal(all.segments[i].tallies[PTX_READS].num, 0);
    const struct audit_tally *last = &all.segments[ROWS - 1].tallies[PTX_READS];
    assert_int_equal(told, 1);
    assert_int_equal(last->num, 2); // once for each warp
    assert_int_equal(last->highest, (uintptr_t)matrix + (ROWS - 1) * WIDTH + ROW_BYTES - 1);
    braid_free(changed);
}

// In place of the load, each thread of the first warp reads whether the first thread has told. Half
// of the second warp goes another way.
static void a_warp_loads_together(void **state)
{
    (void)state;
    static unsigned char matrix[ROWS * ROW_BYTES];
    static const char text[] =
        HEAD ".entry loads(.param .u64 matrix, .param .u64 out)\n{\n.reg .pred %p, %q;\n"
             ".reg .b64 %a, %o, %w, %d;\n.reg .b32 %t, %r<8>;\nld.param.u64 %a, [matrix];\n"
             "ld.param.u64 %o, [out];\nmov.u32 %t, %tid.x;\nmad.wide.u32 %d, %t, 8, %o;\n"
             "mov.u64 %w, 1;\nsetp.lt.u32 %p, %t, 32;\nsetp.ge.u32 %q, %t, 48;\n"
             "@%q bra over;\n@%p wmma.load.a.sync.aligned.row.m16n16k16.global.f16 "
             "{%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, [%a], 16;\nover:\nbar.sync 0;\n"
             "st.global.u64 [%d+8], %w;\nret;\n}\n";
    struct ptx_reason reason;
    char *changed = braid_gpu_ptx_with_audit(text, 0, &reason);
    assert_non_null(changed);
    replace_load(changed, "ld.global.u64 %w, [%o];");
    for (uint64_t seed = 1; seed < 20; seed++) {
        uint64_t out[65] = { 0 };
        const struct audit_segment last = { .begin = UINT64_MAX, .end = UINT64_MAX };
        const struct table all = { .num = 1,
                                   .rest = (uintptr_t)out,
                                   .segments = { { .begin = (uintptr_t)matrix,
                                                   .end = (uintptr_t)(matrix + ROW_BYTES) },
                                                 last } };
        const struct table table = { .rest = (uintptr_t)&all, .segments = { last } };
        run(changed, matrix, (uintptr_t)out, &table, seed);
        for (int i = 0; i < 65; i++)
            assert_int_equal(out[i], 1);
    }
    braid_free(changed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fragments_have_rows),
        cmocka_unit_test(a_row_ends_before_the_next),
        cmocka_unit_test(a_warp_loads_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
