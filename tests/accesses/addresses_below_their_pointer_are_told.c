// SPDX-License-Identifier: Apache-2.0
// Where code may go down from a pointer, the pointer may be the end of an array. Each form that
// compilers write is told, and usual indices are not.
#include <stdio.h>
#include <string.h>

#include "accesses/kernel_accesses.h"
#include "support/check.h"

#define HEAD                                                                                       \
    ".version 8.0\n.target sm_90\n.address_size 64\n.shared .align 8 .b8 tile[64];\n"              \
    ".func (.param .b32 r) turned(.param .b32 i)\n{\n.reg .b32 %x<2>;\nld.param.b32 %x0, [i];\n"   \
    "neg.s32 %x1, %x0;\nst.param.b32 [r], %x1;\nret;\n}\n"                                         \
    ".func shows(.param .b64 at, .param .b32 i)\n{\n.reg .b32 %x;\n.reg .b64 %y<3>;\n"             \
    "ld.param.b64 %y0, [at];\nld.param.b32 %x, [i];\nmul.wide.s32 %y1, %x, 4;\n"                   \
    "add.s64 %y2, %y0, %y1;\nst.u32 [%y2], 1;\nret;\n}\n"                                          \
    ".visible .entry k(.param .u64 a, .param .u32 n)\n{\n.reg .pred %p<4>;\n.reg .b16 %h<2>;\n"    \
    ".reg .b32 %r<12>;\n"                                                                          \
    ".reg .b64 %d<12>;\n.local .align 8 .b8 depot[16];\n"                                          \
    "ld.param.u64 %d0, [a];\nld.param.u32 %r0, [n];\nmov.u32 %r1, %tid.x;\n"
#define USE(register) "st.global.u32 [" register "], 1;\n"
// An element of the array that begins at %d0, by an index.
#define AT(index) "mul.wide.s32 %d1, " index ", 4;\nadd.s64 %d2, %d0, %d1;\n" USE("%d2")

enum below { NEVER, SOMETIMES, ALWAYS };

struct example {
    enum below below;
    const char *body;
};

static const struct kernel_access *find_access(const struct kernel_accesses *accesses)
{
    const struct kernel_access *items = accesses->items.items;
    for (size_t i = 0; i < accesses->items.num; i++) {
        if (items[i].parameter == 0 && items[i].offset == 0)
            return &items[i];
    }
    fail_msg("the code touches nothing by its pointer");
    return NULL;
}

static void check_example(const struct example *example)
{
    struct kernel_code code;
    struct ptx_reason reason;
    struct kernel_accesses accesses;
    char text[4096];
    snprintf(text, sizeof(text), "%s%sret;\n}\n", HEAD, example->body);
    if (!braid_code_read(text, &code, &reason))
        fail_msg("%s", reason.text);
    assert_true(braid_kernel_accesses_find(&code, braid_code_find_entry(&code, "k"), &accesses));
    if (accesses.why)
        fail_msg("%s:\n%s", accesses.why, example->body);
    const struct kernel_access *access = find_access(&accesses);
    const enum below found = !access->below ? NEVER : access->is_above ? SOMETIMES : ALWAYS;
    if (found != example->below)
        fail_msg("%d instead of %d:\n%s", found, example->below, example->body);
    braid_kernel_accesses_finish(&accesses);
    braid_code_finish(&code);
}

#define CHECK(examples)                                                                            \
    for (size_t i = 0; i < sizeof(examples) / sizeof((examples)[0]); i++)                          \
    check_example(&(examples)[i])

static void usual_indices_stay_above(void **state)
{
    (void)state;
    static const struct example examples[] = {
        { NEVER, USE("%d0") },
        { NEVER, USE("%d0+8") },
        { NEVER, AT("%r1") },
        { NEVER, "mad.lo.s32 %r2, %r0, %r1, %r1;\n" AT("%r2") },
        { NEVER, "add.s64 %d2, %d0, 16;\n" USE("%d2+4") },
        { NEVER, "ld.global.u32 %r2, [%d0];\n" AT("%r2") },
        { NEVER, "mul.hi.s32 %r2, %r1, -1840700269;\nadd.s32 %r3, %r2, %r1;\n" AT("%r3") },
        // The remainder of a division, by a number and by a parameter
        { NEVER, "mul.hi.s32 %r2, %r1, -1840700269;\nadd.s32 %r3, %r2, %r1;\n"
                 "shr.u32 %r4, %r3, 31;\nshr.s32 %r5, %r3, 2;\nadd.s32 %r6, %r5, %r4;\n"
                 "mul.lo.s32 %r7, %r6, 7;\nsub.s32 %r8, %r1, %r7;\n" AT("%r8") },
        { NEVER, "shr.u32 %r2, %r1, 3;\nmad.lo.s32 %r3, %r2, -8, %r1;\n" AT("%r3") },
        { NEVER, "and.b32 %r2, %r1, -8;\nsub.s32 %r3, %r1, %r2;\n" AT("%r3") },
        { NEVER,
          "div.s32 %r2, %r1, %r0;\nmul.lo.s32 %r3, %r2, %r0;\nsub.s32 %r4, %r1, %r3;\n" AT("%r4") },
        { NEVER, "setp.eq.u32 %p0, %r0, 0;\n@%p0 bra one;\ndiv.s32 %r2, %r1, %r0;\nbra both;\n"
                 "one:\nshr.s32 %r2, %r1, 1;\nboth:\nmul.lo.s32 %r3, %r2, %r0;\n"
                 "sub.s32 %r4, %r1, %r3;\n" AT("%r4") },
        { NEVER, "rem.s32 %r2, %r1, %r0;\n" AT("%r2") },
        // An index below zero that counts from the end, as in Warp
        { NEVER, "add.s32 %r2, %r1, -1;\nshr.s32 %r3, %r2, 31;\nand.b32 %r4, %r3, %r0;\n"
                 "add.s32 %r5, %r4, %r2;\n" AT("%r5") },
        { NEVER, "add.s32 %r2, %r1, -1;\nmax.s32 %r3, %r2, 0;\n" AT("%r3") },
        { NEVER,
          "add.s32 %r2, %r1, -1;\nmul.wide.u32 %d1, %r2, 4;\nadd.s64 %d2, %d0, %d1;\n" USE("%d2") },
        { NEVER,
          "add.s32 %r2, %r1, -1;\ncvt.u64.u32 %d1, %r2;\nadd.s64 %d2, %d0, %d1;\n" USE("%d2") },
        { NEVER, "add.s32 %r2, %r1, -1;\nand.b32 %r3, %r2, 255;\n" AT("%r3") },
        { NEVER, "sub.s32 %r2, 31, %r1;\nshr.u32 %r3, %r2, 1;\n" AT("%r3") },
        { NEVER, "shfl.sync.down.b32 %r2|%p0, %r1, 1, 31, -1;\n" AT("%r2") },
        { NEVER, "shl.b32 %r2, %r1, 31;\nshr.u32 %r3, %r2, 31;\n" AT("%r3") },
        { NEVER, "div.s32 %r2, %r1, 4;\n" AT("%r2") },
        { NEVER, "max.u32 %r2, %r1, 4;\n" AT("%r2") },
        { NEVER, "add.s16 %h1, %h0, 32767;\ncvt.s32.s16 %r2, %h1;\n" AT("%r2") },
        { NEVER, "bfe.u32 %r2, %r1, 0, 1;\n" AT("%r2") },
        { NEVER, "not.b32 %r2, %r1;\npopc.b32 %r3, %r2;\n" AT("%r3") },
        { NEVER,
          "neg.s32 %r2, %r1;\nst.shared.u32 [tile], %r1;\nld.shared.u32 %r3, [tile];\n" AT("%r3") },
    };
    CHECK(examples);
}

static void each_way_down_is_told(void **state)
{
    (void)state;
    static const struct example examples[] = {
        { ALWAYS, USE("%d0+-4") }, // end[-1]
        { ALWAYS, "add.s64 %d2, %d0, -4;\n" USE("%d2") },
        { ALWAYS, "sub.s64 %d2, %d0, 4;\n" USE("%d2") },
        { ALWAYS, "next:\nadd.s64 %d0, %d0, -4;\n" USE("%d0+-4") "bra next;\n" }, // *--at
        { SOMETIMES, "next:\nadd.s64 %d0, %d0, -4;\n" USE("%d0") "bra next;\n" },
        { SOMETIMES, USE("%d0") USE("%d0+-4") },
        { ALWAYS, "not.b32 %r2, %r1;\n" AT("%r2") }, // end[-1 - i]
        { ALWAYS, "xor.b32 %r2, %r1, -1;\n" AT("%r2") },
        { ALWAYS, "sub.s32 %r2, -1, %r1;\n" AT("%r2") },
        { ALWAYS, "neg.s32 %r2, %r1;\nadd.s32 %r3, %r2, 8;\n" AT("%r3") },
        { ALWAYS, "sub.s32 %r2, %r1, %r0;\n" AT("%r2") }, // end[i - n]
        { ALWAYS, "shr.u32 %r2, %r1, 3;\n@%p0 mov.u32 %r2, %r1;\nshl.b32 %r3, %r2, 3;\n"
                  "sub.s32 %r4, %r1, %r3;\n" AT("%r4") },
        { ALWAYS, "sub.s32 %r2, %r1, 8;\n" AT("%r2") },
        { ALWAYS, "add.s32 %r2, %r1, -8;\n" AT("%r2") },
        { ALWAYS, "add.s32 %r2, %r1, 4294967288;\n" AT("%r2") },
        { ALWAYS, "mov.u32 %r3, -8;\nadd.s32 %r2, %r1, %r3;\n" AT("%r2") },
        { ALWAYS, "mul.lo.s32 %r2, %r1, -2;\n" AT("%r2") },
        { ALWAYS, "mul.wide.s32 %d1, %r1, -4;\nadd.s64 %d2, %d0, %d1;\n" USE("%d2") },
        { ALWAYS, "mul.wide.s32 %d1, %r1, -4;\nadd.s64 %d2, %d1, %d0;\n" USE("%d2") },
        { ALWAYS, "mul.wide.u32 %d1, %r1, 4;\nsub.s64 %d2, %d0, %d1;\n" USE("%d2") },
        { ALWAYS, "mad.wide.s32 %d2, %r1, -4, %d0;\n" USE("%d2") },
        { ALWAYS, "neg.s32 %r2, %r1;\nmad.wide.s32 %d2, %r2, 4, %d0;\n" USE("%d2") },
        { ALWAYS, "neg.s32 %r2, %r1;\nshl.b32 %r3, %r2, 2;\ncvt.s64.s32 %d1, %r3;\n"
                  "add.s64 %d2, %d0, %d1;\n" USE("%d2") },
        { ALWAYS, "neg.s32 %r2, %r1;\nselp.b32 %r3, %r2, %r1, %p0;\n" AT("%r3") },
        { ALWAYS, "neg.s32 %r2, %r1;\nmin.s32 %r3, %r2, 0;\n" AT("%r3") },
        { ALWAYS, "set.lt.s32.u32 %r2, %r1, %r0;\n" AT("%r2") },
        { ALWAYS, "selp.b32 %r2, -1, 0, %p0;\n" AT("%r2") },
        { ALWAYS, "add.s32 %r2, %r1, -1;\nmax.u32 %r3, %r2, 4;\n" AT("%r3") },
        { ALWAYS, "div.s32 %r2, %r1, -4;\n" AT("%r2") },
        { ALWAYS, "shl.b32 %r2, %r1, 31;\nshr.s32 %r3, %r2, 31;\n" AT("%r3") },
        { ALWAYS, "bfe.s32 %r2, %r1, 0, 1;\n" AT("%r2") },
        { ALWAYS, "add.s32 %r2, %r1, -1;\ncvt.u64.u32 %d1, %r2;\nshl.b64 %d2, %d1, 32;\n"
                  "shr.s64 %d3, %d2, 30;\nadd.s64 %d4, %d0, %d3;\n" USE("%d4") },
        { ALWAYS, "add.s16 %h1, %h0, 65535;\ncvt.s32.s16 %r2, %h1;\n" AT("%r2") },
        { ALWAYS, "mad.lo.cc.s32 %r2, %r1, -4, 0;\n" AT("%r2") },
        { ALWAYS, "sub.cc.u32 %r2, %r1, %r0;\n" AT("%r2") },
        { ALWAYS, "sub.sat.s32 %r2, %r1, %r0;\n" AT("%r2") },
        { ALWAYS, "vsub.s32.s32.s32 %r2, %r1, %r0;\n" AT("%r2") },
        { ALWAYS, "mul24.lo.s32 %r2, %r1, -4;\n" AT("%r2") },
        { ALWAYS, "lop3.b32 %r2, %r1, %r1, %r1, 15;\n" AT("%r2") },
        { ALWAYS, "shf.l.wrap.b32 %r2, -1, %r1, 5;\n" AT("%r2") },
        { ALWAYS, "dp4a.s32.s32 %r2, %r1, -1, 0;\n" AT("%r2") },
        { ALWAYS, "bfi.b32 %r2, -1, %r1, 8, 24;\n" AT("%r2") },
        { ALWAYS, "bmsk.clamp.b32 %r2, 0, 32;\n" AT("%r2") },
        { ALWAYS, "slct.s32.s32 %r2, -1, 1, %r1;\n" AT("%r2") },
        { ALWAYS, "mov.b64 {%r2, %r3}, %d5;\nneg.s32 %r2, %r1;\nmov.b64 %d1, {%r2, -1};\nadd.s64 "
                  "%d2, %d0, %d1;\n" USE("%d2") },
        { ALWAYS, "atom.shared.add.u32 %r2, [tile], -1;\nst.shared.u32 [tile], -3;\n" AT("%r2") },
        { ALWAYS, "st.shared.u32 [tile], -3;\nld.shared.u32 %r2, [tile];\n" AT("%r2") },
        { ALWAYS, "red.shared.add.s32 [tile], -3;\nld.shared.u32 %r2, [tile];\n" AT("%r2") },
        { ALWAYS, "neg.s32 %r2, %r1;\nst.shared.u32 [tile], %r2;\nmov.u32 %r4, "
                  "tile;\nld.shared.v2.u32 {%r5, %r3}, [%r4];\n" AT("%r3") },
        { ALWAYS, "neg.s32 %r2, %r1;\nredux.sync.add.s32 %r3, %r2, -1;\n" AT("%r3") },
        // By memory of the thread and the block, and by functions
        { ALWAYS,
          "neg.s32 %r2, %r1;\nst.local.u32 [depot], %r2;\nld.local.u32 %r3, [depot];\n" AT("%r3") },
        { ALWAYS,
          "neg.s32 %r2, %r1;\nst.shared.u32 [tile], %r2;\nld.shared.u32 %r3, [tile];\n" AT("%r3") },
        { ALWAYS, "{\n.param .b32 g;\n.param .b32 t;\nst.param.b32 [g], %r1;\n"
                  "call (t), turned, (g);\nld.param.b32 %r2, [t];\n}\n" AT("%r2") },
        { ALWAYS, "neg.s32 %r2, %r1;\n{\n.param .b64 g;\n.param .b32 h;\nst.param.b64 [g], %d0;\n"
                  "st.param.b32 [h], %r2;\ncall shows, (g, h);\n}\n" },
        // A pointer that is rounded, or taken apart
        { ALWAYS, "and.b64 %d2, %d0, -16;\n" USE("%d2") },
        { ALWAYS, "mov.b64 {%r2, %r3}, %d0;\nmov.b64 %d2, {%r2, %r3};\n" USE("%d2") },
    };
    CHECK(examples);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(usual_indices_stay_above),
        cmocka_unit_test(each_way_down_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
