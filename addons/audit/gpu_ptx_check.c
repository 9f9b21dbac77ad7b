// SPDX-License-Identifier: Apache-2.0
// The check of an access by a kernel that tells of its accesses.
#include "audit/gpu_ptx_check.h"

#include <stddef.h>

_Static_assert(offsetof(struct audit_table, segments) == 80, "the text below");
_Static_assert(offsetof(struct audit_table, rest) == 8, "likewise");
_Static_assert(offsetof(struct audit_table, known) == 16, "likewise");
_Static_assert(AUDIT_NUM_KNOWN == 8 && PTX_CHECK_CACHES < 16, "likewise");
_Static_assert(AUDIT_NO_LINE < 1 << 26, "likewise");
_Static_assert(sizeof(struct audit_segment) == 120, "likewise");
_Static_assert(offsetof(struct audit_segment, allowed) == 16, "likewise");
_Static_assert(offsetof(struct audit_segment, seen) == 20, "likewise");
_Static_assert(offsetof(struct audit_segment, tallies) == 24, "likewise");
_Static_assert(sizeof(struct audit_tally) == 32, "likewise");

// Reads a table, and finds the first segment that ends behind an address.
#define SEARCH(name, table, segment, address)                                                      \
    "\tld.global.u64 %high, [" table "];\n"                                                        \
    "\tadd.u64 " table ", " table ", 80;\n"                                                        \
    "\tmov.u64 %low, 0;\n" name "_search:\n"                                                       \
    "\tsetp.ge.u64 %q, %low, %high;\n"                                                             \
    "\t@%q bra " name "_found;\n"                                                                  \
    "\tadd.u64 %half, %low, %high;\n"                                                              \
    "\tshr.u64 %half, %half, 1;\n"                                                                 \
    "\tmad.lo.u64 " segment ", %half, 120, " table ";\n"                                           \
    "\tld.global.u64 %t, [" segment "+8];\n"                                                       \
    "\tsetp.gt.u64 %q, %t, " address ";\n"                                                         \
    "\tselp.b64 %high, %half, %high, %q;\n"                                                        \
    "\tadd.u64 %half, %half, 1;\n"                                                                 \
    "\tselp.b64 %low, %low, %half, %q;\n"                                                          \
    "\tbra " name "_search;\n" name "_found:\n"                                                    \
    "\tmad.lo.u64 " segment ", %low, 120, " table ";\n"

// Bytes from %at to %to that the node does not declare, in the table of all buffers. If none of
// them is there, others between the same segments are likewise none of the graph's. If an access
// has more bytes, that does not count.
#define UNDECLARED                                                                                 \
    "\tld.global.u64 %all, [%table+-72];\n" SEARCH(                                                \
        "braid_all", "%all", "%other", "%at") "\tld.global.u64 %t, [%other];\n"                    \
                                              "\tsetp.lt.u64 %q, %t, %to;\n"                       \
                                              "\t@%q bra braid_told;\n"                            \
                                              "\tsub.u64 %half, %to, %at;\n"                       \
                                              "\tsetp.ne.u64 %q, %half, %bytes;\n"                 \
                                              "\t@%q bra braid_declared;\n"                        \
                                              "\tsetp.ne.u64 %q, %low, 0;\n"                       \
                                              "\t@%q ld.global.u64 %from, [%other+-112];\n"        \
                                              "\tsub.u64 %span, %t, %from;\n"                      \
                                              "\tsub.u64 %span, %span, %bytes;\n"                  \
                                              "\tbra braid_done;\n"

// Counts bytes of an access from %other on, as far as segments have them. The host's word is
// written once. A segment of the node reaches behind its begin.
#define TOLD                                                                                       \
    "braid_told:\n"                                                                                \
    "\tld.global.u64 %t, [%all+-64];\n"                                                            \
    "\tsetp.eq.u64 %q, %t, 0;\n"                                                                   \
    "\t@%q st.global.u64 [%all+-64], 1;\n"                                                         \
    "\t@%q ld.global.u64 %t, [%all+-72];\n"                                                        \
    "\t@%q st.global.u64 [%t], 1;\n"                                                               \
    "braid_tell:\n"                                                                                \
    "\tmad.wide.u32 %tally, %act, 32, %other;\n"                                                   \
    "\tred.global.add.u64 [%tally+24], 1;\n"                                                       \
    "\tld.global.u64 %t, [%other];\n"                                                              \
    "\tmax.u64 %t, %t, %at;\n"                                                                     \
    "\tred.global.min.u64 [%tally+32], %t;\n"                                                      \
    "\tld.global.u64 %t, [%other+8];\n"                                                            \
    "\tmin.u64 %t, %t, %to;\n"                                                                     \
    "\tsub.u64 %t, %t, 1;\n"                                                                       \
    "\tred.global.max.u64 [%tally+40], %t;\n"                                                      \
    "\tred.global.min.u32 [%tally+48], %line;\n"                                                   \
    "\tadd.u64 %other, %other, 120;\n"                                                             \
    "\tld.global.u64 %t, [%other];\n"                                                              \
    "\tsetp.lt.u64 %q, %t, %to;\n"                                                                 \
    "\t@%q bra braid_tell;\n"                                                                      \
    "\tsetp.gt.u64 %q, %to, %begin;\n"                                                             \
    "\t@%q bra braid_next;\n"

// A segment of the node that does not allow the access.
#define REFUSED                                                                                    \
    "braid_refused:\n"                                                                             \
    "\tld.global.u64 %all, [%table+-72];\n"                                                        \
    "\tadd.u64 %all, %all, 80;\n"                                                                  \
    "\tmov.b64 %other, %own;\n"                                                                    \
    "\tld.global.u64 %to, [%own+8];\n"                                                             \
    "\tmin.u64 %to, %to, %end;\n"                                                                  \
    "\tbra braid_told;\n"

// If a segment allows the access, this notes the first one. If the segment has the whole access,
// the first and the last address of others in it are the result. Then the table knows it. All
// threads store the same there. A multiprocessor sees at least its own stores, so few store twice.
#define ALLOWED                                                                                    \
    "\tcvt.u64.u32 %t, %act;\n"                                                                    \
    "\tadd.u64 %t, %t, %own;\n"                                                                    \
    "\tld.global.u8 %mask, [%t+20];\n"                                                             \
    "\tsetp.eq.u32 %q, %mask, 0;\n"                                                                \
    "\t@%q st.global.u8 [%t+20], 1;\n"                                                             \
    "\tld.global.u64 %t, [%own+8];\n"                                                              \
    "\tsub.u64 %half, %end, %bytes;\n"                                                             \
    "\tsetp.lt.u64 %q, %half, %begin;\n"                                                           \
    "\tsetp.lt.or.u64 %q, %t, %end, %q;\n"                                                         \
    "\t@%q bra braid_next;\n"                                                                      \
    "\tmov.b64 %from, %begin;\n"                                                                   \
    "\tsub.u64 %span, %t, %begin;\n"                                                               \
    "\tsub.u64 %span, %span, %bytes;\n"                                                            \
    "\tsetp.ge.u32 %q, %cache, 8;\n"                                                               \
    "\t@%q bra braid_done;\n"                                                                      \
    "\tmad.wide.u32 %t, %cache, 8, %table;\n"                                                      \
    "\tld.global.u64 %half, [%t+-64];\n"                                                           \
    "\tsetp.eq.u64 %q, %half, 0;\n"                                                                \
    "\t@%q st.global.u64 [%t+-64], %own;\n"                                                        \
    "\tbra braid_done;\n"

// Goes through the access from one segment of the node to the next. %at is how far it came.
const char braid_ptx_checker[] =
    "\n.global .align 8 .u64 braid_audit_table;\n"
    ".func (.param .align 8 .b8 braid_found[16]) braid_check(.param .b64 braid_address, .param "
    ".b64 braid_bytes, .param .b32 braid_kind)\n{\n"
    "\t.reg .pred %q;\n\t.reg .b32 %act, %mask, %cache, %line;\n"
    "\t.reg .b64 %at, %to, %bytes, %end, %table, %all, %low, %high, %half, %own, %other;\n"
    "\t.reg .b64 %begin, %t, %tally, %from, %span;\n"
    "\tld.param.b64 %at, [braid_address];\n"
    "\tld.param.b64 %bytes, [braid_bytes];\n"
    "\tld.param.b32 %line, [braid_kind];\n"
    "\tand.b32 %act, %line, 3;\n"
    "\tshr.u32 %cache, %line, 2;\n"
    "\tand.b32 %cache, %cache, 15;\n"
    "\tshr.u32 %line, %line, 6;\n"
    "\tmov.u64 %from, 0;\n"
    "\tmov.u64 %span, 0;\n"
    "\tsetp.eq.u64 %q, %bytes, 0;\n"
    "\t@%q bra braid_done;\n"
    "\tadd.u64 %end, %at, %bytes;\n"
    "\tld.global.u64 %table, [braid_audit_table];\n" SEARCH(
        "braid_node", "%table", "%own", "%at") "braid_walk:\n"
                                               "\tld.global.u64 %begin, [%own];\n"
                                               "\tmin.u64 %to, %begin, %end;\n"
                                               "\tsetp.ge.u64 %q, %at, %to;\n"
                                               "\t@%q bra braid_declared;\n" UNDECLARED TOLD
                                               "braid_declared:\n"
                                               "\tsetp.ge.u64 %q, %begin, %end;\n"
                                               "\t@%q bra braid_done;\n"
                                               "\tld.global.u32 %mask, [%own+16];\n"
                                               "\tshr.b32 %mask, %mask, %act;\n"
                                               "\tand.b32 %mask, %mask, 1;\n"
                                               "\tsetp.eq.u32 %q, %mask, 0;\n"
                                               "\t@%q bra braid_refused;\n" ALLOWED REFUSED
                                               "braid_next:\n"
                                               "\tld.global.u64 %at, [%own+8];\n"
                                               "\tadd.u64 %own, %own, 120;\n"
                                               "\tsetp.lt.u64 %q, %at, %end;\n"
                                               "\t@%q bra braid_walk;\n"
                                               "braid_done:\n"
                                               "\tst.param.b64 [braid_found+0], %from;\n"
                                               "\tst.param.b64 [braid_found+8], %span;\n"
                                               "\tret;\n}\n";

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
