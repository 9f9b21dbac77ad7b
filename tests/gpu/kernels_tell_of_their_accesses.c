// SPDX-License-Identifier: Apache-2.0
// Which instructions of PTX access global memory, where, and how many bytes; and the text of
// kernels that tell of that.
#include <stdio.h>
#include <string.h>

#include "audit/gpu_ptx_audit.h"
#include "base/host_memory.h"
#include "gpu/cut_off.h"
#include "ptx/ptx_access.h"
#include "support/check.h"

#define HEAD ".version 8.0\n.target sm_90, debug\n.address_size 64\n"

static bool same(struct ptx_word word, const char *text)
{
    return text ? braid_ptx_word_is(word, text) : word.length == 0;
}

// `size` is that of a constant, or an operand.
static void check(const char *instruction, enum ptx_access_kind kind, enum ptx_act act,
                  const char *base, const char *offset, uint32_t bytes, const char *size)
{
    char text[400];
    struct ptx ptx;
    struct ptx_reason reason;
    struct ptx_access access;
    snprintf(text, sizeof(text), HEAD ".entry a()\n{\n@!%%p %s;\nret;\n}\n", instruction);
    if (!braid_ptx_read(text, &ptx, &reason))
        fail_msg("%s: %s", instruction, reason.text);
    enum ptx_access_kind found =
        braid_ptx_find_access(ptx_statements(&ptx, ptx_functions(&ptx)), &access);
    if (found != kind)
        fail_msg("%s: kind %d", instruction, (int)found);
    bool is_right = access.act == act && same(access.base, base) && same(access.offset, offset) &&
                    access.bytes == bytes && (!size || same(access.size, size));
    if (kind == PTX_ACCESS && !is_right)
        fail_msg("%s: act %d, [%.*s+%.*s], %u bytes, '%.*s'", instruction, (int)access.act,
                 (int)access.base.length, access.base.at, (int)access.offset.length,
                 access.offset.at, access.bytes, (int)access.size.length, access.size.at);
    braid_ptx_finish(&ptx);
}

static void accesses_are_found(void **state)
{
    (void)state;
    check("ld.global.u32 %r1, [%rd1]", PTX_ACCESS, PTX_READS, "%rd1", NULL, 4, NULL);
    check("ld.global.nc.L1::no_allocate.L2::128B.v4.f32 {%f1, %f2, _, %f4}, [ %rd1 + 0 ]",
          PTX_ACCESS, PTX_READS, "%rd1", "0", 16, NULL);
    check("ldu.global.v2.b64 {%rd3, %rd4}, [%rd1+-8]", PTX_ACCESS, PTX_READS, "%rd1", "-8", 16,
          NULL);
    check("ld.acquire.gpu.b128 %q, [%rd1-16]", PTX_ACCESS, PTX_READS, "%rd1", "-16", 16, NULL);
    check("ld.u8 %r1, [here+3]", PTX_ACCESS, PTX_READS, "here", "3", 1, NULL);
    check("st.volatile.global.v4.b16 [%rd1+2], {%h1, %h2, %h3, %h4}", PTX_ACCESS, PTX_WRITES,
          "%rd1", "2", 8, NULL);
    check("st.v8.b32 [%rd1], {%r1}", PTX_ACCESS, PTX_WRITES, "%rd1", NULL, 32, NULL);
    check("atom.global.add.noftz.bf16x2 %r1, [%rd1], %r2", PTX_ACCESS, PTX_UPDATES, "%rd1", NULL, 4,
          NULL);
    check("atom.acq_rel.gpu.cas.b64 %rd2, [%rd1+8], %rd3, %rd4", PTX_ACCESS, PTX_UPDATES, "%rd1",
          "8", 8, NULL);
    check("red.global.v2.f32.add [%rd1], {%f1, %f2}", PTX_ACCESS, PTX_UPDATES, "%rd1", NULL, 8,
          NULL);
    check("discard.global.L2 [%rd1+128], 128", PTX_ACCESS, PTX_WRITES, "%rd1", "128", 128, NULL);
    check("discard.L2 [%rd1], 0x80", PTX_ACCESS, PTX_WRITES, "%rd1", NULL, 128, NULL);
    for (int i = 0; i < 8; i++)
        check((const char *[]){ "ld.shared.u32 %r1, [%r2]", "st.shared::cluster.u32 [%r2], %r1",
                                "ld.param.u64 %rd1, [a_0]", "ld.const.u32 %r1, [table]",
                                "st.local.u32 [%rd2], %r1", "atom.shared.add.u32 %r1, [%r2], 1",
                                "prefetch.global.L2 [%rd1]",
                                "applypriority.global.L2::evict_normal [%rd1], 128" }[i],
              PTX_NO_ACCESS, PTX_READS, NULL, NULL, 0, NULL);
}

static void copies_are_accesses(void **state)
{
    (void)state;
    check("cp.async.ca.shared.global [%r1], [%rd1+4], 4", PTX_ACCESS, PTX_READS, "%rd1", "4", 4,
          NULL);
    check("cp.async.cg.shared.global.L2::128B [%r1], [%rd1], 16, %r7", PTX_ACCESS, PTX_READS,
          "%rd1", NULL, 0, "%r7");
    check("cp.async.cg.shared.global.L2::cache_hint [%r1], [%rd1], 16, %rd9", PTX_ACCESS, PTX_READS,
          "%rd1", NULL, 16, "16");
    check("cp.async.cg.shared.global.L2::cache_hint [%r1], [%rd1], 16, 8, %rd9", PTX_ACCESS,
          PTX_READS, "%rd1", NULL, 8, "8");
    check("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], %r2, "
          "[%r3]",
          PTX_ACCESS, PTX_READS, "%rd1", NULL, 0, "%r2");
    check("cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 64", PTX_ACCESS, PTX_WRITES,
          "%rd1", NULL, 64, NULL);
    check("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r1], 64",
          PTX_ACCESS, PTX_UPDATES, "%rd1", NULL, 64, NULL);
    for (int i = 0; i < 5; i++)
        check((const char *[]){ "cp.async.wait_group 0", "cp.async.commit_group",
                                "cp.async.bulk.commit_group",
                                "cp.async.bulk.prefetch.L2.global [%rd1], 64",
                                "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::"
                                "bytes [%r1], [%r2], 64, [%r3]" }[i],
              PTX_NO_ACCESS, PTX_READS, NULL, NULL, 0, NULL);
}

static void accesses_without_an_address_are_told(void **state)
{
    (void)state;
    static const char *const unseen[] = {
        "cp.async.bulk.tensor.1d.shared::cluster.global.tile [%r1], [%rd1, {%r2}], [%r3]",
        "cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%rd1], [%r1], 64, %h1",
        ("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob [%r1], [%rd1], "
         "64, 4, 8, [%r3]"),
        "tex.1d.v4.s32.s32 {%r0, %r1, %r2, %r3}, [t, {%r0}]",
        "sust.b.1d.b32.trap [s, {%r0}], %r1",
        "multimem.red.relaxed.gpu.global.add.u32 [%rd1], %r1",
        "wmma.load.a.sync.aligned.row.f16 {%r0}, [%rd1], 16",
        "wmma.load.a.sync.aligned.row.m16n16k16 {%r0}, [%rd1], 16",
        "wmma.load",
        "discard.global.L2 [%rd1]",
        "ld.global.u32 %r1, [%rd1, 4]",
        "ld.global.u32 %r1, %rd1",
        "ld.global %r1, [%rd1]",
    };
    struct ptx_reason reason;
    char text[300];
    for (size_t i = 0; i < sizeof(unseen) / sizeof(unseen[0]); i++) {
        check(unseen[i], PTX_UNSEEN_ACCESS, PTX_READS, NULL, NULL, 0, NULL);
        snprintf(text, sizeof(text), HEAD ".entry a()\n{\n%s;\nret;\n}\n", unseen[i]);
        assert_null(braid_gpu_ptx_with_audit(text, 0, &reason));
        assert_non_null(strstr(reason.text, "', which tells no address"));
    }
    check("wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r0}, [%rd1], 16", PTX_NO_ACCESS,
          PTX_READS, NULL, NULL, 0, NULL);
    check("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%f0}, {%r0}, {%r1}, {%f1}",
          PTX_NO_ACCESS, PTX_READS, NULL, NULL, 0, NULL);
    assert_null(braid_gpu_ptx_with_audit(
        HEAD ".extern .func cudaLaunchDevice(.param .b32 a);\n.entry b()\n{\nret;\n}\n", 0,
        &reason));
    assert_string_equal(reason.text, "it launches kernels itself");
}

// Where the predicate holds, a copy reads nothing.
static void copies_that_may_ignore_their_source_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *registers, *operand;
        bool is_predicate;
    } cases[] = {
        { ".reg .pred %p<4>;", "%p3", true },
        { ".reg .b32 %q;\n.reg .pred %p1, %ignored;", "%ignored", true },
        { ".reg .pred %p1<20>;", "%p12", true },
        { ".reg .pred %p<4>;\n.reg .b32 %pq;", "%pq", false },
        { ".reg .pred %p<4>;\n.reg .b32 %r<9>;", "%r3", false },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[400];
        struct ptx_reason reason = { .text = "" };
        snprintf(text, sizeof(text),
                 HEAD ".entry a()\n{\n%s\ncp.async.ca.shared.global [%%r1], [%%rd1], 16, %s;\nret;"
                      "\n}\n",
                 cases[i].registers, cases[i].operand);
        char *changed = braid_gpu_ptx_with_audit(text, 0, &reason);
        assert_int_equal(changed == NULL, cases[i].is_predicate);
        if (!changed)
            assert_string_equal(reason.text, "it has the instruction 'cp.async.ca.shared.global', "
                                             "which tells no address");
        braid_free(changed);
    }
}

static void names_may_have_any_length(void **state)
{
    (void)state;
    static char text[40000], name[6000];
    const int length = (int)sizeof(name);
    struct ptx_reason reason;
    memset(name, 'x', sizeof(name));
    snprintf(text, sizeof(text),
             HEAD ".entry a()\n{\n@%.*sp wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%%r0}, "
                  "[%.*sa], %.*ss;\nret;\n}\n",
             length, name, length, name, length, name);
    char *changed = braid_gpu_ptx_with_audit(text, 0, &reason);
    assert_non_null(changed);
    assert_non_null(strstr(changed, "xp bar.warp.sync 0xffffffff;\n\t}\n\t@xxx"));
    braid_free(changed);
}

static int count(const char *text, const char *word)
{
    int num = 0;
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        num++;
    return num;
}

static const char whole[] =
    HEAD "// comment\n.visible .entry a(.param .u64 x)\n{ again: st.u32 [%r1], 0; @%p ld.u32 %r2, "
         "[%r1+4];\n@!%p bra again; st.u8 [%r1], 1; ret; }\n"
         ".entry b()\n.reqntid 32\n{ ret; }\n.entry c { ret; }\n.entry d(.param .u64 x);\n"
         ".func e() { st.u64 [%r1], 2; ret; }\n";

static char *audit(const char *text, struct ptx_reason *out_reason)
{
    return braid_gpu_ptx_with_audit(text, 256, out_reason);
}

static void every_entry_takes_a_table(void **state)
{
    (void)state;
    struct ptx_reason reason;
    char *changed = audit(whole, &reason);
    assert_non_null(changed);
    assert_int_equal(count(changed, ".param .u64 braid_audit)"), 4);
    assert_int_equal(count(changed, "\n.maxntid 256, 1, 1\n{"), 2);
    assert_int_equal(count(changed, "call (braid_r), braid_check"), 4);
    assert_int_equal(count(changed, "\t.reg .b64 %braid_low<3>, %braid_span<3>;"), 1);
    assert_int_equal(count(changed, "%braid_span1, %p;"), 1);
    const char *checker = strstr(changed, ".func (.param .align 8 .b8 braid_found[16])");
    assert_non_null(checker);
    assert_true(checker > strstr(changed, ".address_size 64"));
    assert_true(checker < strstr(changed, ".visible .entry a"));
    braid_free(changed);
    changed = braid_gpu_ptx_with_audit(whole, 0, &reason);
    assert_non_null(changed);
    assert_int_equal(count(changed, ".maxntid"), 0);
    braid_free(changed);
}

// As compilers unroll a loop: each access has a register of its own, and there are more than
// caches.
static void addresses_of_one_origin_share_a_cache(void **state)
{
    (void)state;
    static const char *const unrolled[] = {
        "cvta.to.global.u64 %rd1, %rd0;\nadd.s64 %rd%d, %rd1, %rd90;\n",
        "mad.wide.u32 %rd%d, %r1, 4, %rd0;\n",
        "mul.wide.u32 %rd80, %r1, 4;\nmov.b64 %rd2, %rd0;\nadd.s64 %rd%d, %rd80, %rd2;\n",
        "ld.param.v2.u64 {%rd1, %rd3}, [x];\nselp.b64 %rd%d, %rd1, 0, %p;\n",
        "mov.u64 %rd1, own;\nadd.s64 %rd%d, %rd1, %rd90;\n",
    };
    for (size_t i = 0; i < sizeof(unrolled) / sizeof(unrolled[0]); i++) {
        char text[4000];
        struct ptx_reason reason;
        int at = snprintf(text, sizeof(text),
                          HEAD ".entry a(.param .u64 x)\n{\nagain:\n"
                               "ld.param.u64 %%rd0, [x];\n");
        const char *number = strstr(unrolled[i], "%d");
        for (int k = 10; k < 30; k++)
            at += snprintf(text + at, sizeof(text) - (size_t)at,
                           "%.*s%d%s ld.global.f32 %%f0, [%%rd%d];\n", (int)(number - unrolled[i]),
                           unrolled[i], k, number + 2, k);
        snprintf(text + at, sizeof(text) - (size_t)at, "@%%p bra again;\nret;\n}\n");
        char *changed = audit(text, &reason);
        assert_non_null(changed);
        if (count(changed, "\t.reg .b64 %braid_low<1>") != 1)
            fail_msg("%s", changed);
        assert_int_equal(count(changed, "%braid_span0;\n\t@!%braid_q bra braid_checked;"), 20);
        braid_free(changed);
    }
}

static void text_may_be_cut_off(void **state)
{
    (void)state;
    check_cut_off(whole, audit);
    check_cut_off(HEAD ".entry a()\n{\n@%p cp.async.cg.shared.global [%r1], [%rd1], 16, %r2;\n}",
                  audit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accesses_are_found),
        cmocka_unit_test(copies_are_accesses),
        cmocka_unit_test(accesses_without_an_address_are_told),
        cmocka_unit_test(copies_that_may_ignore_their_source_are_told),
        cmocka_unit_test(names_may_have_any_length),
        cmocka_unit_test(every_entry_takes_a_table),
        cmocka_unit_test(addresses_of_one_origin_share_a_cache),
        cmocka_unit_test(text_may_be_cut_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
