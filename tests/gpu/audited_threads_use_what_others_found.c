// SPDX-License-Identifier: Apache-2.0
// A thread that finds a segment in the table of an audit writes it there for later threads. They
// check their accesses by that, and look nothing up.
#include <string.h>

#include "audit/audit_kernel_table.h"
#include "audit/gpu_ptx_audit.h"
#include "base/host_memory.h"
#include "standin/ptx/ptx_run.h"
#include "support/check.h"

enum { NUM = 16, ALL = 7 };

// Adds one to each of some words, and reads the first of others before.
static const char text[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".entry adds(.param .u64 to, .param .u64 from)\n{\n.reg .b32 %r<3>;\n.reg .b64 %d<4>;\n"
    "ld.param.u64 %d0, [to];\nld.param.u64 %d1, [from];\nmov.u32 %r0, %tid.x;\n"
    "ld.global.u32 %r1, [%d1];\nmad.wide.u32 %d2, %r0, 4, %d0;\nld.global.u32 %r1, [%d2];\n"
    "add.u32 %r1, %r1, 1;\nst.global.u32 [%d2], %r1;\nret;\n}\n";

struct memory {
    uint32_t to[NUM], from[NUM];
};

struct table {
    uint64_t num, rest, known[AUDIT_NUM_KNOWN];
    struct audit_segment segments[3];
};

static struct table make_table(const struct memory *memory)
{
    const uintptr_t begin = (uintptr_t)memory, middle = (uintptr_t)memory->from;
    return (struct table){ .num = 2,
                           .segments = { { .begin = begin, .end = middle, .allowed = ALL },
                                         { .begin = middle,
                                           .end = begin + sizeof(*memory),
                                           .allowed = 1 << PTX_READS },
                                         { .begin = UINT64_MAX, .end = UINT64_MAX } } };
}

static void run(struct memory *memory, struct table *table)
{
    struct ptx_reason reason;
    struct text error = { 0 };
    struct code code;
    const void *arguments[] = { memory->to, memory->from, table };
    const struct grid grid = {
        .grid = { 1, 1, 1 }, .block = { NUM, 1, 1 }, .arguments = arguments, .seed = 1
    };
    char *changed = braid_gpu_ptx_with_audit(text, 0, &reason);
    assert_non_null(changed);
    if (!code_read(changed, "adds", &code, &error) || !code_run(&code, &grid, &error))
        fail_msg("%s", error.bytes);
    code_finish(&code);
    braid_free(changed);
}

static bool is_known(const struct table *table, const struct audit_segment *segment)
{
    for (int i = 0; i < AUDIT_NUM_KNOWN; i++) {
        if (table->known[i] == (uintptr_t)segment)
            return true;
    }
    return false;
}

static void what_is_found_is_written_for_others(void **state)
{
    (void)state;
    struct memory memory = { { 0 }, { 0 } };
    struct table table = make_table(&memory);
    run(&memory, &table);
    assert_true(is_known(&table, &table.segments[0]));
    assert_true(is_known(&table, &table.segments[1]));
    assert_int_equal(table.segments[0].seen[PTX_READS], 1);
    assert_int_equal(table.segments[0].seen[PTX_WRITES], 1);
    assert_int_equal(table.segments[0].seen[PTX_UPDATES], 0);
    assert_int_equal(table.segments[1].seen[PTX_READS], 1);
    assert_int_equal(table.segments[1].seen[PTX_WRITES], 0);
    for (int i = 0; i < NUM; i++)
        assert_int_equal(memory.to[i], 1);
}

// No thread looks into the table, since it would note the access there.
static void what_others_found_is_not_looked_up(void **state)
{
    (void)state;
    struct memory memory = { { 0 }, { 0 } };
    const struct table all = make_table(&memory);
    struct table table = make_table(&memory);
    const struct audit_segment known = { .begin = (uintptr_t)&memory,
                                         .end = (uintptr_t)(&memory + 1) };
    for (int i = 0; i < AUDIT_NUM_KNOWN; i++)
        table.known[i] = (uintptr_t)&known;
    run(&memory, &table);
    assert_memory_equal(table.segments, all.segments, sizeof(all.segments));
}

// The last word is beyond, and only its thread looks it up.
static void what_others_found_has_an_end(void **state)
{
    (void)state;
    struct memory memory = { { 0 }, { 0 } };
    struct table table = make_table(&memory);
    const struct audit_segment known = { .begin = (uintptr_t)memory.to,
                                         .end = (uintptr_t)(memory.to + NUM) - 1 };
    for (int i = 0; i < AUDIT_NUM_KNOWN; i++)
        table.known[i] = (uintptr_t)&known;
    uint64_t told = 0;
    struct table all = { .rest = (uintptr_t)&told };
    table.rest = (uintptr_t)&all;
    table.segments[0].allowed = 0;
    run(&memory, &table);
    assert_int_equal(told, 1);
    assert_int_equal(table.segments[0].tallies[PTX_READS].num, 1);
    assert_int_equal(table.segments[0].tallies[PTX_WRITES].num, 1);
    assert_int_equal(table.segments[0].tallies[PTX_WRITES].highest, (uintptr_t)&memory.to[NUM] - 1);
    assert_int_equal(table.segments[1].seen[PTX_READS], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_found_is_written_for_others),
        cmocka_unit_test(what_others_found_is_not_looked_up),
        cmocka_unit_test(what_others_found_has_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
