// SPDX-License-Identifier: Apache-2.0
// The check of an access by a kernel that tells of its accesses.
#include "audit/gpu_ptx_check.h"

#include <stddef.h>

_Static_assert(offsetof(struct audit_table, segments) == 80, "gpu_ptx_check.ptx");
_Static_assert(offsetof(struct audit_table, rest) == 8, "likewise");
_Static_assert(offsetof(struct audit_table, known) == 16, "likewise");
_Static_assert(AUDIT_NUM_KNOWN == 8 && PTX_CHECK_CACHES < 16, "likewise");
_Static_assert(AUDIT_NO_LINE < 1 << 26, "likewise");
_Static_assert(sizeof(struct audit_segment) == 120, "likewise");
_Static_assert(offsetof(struct audit_segment, allowed) == 16, "likewise");
_Static_assert(offsetof(struct audit_segment, seen) == 20, "likewise");
_Static_assert(offsetof(struct audit_segment, tallies) == 24, "likewise");
_Static_assert(sizeof(struct audit_tally) == 32, "likewise");

// The guard without its sign, or length 0.
static struct ptx_word find_guard(const struct ptx_statement *statement)
{
    const char *at = statement->begin;
    struct ptx_word word = braid_ptx_next_word(&at);
    if (!braid_ptx_word_is(word, "@"))
        return (struct ptx_word){ 0 };
    struct ptx_word guard = braid_ptx_next_word(&at);
    while (at < statement->word.at) {
        struct ptx_word next = braid_ptx_next_word(&at);
        if (next.at >= statement->word.at)
            break;
        guard.length = (size_t)(next.at + next.length - guard.at);
    }
    return guard;
}

// Whether the check is due: where the guard holds, and the cache does not say that all is well.
static void write_decision(FILE *file, struct ptx_word guard, uint32_t cache)
{
    const bool is_negated = guard.length && *guard.at == '!';
    if (cache < PTX_CHECK_CACHES) {
        fprintf(file,
                "\tsub.s64 %%braid_a1, %%braid_a0, %%braid_low%u;\n"
                "\tsetp.gt%s.u64 %%braid_q, %%braid_a1, %%braid_span%u",
                cache, guard.length ? ".and" : "", cache);
        if (guard.length)
            fprintf(file, ", %.*s", (int)guard.length, guard.at);
        fprintf(file, ";\n\t@!%%braid_q bra braid_checked;\n");
    } else if (guard.length) {
        fprintf(file, "\t@%s%.*s bra braid_checked;\n", is_negated ? "" : "!",
                (int)guard.length - is_negated, guard.at + is_negated);
    }
}

static void write_size(FILE *file, const struct ptx_access *access)
{
    if (access->bytes || !access->size.length)
        fprintf(file, "\tst.param.b64 [braid_p1], %u;\n", access->bytes);
    else
        fprintf(file,
                "\tcvt.u64.u32 %%braid_a1, %.*s;\n"
                "\tst.param.b64 [braid_p1], %%braid_a1;\n",
                (int)access->size.length, access->size.at);
}

// If there are several rows, the first thread of the warp checks one after another.
static void write_rows_begin(FILE *file, const struct ptx_access *access)
{
    fprintf(file,
            "\t.reg .b64 %%braid_stride;\n\t.reg .b32 %%braid_rows;\n"
            "\tmov.u32 %%braid_rows, %%laneid;\n"
            "\tsetp.ne.u32 %%braid_q, %%braid_rows, 0;\n"
            "\t@%%braid_q bra braid_last_row;\n"
            "\tmov.u32 %%braid_rows, %u;\n",
            access->rows);
    if (access->stride.length)
        fprintf(file, "\tmul.wide.u32 %%braid_stride, %.*s, %u;\n", (int)access->stride.length,
                access->stride.at, access->stride_bits);
    else
        fprintf(file, "\tmov.u64 %%braid_stride, %u;\n", access->stride_bits);
    fprintf(file, "\tshr.u64 %%braid_stride, %%braid_stride, 3;\nbraid_row:\n");
}

// The warp makes the access together.
static void write_rows_end(FILE *file, struct ptx_word guard)
{
    fprintf(file, "\tadd.u64 %%braid_a0, %%braid_a0, %%braid_stride;\n"
                  "\tsub.u32 %%braid_rows, %%braid_rows, 1;\n"
                  "\tsetp.ne.u32 %%braid_q, %%braid_rows, 0;\n"
                  "\t@%%braid_q bra braid_row;\nbraid_last_row:\n\t");
    if (guard.length)
        fprintf(file, "@%.*s ", (int)guard.length, guard.at);
    fprintf(file, "bar.warp.sync 0xffffffff;\n");
}

void braid_ptx_write_check(FILE *file, const struct ptx_statement *statement,
                           const struct ptx_access *access, struct ptx_cache cache, uint32_t line)
{
    const uint32_t known = cache.is_shared ? cache.number : PTX_CHECK_CACHES;
    const struct ptx_word guard = find_guard(statement);
    fprintf(file,
            "\n\t{\n\t.reg .pred %%braid_q;\n\t.reg .b64 %%braid_a<2>;\n"
            "\tmov.b64 %%braid_a0, %.*s;\n",
            (int)access->base.length, access->base.at);
    if (access->offset.length)
        fprintf(file, "\tadd.s64 %%braid_a0, %%braid_a0, %.*s;\n", (int)access->offset.length,
                access->offset.at);
    if (access->rows)
        write_rows_begin(file, access);
    write_decision(file, guard, cache.number);
    fprintf(file, "\t{\n\t.param .b64 braid_p0;\n\t.param .b64 braid_p1;\n\t.param .b32 "
                  "braid_p2;\n\t.param .align 8 .b8 braid_r[16];\n"
                  "\tst.param.b64 [braid_p0], %%braid_a0;\n");
    write_size(file, access);
    fprintf(file,
            "\tst.param.b32 [braid_p2], %u;\n"
            "\tcall (braid_r), braid_check, (braid_p0, braid_p1, braid_p2);\n",
            (uint32_t)access->act | known << 2 | line << 6);
    if (cache.number < PTX_CHECK_CACHES)
        fprintf(file,
                "\tld.param.b64 %%braid_low%u, [braid_r+0];\n"
                "\tld.param.b64 %%braid_span%u, [braid_r+8];\n",
                cache.number, cache.number);
    fprintf(file, "\t}\nbraid_checked:\n");
    if (access->rows)
        write_rows_end(file, guard);
    fprintf(file, "\t}\n\t");
}

void braid_ptx_write_cache(FILE *file, struct ptx_cache cache, uint32_t bytes)
{
    const uint32_t n = cache.number;
    fprintf(file,
            "\tmov.b64 %%braid_low%u, 0;\n"
            "\tmov.b64 %%braid_span%u, 0;\n",
            n, n);
    if (cache.is_shared)
        fprintf(file,
                "\t{\n\t.reg .pred %%braid_q;\n\t.reg .b64 %%braid_a<2>;\n"
                "\tld.param.u64 %%braid_a0, [braid_audit];\n"
                "\tld.global.u64 %%braid_a1, [%%braid_a0+%zu];\n"
                "\tsetp.ne.u64 %%braid_q, %%braid_a1, 0;\n"
                "\t@%%braid_q ld.global.u64 %%braid_low%u, [%%braid_a1];\n"
                "\t@%%braid_q ld.global.u64 %%braid_span%u, [%%braid_a1+8];\n"
                "\t@%%braid_q sub.u64 %%braid_span%u, %%braid_span%u, %%braid_low%u;\n"
                "\t@%%braid_q sub.u64 %%braid_span%u, %%braid_span%u, %u;\n\t}\n",
                offsetof(struct audit_table, known) + n * sizeof(uint64_t), n, n, n, n, n, n, n,
                bytes);
}
