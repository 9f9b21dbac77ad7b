// SPDX-License-Identifier: Apache-2.0
// A pointer that is loaded may go to the left and to the right, and is one again where both add up
// to none.
#include "accesses/examples.h"
#include "support/check.h"

static void shifts_add_up(void **state)
{
    (void)state;
    static const struct example examples[] = {
        { LOAD_HALVES "shl.b64 %u1, %u0, 8;\nshl.b64 %u2, %u1, 8;\nshl.b64 %u3, %u2, 8;\n"
                      "shl.b64 %up, %u3, 8;\n" USE_BOTH,
          LOADED },
        { LOAD_HALVES "mul.wide.u32 %u1, %r1, 32768;\nmul.lo.s64 %u2, %u1, 32768;\n"
                      "mad.lo.s64 %up, %u2, -4, %low;\n" USE_BOTH,
          LOADED },
        { LOAD_HALVES "mov.u64 %up, %u0;\nL:\nshl.b64 %up, %up, 1;\n@%p1 bra L;\n" USE_BOTH,
          LOADED },
        { LOAD_HALVES
          "shl.b32 %r2, %r1, 16;\ncvt.u64.u32 %u1, %r2;\nshl.b64 %up, %u1, 16;\n" USE_BOTH,
          LOADED },
        { LOAD_HALVES "mul.lo.s64 %up, %u0, 4294967297;\n" USE_BOTH, LOADED },
        { LOAD_HALVES "shl.b64 %u1, %u0, 48;\nshr.u64 %up, %u1, 16;\n" USE_BOTH, LOADED },
        { LOAD_A "ld.global.v4.u16 {%h0, %h1, %h2, %h3}, [%d0];\nmov.b32 %r0, {%h0, %h2};\n"
                 "cvt.u64.u32 %low, %h1;\ncvt.u64.u32 %u1, %r0;\nshl.b64 %up, %u1, 16;\n" USE_BOTH,
          LOADED },
        { LOAD_A "ld.global.u8 %h0, [%d0];\ncvt.u32.u16 %r0, %h0;\nbfi.b32 %r1, %r0, 0, 24, 8;\n"
                 "cvt.u64.u32 %u1, %r1;\nshl.b64 %up, %u1, 8;\ncvt.u64.u32 %low, %r0;\n" USE_BOTH,
          LOADED },
        { LOAD_WORD "shl.b64 %w1, %w0, 16;\nshr.u64 %w2, %w1, 16;\n" USE_BESIDE("w2"), LOADED },
        { LOAD_WORD "shl.b64 %w1, %w0, 8;\nshl.b64 %w2, %w1, 8;\nshr.s64 %w3, %w2, 4;\n"
                    "shr.s64 %w4, %w3, 12;\n" USE_BESIDE("w4"),
          LOADED },
        { LOAD_WORD
          "shr.u64 %w1, %w0, 24;\nshl.b64 %w2, %w1, 8;\nshl.b64 %w3, %w2, 16;\n" USE_BESIDE("w3"),
          LOADED },
        { LOAD_WORD
          "shr.u64 %w1, %w0, 4;\nshl.b64 %w2, %w1, 20;\nshr.u64 %w3, %w2, 16;\n" USE_BESIDE("w3"),
          LOADED },
        { LOAD_WORD "mul.lo.s64 %w1, %w0, 65536;\nshr.u64 %w2, %w1, 16;\n" USE_BESIDE("w2"),
          LOADED },
        { LOAD_WORD
          "shr.s64 %w1, %w0, 5;\nshr.s64 %w2, %w1, 3;\nshl.b64 %w3, %w2, 8;\n" USE_BESIDE("w3"),
          LOADED },
        { LOAD_WORD "mov.u64 %w1, %w0;\nL:\nshr.u64 %w1, %w1, 1;\n@%p1 bra L;\n"
                    "shl.b64 %w2, %w1, 31;\n" USE_BESIDE("w2"),
          LOADED },
        { LOAD_WORD "shr.u64 %w1, %w0, %r0;\n" USE_BESIDE("w1"), LOADED },
        { LOAD_WORD
          "shl.b64 %w1, %w0, 3;\nshr.u64 %w2, %w1, 8;\nshl.b64 %w3, %w2, 5;\n" USE_BESIDE("w3"),
          LOADED },
        { LOAD_WORD "shr.u64 %w1, %w0, 0;\n" USE_BESIDE("w1"), LOADED },
        { LOAD_WORD "shl.b64 %w1, %w0, %r0;\n" USE_BESIDE("w1"), LOADED },
        { LOAD_WORD "shr.u64 %w1, %w0, 6;\nshl.b64 %w2, %w1, %r0;\n" USE_BESIDE("w2"), LOADED },
        { LOAD_WORD
          "shr.u64 %w1, %w0, 6;\n@%p1 shr.u64 %w1, %w0, 3;\nshl.b64 %w2, %w1, 3;\n" USE_BESIDE(
              "w2"),
          LOADED },
        { LOAD_WORD "shr.u64 %w1, %w0, %r0;\nshl.b64 %w2, %w1, 31;\n" USE_BESIDE("w2"), LOADED },
        { LOAD_WORD
          "shr.u64 %w1, %w0, 5;\nshl.b64 %w2, %w1, 8;\nshr.u64 %w3, %w2, 3;\n" USE_BESIDE("w3"),
          LOADED },
        { LOAD_WORD
          "shr.u64 %w1, %w0, 8;\nshl.b64 %w2, %w1, 5;\nshl.b64 %w3, %w2, 3;\n" USE_BESIDE("w3"),
          LOADED },
        { LOAD_WORD "bfe.u64 %w1, %w0, 12, 52;\nshl.b64 %w2, %w1, 12;\n" USE_BESIDE("w2"), LOADED },
        { LOAD_WORD "bfe.u64 %w1, %w0, 32, 16;\nshl.b64 %up, %w1, 32;\ncvt.u32.u64 %r1, %w0;\n"
                    "cvt.u64.u32 %low, %r1;\n" USE_BOTH,
          LOADED },
        { LOAD_WORD "shl.b64 %w1, %w0, 16;\nbfe.u64 %w2, %w1, 16, 48;\n" USE_BESIDE("w2"), LOADED },
        { LOAD_WORD "bfe.u64 %w1, %w0, %r0, 48;\n" USE_BESIDE("w1"), LOADED },
        { LOAD_WORD
          "shr.u64 %w1, %w0, 16;\ncvt.u32.u64 %r1, %w1;\ncvt.u64.u32 %u0, %r1;\n"
          "shl.b64 %up, %u0, 16;\ncvt.u16.u64 %h1, %w0;\ncvt.u64.u16 %low, %h1;\n" USE_BOTH,
          LOADED },
        { LOAD_WORD "shr.u64 %w1, %w0, 24;\nmov.b64 {%r1, %r2}, %w1;\ncvt.u32.u64 %r3, %w0;\n"
                    "and.b32 %r4, %r3, 16777215;\ncvt.u64.u32 %low, %r4;\n"
                    "mul.wide.u32 %up, %r1, 16777216;\n" USE_BOTH,
          LOADED },
        { LOAD_WORD "div.u64 %w1, %w0, 8;\nmul.lo.s64 %w2, %w1, 8;\n" USE_BESIDE("w2"), LOADED },
        { LOAD_WORD
          "shl.b64 %w1, %w0, 3;\ndiv.s64 %w2, %w1, -8;\nneg.s64 %w3, %w2;\n" USE_BESIDE("w3"),
          LOADED },
        { LOAD_WORD "div.u64 %w1, %w0, 1;\n" USE_BESIDE("w1"), LOADED },
        { LOAD_HALVES "shf.r.wrap.b32 %r2, %r0, %r1, 16;\ncvt.u64.u32 %u1, %r2;\n"
                      "shl.b64 %up, %u1, 16;\n" USE_BOTH,
          LOADED },
        { LOAD_HALVES "shf.l.wrap.b32 %r2, %r0, %r1, 16;\ncvt.u64.u32 %u1, %r2;\n"
                      "shl.b64 %up, %u1, 16;\n" USE_BOTH,
          LOADED },
        { LOAD_HALVES "shf.r.clamp.b32 %r2, %r0, %r1, %r3;\ncvt.u64.u32 %u1, %r2;\n"
                      "shl.b64 %up, %u1, 1;\n" USE_BOTH,
          LOADED },
        { LOAD_HALVES "prmt.b32 %r2, %r0, %r1, 0x5432;\ncvt.u64.u32 %u1, %r2;\n"
                      "shl.b64 %up, %u1, 16;\n" USE_BOTH,
          LOADED },
        { LOAD_HALVES "prmt.b32 %r2, %r1, 0, 0x1044;\ncvt.u64.u32 %u1, %r2;\n"
                      "shl.b64 %up, %u1, 16;\n" USE_BOTH,
          LOADED },
        { LOAD_HALVES "prmt.b32.b4e %r2, %r0, %r1, %r3;\ncvt.u64.u32 %u1, %r2;\n"
                      "shl.b64 %up, %u1, 8;\n" USE_BOTH,
          LOADED },
        { LOAD_WORD
          "ld.global.u64 %w1, [%d0+8];\nshr.u64 %low, %w0, 32;\nshl.b64 %up, %w1, 32;\n" USE_BOTH,
          LOADED },
        { LOAD_WORD "ld.global.u64 %w1, [%d0+8];\nshr.u64 %low, %w0, 32;\n"
                    "bfi.b64 %x, %w1, %low, 32, 32;\n" USE_BESIDE("x"),
          LOADED },
        { LOAD_WORD "shr.u64 %low, %w0, 32;\natom.global.add.u64 %w1, [%d0+8], 0;\n"
                    "mul.lo.s64 %up, %w1, 4294967296;\n" USE_BOTH,
          LOADED },
        { LOAD_WORD "shr.u64 %w1, %w0, 21;\nshr.u64 %w2, %w1, 19;\n"
                    "mul.lo.s64 %w3, %w2, 1099511627776;\n" USE_BESIDE("w3"),
          LOADED },
        { "ld.param.u32 %r0, [s+8];\nld.param.u32 %r1, [s+12];\ncvt.u64.u32 %low, %r0;\n"
          "cvt.u64.u32 %u0, %r1;\nshl.b64 %u1, %u0, 15;\nshl.b64 %u2, %u1, 15;\n"
          "mul.lo.s64 %up, %u2, 4;\n" LOAD_A USE_BOTH,
          "0+0w 2+8w" },
        { LOAD_A "ld.param.u8 %h1, [s+8];\ncvt.u64.u16 %d1, %h1;\nshl.b64 %d2, %d1, 8;\n"
                 "shl.b64 %up, %d2, 8;\nmov.u64 %low, 0;\n" USE_BOTH,
          ASSEMBLED },
    };
    CHECK(examples);
}

// An index that is loaded may be scaled and hashed.
static void shifts_of_indexes_are_no_addresses(void **state)
{
    (void)state;
    static const struct example examples[] = {
        { LOAD_HALVES
          "shl.b64 %u1, %u0, 15;\nshl.b64 %u2, %u1, 8;\nadd.s64 %x, %u2, %d0;\n" USE("x"),
          "0+0rw" },
        { LOAD_HALVES
          "mul.lo.s32 %r2, %r1, -2048144789;\nxor.b32 %r3, %r2, %r0;\n"
          "mul.lo.s32 %r4, %r3, -1028477379;\nmad.wide.u32 %x, %r4, 12, %d0;\n" USE("x"),
          "0+0rw" },
        { LOAD_WORD
          "shl.b64 %w1, %w0, 32;\nshr.s64 %w2, %w1, 30;\nadd.s64 %x, %w2, %d0;\n" USE("x"),
          "0+0rw" },
        { LOAD_WORD "shr.s64 %w1, %w0, 5;\nshl.b64 %w2, %w1, 8;\nadd.s64 %x, %w2, %d0;\n" USE("x"),
          "0+0rw" },
        { LOAD_WORD
          "shr.s64 %w1, %w0, 4;\nshr.s64 %w2, %w1, 2;\nmad.lo.s64 %x, %w2, 1536, %d0;\n" USE("x"),
          "0+0rw" },
        { LOAD_WORD "mad.lo.s64 %w1, %w0, 24, %d0;\nshl.b64 %w2, %w0, 3;\n"
                    "add.s64 %x, %w1, %w2;\n" USE("x"),
          "0+0rw" },
        { LOAD_WORD
          "cvt.u32.u64 %r0, %w0;\nshl.b32 %r1, %r0, 4;\nmad.wide.u32 %x, %r1, 256, %d0;\n" USE("x"),
          "0+0rw" },
        { LOAD_WORD "bfe.u64 %w1, %w0, 5, 20;\nmad.lo.s64 %x, %w1, 256, %d0;\n" USE("x"), "0+0rw" },
        { LOAD_WORD
          "shr.u64 %w1, %w0, 5;\ncvt.u32.u64 %r1, %w1;\nmad.wide.u32 %x, %r1, 256, %d0;\n" USE("x"),
          "0+0rw" },
        { LOAD_WORD "div.s64 %w1, %w0, 24;\nmad.lo.s64 %x, %w1, 24, %d0;\n" USE("x"), "0+0rw" },
        { LOAD_WORD "div.s64 %w1, %w0, 8;\nmad.lo.s64 %x, %w1, 24, %d0;\n" USE("x"), LOADED },
        { LOAD_WORD "div.s64 %w1, %w0, 4;\nmad.lo.s64 %x, %w1, 24, %d0;\n" USE("x"), "0+0rw" },
        { LOAD_HALVES
          "shf.l.wrap.b32 %r2, %r0, %r0, 13;\nmad.wide.u32 %x, %r2, 256, %d0;\n" USE("x"),
          "0+0rw" },
        { LOAD_HALVES
          "shf.r.wrap.b32 %r2, %r0, %r1, 24;\nmad.wide.u32 %x, %r2, 256, %d0;\n" USE("x"),
          "0+0rw" },
        { LOAD_HALVES
          "prmt.b32 %r2, %r0, %r1, 0x7732;\nmad.wide.u32 %x, %r2, 4096, %d0;\n" USE("x"),
          "0+0rw" },
        { LOAD_HALVES "prmt.b32 %r2, %r0, 0, 0x4442;\nmad.wide.u32 %x, %r2, 4096, %d0;\n" USE("x"),
          "0+0rw" },
        { LOAD_WORD "mul.lo.s64 %w1, %w0, -49064778989728563;\nand.b64 %w2, %w1, 1020;\n"
                    "add.s64 %x, %w2, %d0;\n" USE("x"),
          "0+0rw" },
        { LOAD_A "ld.param.u32 %r0, [s+8];\nld.param.u32 %r1, [s+12];\nmul.lo.s32 %r2, %r0, %r1;\n"
                 "mul.wide.u32 %d1, %r1, 256;\nmad.wide.u32 %d2, %r2, 4, %d1;\n"
                 "add.s64 %x, %d2, %d0;\n" USE("x"),
          "0+0w" },
    };
    CHECK(examples);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shifts_add_up),
        cmocka_unit_test(shifts_of_indexes_are_no_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
