// SPDX-License-Identifier: Apache-2.0
// Each way of an address from a parameter to an instruction that touches memory, and each reason
// why nobody can know where it goes.

#include "accesses/examples.h"
#include "support/check.h"

static void each_instruction_has_its_acts(void **state)
{
    (void)state;
    static const struct example examples[] = {
        { "", "" },
        { LOAD_A "ld.global.u32 %r0, [%d0+4];", "0+0r" },
        { LOAD_A "ld.u32 %r0, [%d0];", "0+0r" },
        { LOAD_A "ld.global.nc.v4.f32 {%r0, %r1, %r2, %r3}, [%d0];", "0+0r" },
        { LOAD_A "st.global.u32 [%d0+-4], %r0;", "0+0w" },
        { LOAD_A "@!%p0 st.global.u32 [%d0], %r0;", "0+0w" },
        { LOAD_A "atom.global.add.u32 %r0, [%d0], 1;", "0+0rwa" },
        { LOAD_A "red.global.add.f32 [%d0], %r1;", "0+0rwa" },
        { LOAD_A "cp.async.ca.shared.global [%r0], [%d0], 16;", "0+0r" },
        { LOAD_A "cp.async.bulk.global.shared::cta.bulk_group [%d0], [%r0], 16;", "0+0w" },
        { LOAD_A "prefetch.global.L2 [%d0];", "" },
        { LOAD_A "discard.global.L2 [%d0], 128;", "0+0w" },
        { LOAD_A "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r0, %r1}, [%d0], %r2;",
          "0+0r" },
        { LOAD_A "st.shared.u32 [%r0], 1;", "" },
        { LOAD_A LOAD_B "ld.global.u32 %r0, [%d0];\nst.global.u32 [%d1], %r0;", "0+0r 1+0w" },
        { "st.global.u32 [counter], 1;", "variables w" },
        { "mov.u64 %d0, counter;\nld.u32 %r0, [%d0+4];", "variables r" },
        { "ld.const.u64 %d0, [place];", "" },
        { LOAD_A "bar.sync 0;\nfence.acq_rel.gpu;\ngriddepcontrol.wait;", "" },
    };
    CHECK(examples);
}

static void addresses_go_through_arithmetic(void **state)
{
    (void)state;
    static const struct example examples[] = {
        { LOAD_A "cvta.to.global.u64 %d2, %d0;\n" USE("d2"), "0+0w" },
        { LOAD_A "add.s64 %d2, %d1, %d0;\n" USE("d2"), "0+0w" },
        { LOAD_A "mad.wide.u32 %d2, %r0, 4, %d0;\n" USE("d2"), "0+0w" },
        { LOAD_A "fma.rn.f64 %d2, %d1, %d1, %d0;\n" USE("d2"), "0+0w" },
        { LOAD_A LOAD_B "selp.b64 %d2, %d0, %d1, %p0;\n" USE("d2"), "0+0w 1+0w" },
        { LOAD_A LOAD_B "mov.u64 %d2, %d0;\n@%p0 mov.u64 %d2, %d1;\n" USE("d2"), "0+0w 1+0w" },
        { LOAD_A LOAD_B "max.u64 %d2, %d0, %d1;\n" USE("d2"), "0+0w 1+0w" },
        { LOAD_A "L:\n" USE("d3") "mov.u64 %d3, %d2;\nmov.u64 %d2, %d0;\n@%p0 bra L;", "0+0w" },
        { LOAD_A "setp.gt.u64 %p1, %d0, 4;\nselp.b64 %d2, 1, 2, %p1;\n" USE("d2"), UNKNOWN },
        { LOAD_A "mov.b64 {%r0, %r1}, %d0;\nmov.b64 %d2, {%r0, %r1};\n" USE("d2"), "0+0w" },
        { LOAD_A "cvt.u32.u64 %r0, %d0;\nshr.u64 %d1, %d0, 32;\ncvt.u32.u64 %r1, %d1;\n"
                 "cvt.u64.u32 %d2, %r1;\nshl.b64 %d2, %d2, 32;\ncvt.u64.u32 %d3, %r0;\n"
                 "or.b64 %d4, %d2, %d3;\n" USE("d4"),
          "0+0w" },
        { LOAD_A "shr.u64 %d1, %d0, 32;\nmul.lo.s64 %d2, %d1, 4294967296;\n"
                 "cvt.u32.u64 %r0, %d0;\ncvt.u64.u32 %d3, %r0;\nadd.s64 %d4, %d2, %d3;\n" USE("d4"),
          "0+0w" },
        { "ld.param.u32 %r0, [s+8];\nld.param.u32 %r1, [s+12];\ncvt.u64.u32 %d0, %r1;\n"
          "shl.b64 %d1, %d0, 32;\nmov.b64 {%r2, %r3}, %d1;\nmov.b64 %d2, {%r0, %r3};\n" USE("d2"),
          "2+8w" },
        { "ld.param.u32 %r0, [s+10];\nld.param.u32 %r1, [s+14];\nmov.b64 %d0, {%r0, %r1};\n" USE(
              "d0"),
          "2+10w" },
        { "ld.param.u32 %r0, [s+8];\nld.param.u32 %r1, [s+12];\ncvt.u64.u32 %d0, %r0;\n"
          "cvt.u64.u32 %d1, %r1;\nbfi.b64 %d2, %d1, %d0, 32, 32;\nld.param.u64 %d3, [a];\n"
          "selp.b64 %d4, %d2, %d3, %p0;\n" USE("d4"),
          "0+0w 2+8w" },
        { "ld.param.u32 %r0, [s+8];\nld.param.u32 %r1, [s+12];\ncvt.u64.u32 %d0, %r0;\n"
          "cvt.u64.u32 %d1, %r1;\nshl.b64 %d1, %d1, 16;\nshl.b64 %d1, %d1, 16;\n"
          "or.b64 %d2, %d0, %d1;\n" USE("d2"),
          "2+8w" },
        { "ld.param.u32 %r0, [s+8];\nld.param.u32 %r1, [s+12];\ncvt.u64.u32 %d0, %r0;\n"
          "mul.wide.u32 %d1, %r1, 65536;\nmad.lo.s64 %d2, %d1, -65536, %d0;\n" USE("d2"),
          "2+8w" },
        { LOAD_A "ld.global.u32 %r0, [%d0];\nmul.wide.u32 %d1, %r0, 65536;\nshl.b64 %d2, %d1, 2;\n"
                 "add.s64 %d3, %d2, %d0;\n" USE("d3"),
          "0+0rw" },
        { "ld.param.u32 %r0, [s+8];\nld.param.u32 %r1, [s+12];\ncvt.u64.u32 %d0, %r0;\n"
          "cvt.u64.u32 %d1, %r1;\nmul.lo.s64 %d1, %d1, -4294967296;\nsub.s64 %d2, %d0, %d1;\n" USE(
              "d2"),
          "2+8w" },
        { "ld.param.u32 %r0, [s+8];\nld.param.u32 %r1, [s+12];\ncvt.u64.u32 %d0, %r0;\n"
          "cvt.u64.u32 %d1, %r1;\nshl.b64 %d1, %d1, %r2;\nor.b64 %d2, %d0, %d1;\n" USE("d2"),
          "2+8w" },
        { LOAD_A LOAD_B "slct.b64.s32 %d2, %d0, %d1, %r0;\n" USE("d2"), "0+0w 1+0w" },
        { LOAD_A "shr.u64 %d1, %d0, 4;\nshl.b64 %d2, %d1, 4;\n" USE("d2"), "0+0w" },
        { LOAD_A "shfl.sync.idx.b32 %r0|%p0, %r1, 0, 31, -1;\n" USE("d0"), "0+0w" },
        { LOAD_A "cvt.u32.u64 %r0, %d0;\ncvt.u64.u32 %d2, %r0;\n" USE("d2"), UNKNOWN },
        { "ld.param.u32 %r0, [n];\ncvt.u64.u32 %d2, %r0;\n" USE("d2"), UNKNOWN },
        { LOAD_A
          "ld.param.u32 %r0, [n];\nmul.wide.u32 %d1, %r0, 8;\nadd.s64 %d2, %d1, %d0;\n" USE("d2"),
          "0+0w" },
    };
    CHECK(examples);
}

static void structs_have_offsets(void **state)
{
    (void)state;
    static const struct example examples[] = {
        { "ld.param.u64 %d0, [s+8];\n" USE("d0"), "2+8w" },
        { "ld.param.v2.u64 {%d0, %d1}, [s+16];\n" USE("d0") "ld.u32 %r0, [%d1];", "2+16w 2+24r" },
        { "ld.param.v2.u32 {%r0, %r1}, [s+8];\nmov.b64 %d0, {%r0, %r1};\n" USE("d0"), "2+8w" },
        { "mov.b64 %d0, s;\nld.param.b64 %d1, [%d0+8];\n" USE("d1"), "2+8w" },
        { "mov.b64 %d0, s;\nadd.s64 %d1, %d0, 16;\nsub.s64 %d1, %d1, 8;\n"
          "ld.param.b64 %d2, [%d1];\n" USE("d2"),
          "2+0w 2+8w 2+16w 2+?w" },
        { "mov.b64 %d0, s;\nadd.s64 %d1, %d0, 16;\nld.param.b64 %d2, [%d1];\n" USE("d2"), "2+16w" },
        { "mov.b64 %d0, s;\ncvta.param.u64 %d1, %d0;\nld.u64 %d2, [%d1+24];\n" USE("d2"), "2+24w" },
        { "mov.b64 %d0, s;\nld.param.u32 %r0, [n];\nmul.wide.u32 %d1, %r0, 8;\n"
          "add.s64 %d2, %d0, %d1;\nld.param.b64 %d3, [%d2];\n" USE("d3"),
          "2+?w" },
        { "mov.b64 %d0, s;\nld.param.u32 %r0, [n];\nmul.wide.u32 %d1, %r0, 4;\n"
          "add.s64 %d2, %d0, %d1;\nld.param.v2.b32 {%r1, %r2}, [%d2];\n"
          "mov.b64 %d3, {%r1, %r2};\n" USE("d3"),
          "2+??w" },
        { ".reg .v2 .b64 %v;\nld.param.v2.b64 %v, [s+8];\n" USE("v.y"), "2+8w 2+16w" },
        { "mov.b64 %d0, s;\nld.param.b64 %d1, [%d0+28];\n" USE("d1"), ASSEMBLED },
        { "ld.param.u8 %h0, [s+8];\ncvt.u32.u16 %r0, %h0;\nmov.b64 %d0, {%r0, %r1};\n" USE("d0"),
          ASSEMBLED },
        { "ld.param.b64 %d1, [%d0+8];\n" USE("d1"), ASSEMBLED },
        { "ld.param.u8 %h0, [s+8];\ncvt.u64.u16 %d0, %h0;\nshl.b64 %d0, %d0, 40;\n" USE("d0"),
          ASSEMBLED },
        { "ld.param.u8 %h0, [s+8];\nld.param.u64 %d1, [a];\ncvt.u64.u16 %d0, %h0;\n"
          "add.s64 %d2, %d0, %d1;\n" USE("d2"),
          "0+0w" },
    };
    CHECK(examples);
}

#define AT(add) "mov.b64 %d0, s;\n" add "ld.param.b64 %x, [%d2+8];\n" USE("x")
#define INDEX(multiply) AT(multiply ";\nadd.s64 %d2, %d0, %d1;\n")

// Elements of an array in a parameter: one field of each.
static void indexes_move_by_whole_elements(void **state)
{
    (void)state;
    static const struct example examples[] = {
        { INDEX("mul.wide.s32 %d1, %r0, 16"), "2+8w 2+24w" },
        { INDEX("shl.b64 %d1, %d5, 4"), "2+8w 2+24w" },
        { INDEX("mul.lo.s64 %d1, %d5, 48"), "2+8w 2+24w" },
        { INDEX("mul.wide.u32 %d1, %r0, 24"), "2+8w" },
        { INDEX("mul.wide.s32 %d1, %r0, -16"), "2+8w 2+24w" },
        { AT("mad.wide.s32 %d2, %r0, 16, %d0;\n"), "2+8w 2+24w" },
        { AT("mad.wide.s32 %d3, %r0, 16, %d0;\nadd.s64 %d2, %d3, -24;\n"), "2+0w 2+16w" },
        { AT("mad.wide.s32 %d3, %r0, 16, %d0;\nmad.wide.s32 %d2, %r1, 24, %d3;\n"), "2+?w" },
        { AT("mov.u64 %d2, %d0;\nL:\nadd.s64 %d2, %d2, 16;\n@%p0 bra L;\n"), "2+8w 2+24w" },
        { AT("mov.u64 %d2, %d0;\nL:\nld.param.b64 %d4, [%d2];\nsub.s64 %d2, %d2, 16;\n"
             "@%p0 bra L;\n" USE("d4")),
          "2+0w 2+8w 2+16w 2+24w" },
        { AT("mad.wide.s32 %d2, %r0, 16, %d0;\nld.param.v2.b32 {%r1, %r2}, [%d2];\n"
             "mov.b64 %d4, {%r1, %r2};\n" USE("d4")),
          "2+0w 2+8w 2+16w 2+24w" },
        { INDEX("mul.wide.s32 %d1, %r0, 16;\n@%p0 mov.u64 %d1, %d5"), "2+?w" },
        { INDEX("mul.wide.s32 %d1, %r0, 8"), "2+?w" },
        { INDEX("mul.wide.s32 %d1, %r0, %r1"), "2+?w" },
        { INDEX("mul.hi.s64 %d1, %d5, 16"), "2+?w" },
        { AT("mul.wide.s32 %d1, %r0, 16;\nsub.s64 %d2, %d0, %d1;\n"), "2+8w 2+24w" },
        { AT("mul.wide.s32 %d1, %r0, 16;\nsub.s64 %d3, %d1, %d0;\nadd.s64 %d4, %d3, 4;\n"
             "sub.s64 %d2, %d1, %d4;\n"),
          "2+?w" },
        { INDEX("div.s64 %d1, %d5, 16"), "2+?w" },
        { AT("max.u64 %d2, %d0, %d5;\n"), "2+?w" },
        { INDEX("mul.lo.s64 %d1, %d5, 24"), "2+?w" },
        { INDEX("mul.wide.u32 %d1, %r0, -24"), "2+?w" },
        { INDEX("shl.b64 %d1, %d5, %r0"), "2+?w" },
        { INDEX("mul.lo.s32 %r0, %r1, 16;\ncvt.s64.s32 %d1, %r0"), "2+?w" },
    };
    CHECK(examples);
}

static void memory_gives_back_what_it_holds(void **state)
{
    (void)state;
    static const struct example examples[] = {
        { LOAD_A "st.local.u64 [depot], %d0;\nld.local.u64 %d1, [depot];\n" USE("d1"), "0+0w" },
        { LOAD_A "mov.u64 %d2, depot;\ncvta.local.u64 %d2, %d2;\nst.u64 [%d2], %d0;\n"
                 "ld.u64 %d1, [%d2];\n" USE("d1"),
          "0+0w" },
        { LOAD_A "mov.b64 {%r0, %r1}, %d0;\nst.local.v2.u32 [depot], {%r0, %r1};\n"
                 "ld.local.u64 %d1, [depot];\n" USE("d1"),
          "0+0w" },
        { LOAD_A "st.shared.u64 [tile], %d0;\nld.shared.u64 %d1, [tile+8];\n" USE("d1"), "0+0w" },
        { LOAD_A
          "cvta.shared.u64 %d2, %d3;\nst.u64 [%d2], %d0;\nld.shared.u64 %d1, [%r1];\n" USE("d1"),
          "0+0w" },
        { LOAD_A "atom.shared.exch.b64 %d1, [tile], %d0;\n" USE("d1"), "0+0w" },
        { LOAD_A "ld.global.u64 %d1, [%d0];\n" USE("d1"), LOADED },
        { LOAD_A "ld.global.v2.u32 {%r0, %r1}, [%d0];\nmov.b64 %d1, {%r0, %r1};\n" USE("d1"),
          LOADED },
        { LOAD_A "ld.global.u64 %d1, [%d0];\nmov.b64 {%r0, %r1}, %d1;\n"
                 "mov.b64 %d2, {%r0, %r1};\n" USE("d2"),
          LOADED },
        { LOAD_A
          "ld.global.u32 %r0, [%d0];\ncvt.u64.u32 %d1, %r0;\nshl.b64 %d2, %d1, 32;\n" USE("d2"),
          LOADED },
        { LOAD_A LOAD_B
          "ld.global.u64 %d2, [%d0];\nselp.b64 %d2, %d2, %d1, %p0;\n"
          "cvt.u32.u64 %r0, %d2;\nshr.u64 %d2, %d2, 32;\nshl.b64 %d2, %d2, 16;\n"
          "shl.b64 %d2, %d2, 16;\ncvt.u64.u32 %d3, %r0;\nor.b64 %d3, %d3, %d2;\n" USE("d3"),
          LOADED },
        { LOAD_A LOAD_B "ld.global.u32 %r0, [%d0];\nmul.wide.u32 %d2, %r0, 65536;\n"
                        "mad.lo.s64 %d2, %d2, 65536, %d1;\n" USE("d2"),
          LOADED },
        { LOAD_A "atom.global.add.u64 %d1, [%d0], 1;\n" USE("d1"), LOADED },
        { LOAD_A "ld.global.u32 %r0, [%d0];\ncvt.u64.u32 %d1, %r0;\n"
                 "mul.lo.s64 %d1, %d1, 4294967296;\n" USE("d1"),
          LOADED },
        { "ld.const.u64 %d1, [place];\n" USE("d1"), LOADED },
        { LOAD_A
          "cp.async.ca.shared.global [%r0], [%d0], 8;\nld.shared.u64 %d1, [tile];\n" USE("d1"),
          LOADED },
        { LOAD_A "ld.global.u64 %d1, [%d0];\nst.shared.u64 [tile], %d1;\n"
                 "ld.shared.u64 %d2, [tile];\n" USE("d2"),
          LOADED },
        { LOAD_A
          "ld.global.u32 %r0, [%d0];\nmul.wide.u32 %d1, %r0, 4;\nadd.s64 %d2, %d0, %d1;\n" USE(
              "d2"),
          "0+0rw" },
        { LOAD_A "ld.global.u64 %d1, [%d0];\nshl.b64 %d1, %d1, 2;\n", "0+0r" },
        { LOAD_A LOAD_B "ld.global.u64 %d2, [%d0];\nmad.lo.s64 %d3, %d2, 4, %d1;\n" USE("d3"),
          "0+0r 1+0w" },
        { LOAD_A LOAD_B
          "ld.global.u64 %d2, [%d0];\nshl.b64 %d3, %d2, 2;\nadd.s64 %d3, %d3, %d1;\n" USE("d3"),
          "0+0r 1+0w" },
        { LOAD_A
          "ld.global.u64 %d2, [%d0];\nshr.u64 %d3, %d2, 3;\nshl.b64 %d4, %d3, 3;\n" USE("d4"),
          LOADED },
        { LOAD_A LOAD_B "ld.global.f64 %d2, [%d0];\ncvt.rzi.s64.f64 %d3, %d2;\n"
                        "add.s64 %d4, %d3, %d1;\n" USE("d4"),
          "0+0r 1+0w" },
    };
    CHECK(examples);
}

// A struct of two pointers in a variable, and another variable with an index.
#define TWO_SLOTS                                                                                  \
    LOAD_A LOAD_B ".local .align 8 .b8 own[64];\nst.local.u64 [depot], %d0;\n"                     \
                  "st.local.u64 [depot+8], %d1;\n"

static void words_of_local_variables_are_apart(void **state)
{
    (void)state;
    static const struct example examples[] = {
        { TWO_SLOTS "ld.local.u64 %d2, [depot];\n" USE("d2"), "0+0w" },
        { TWO_SLOTS
          "mov.u64 %d3, depot;\nadd.s64 %d4, %d3, 8;\nld.local.u64 %d2, [%d4];\n" USE("d2"),
          "1+0w" },
        { TWO_SLOTS "ld.local.v2.u64 {%d2, %d3}, [depot];\n" USE("d3"), "1+0w" },
        { TWO_SLOTS "ld.local.v2.u64 {_, %d3}, [depot];\n" USE("d3"), "1+0w" },
        { TWO_SLOTS "mul.wide.u32 %d4, %r0, 8;\nmov.u64 %d3, own;\nadd.s64 %d3, %d3, %d4;\n"
                    "st.local.u64 [%d3], %d1;\nld.local.u64 %d2, [depot];\n" USE("d2"),
          "0+0w" },
        { LOAD_A LOAD_B
          "st.local.v2.u64 [depot], {%d0, %d1};\nld.local.u64 %d2, [depot+8];\n" USE("d2"),
          "1+0w" },
        { TWO_SLOTS "mov.u64 %d3, depot;\nL:\nadd.s64 %d3, %d3, 8;\n"
                    "ld.local.u64 %d2, [%d3];\n@%p0 bra L;\n" USE("d2"),
          "0+0w 1+0w" },
    };
    CHECK(examples);
}

static void no_word_of_a_local_variable_is_missed(void **state)
{
    (void)state;
    static const struct example examples[] = {
        { TWO_SLOTS "mov.u64 %d3, depot+8;\nld.local.u64 %d2, [%d3];\n" USE("d2"), "0+0w 1+0w" },
        { TWO_SLOTS "ld.local.u64 %d2, depot[1];\n" USE("d2"), "its operands are not understood" },
        { TWO_SLOTS "ld.local.u64 %d2, [depot+0b1000];\n" USE("d2"),
          "its operands are not understood" },
        { TWO_SLOTS "add.u64 %d3, depot, 16;\nld.local.u64 %d2, [%d3+-(8)];\n" USE("d2"),
          "its operands are not understood" },
        { TWO_SLOTS "mov.u64 %d3, depot;\nst.shared.u64 [tile], %d3;\n"
                    "red.shared.add.u64 [tile], 8;\nld.shared.u64 %d4, [tile];\n"
                    "ld.local.u64 %d2, [%d4];\n" USE("d2"),
          "0+0w 1+0w" },
        { TWO_SLOTS "mov.u64 %d3, depot;\nst.shared.u64 [tile], %d3;\n"
                    "atom.shared.add.u64 %d5, [tile], 8;\nld.shared.u64 %d4, [tile];\n"
                    "ld.local.u64 %d2, [%d4];\n" USE("d2"),
          "0+0w 1+0w" },
        { TWO_SLOTS "ld.local.u64 %d2, [depot+4];\n" USE("d2"), "0+0w 1+0w" },
        { TWO_SLOTS
          "mov.u64 %d3, depot;\nxor.b64 %d3, %d3, 8;\nld.local.u64 %d2, [%d3];\n" USE("d2"),
          "0+0w 1+0w" },
        { TWO_SLOTS "mov.u64 %d3, depot;\nmov.u64 %d4, own;\nselp.b64 %d5, %d3, %d4, %p0;\n"
                    "st.local.u64 [%d5], %d1;\nld.local.u64 %d2, [depot];\n" USE("d2"),
          "0+0w 1+0w" },
        { TWO_SLOTS "mov.u64 %d3, depot;\nst.global.u64 [%d0], %d3;\nld.global.u64 %d4, [%d0];\n"
                    "mov.u64 %d5, own;\nselp.b64 %d5, %d4, %d5, %p0;\n"
                    "ld.local.u64 %d2, [%d5];\n" USE("d2"),
          "0+0rw 1+0w" },
        { TWO_SLOTS "alloca.u64 %d3, 16;\nst.local.u64 [%d3], %d0;\n"
                    "ld.local.u64 %d2, [depot+8];\n" USE("d2"),
          "0+0w 1+0w" },
        { LOAD_A "st.local.b128 [depot], %d0;\nld.local.u64 %d2, [depot+8];\n" USE("d2"), "0+0w" },
        { LOAD_A ".reg .v2 .b64 %v;\nmov.b64 %v.y, %d0;\nst.local.v2.b64 [depot], %v;\n"
                 "ld.local.u64 %d2, [depot+8];\n" USE("d2"),
          "0+0w" },
        { LOAD_A LOAD_B "{\n.local .b8 own[8];\nst.local.u64 [own], %d0;\n}\n{\n"
                        ".local .b8 own[8];\nst.local.u64 [own], %d1;\n"
                        "ld.local.u64 %d2, [own];\n}\n" USE("d2"),
          "0+0w 1+0w" },
    };
    CHECK(examples);
}

// %up is what an index is multiplied by. In a loop it would be shifted without an end.
#define LOAD_STEPS                                                                                 \
    LOAD_A "ld.param.u32 %r0, [s+8];\nld.param.u32 %r1, [s+12];\ncvt.u64.u32 %low, %r0;\n"         \
           "cvt.u64.u32 %up, %r1;\n"
#define LOOP                                                                                       \
    "shl.b64 %u1, %v, 5;\nadd.s64 %u, %u, %u1;\nor.b64 %both, %low, %u;\n"                         \
    "add.s64 %x, %d0, %both;\n" USE("x")

// Where a register is copied that has a constant there, other values of it do not come along.
static void constants_are_copied(void **state)
{
    (void)state;
    static const struct example examples[] = {
        { LOAD_STEPS "mov.u64 %u, 0;\nmov.u64 %v, %u;\n@%p1 bra L;\nmov.u64 %v, %up;\nL:\n" LOOP,
          "0+0w" },
        { LOAD_STEPS "mov.u64 %u, 0;\nK:\nmov.u64 %v, %u;\n@%p1 bra L;\nmov.u64 %v, %up;\nL:\n" LOOP
                     "bra K;\n",
          "0+0w 2+8w" },
        { LOAD_STEPS
          "@%p2 mov.u64 %u, 0;\nmov.u64 %v, %u;\n@%p1 bra L;\nmov.u64 %v, %up;\nL:\n" LOOP,
          "0+0w 2+8w" },
        { LOAD_STEPS
          "mov.u64 %u, 0;\n{\nmov.u64 %v, %u;\n}\n@%p1 bra L;\nmov.u64 %v, %up;\nL:\n" LOOP,
          "0+0w 2+8w" },
        { LOAD_STEPS "mov.u64 %u, 0;\nadd.s64 %u, %u, %up;\nmov.u64 %v, %u;\n" LOOP, "0+0w 2+8w" },
        { LOAD_A "mov.u64 %u, 0;\nmov.u64 %u, %d0;\nmov.u64 %v, %u;\n" USE("v"), "0+0w" },
        { LOAD_A ".reg .v2 .b64 %w;\nmov.b64 %w.y, %d0;\nmov.b64 %w.x, 0;\n"
                 "mov.b64 %v, %w.y;\n" USE("v"),
          "0+0w" },
    };
    CHECK(examples);
}

// A division by a number moves no half of a word into the other.
static void upper_halves_of_products_are_small(void **state)
{
    (void)state;
    static const struct example examples[] = {
        { LOAD_STEPS "mul.wide.u32 %u0, %r1, 3;\nmul.hi.u64 %u1, %u0, -6148914691236517205;\n"
                     "add.s64 %u2, %u1, %low;\nadd.s64 %x, %d0, %u2;\n" USE("x"),
          "0+0w" },
        { LOAD_STEPS "mul.lo.s64 %u0, %up, 4294967296;\nadd.s64 %u2, %u0, %low;\n"
                     "add.s64 %x, %d0, %u2;\n" USE("x"),
          "0+0w 2+8w" },
        { LOAD_WORD "mul.hi.u64 %w1, %w0, 1048576;\nshl.b64 %w2, %w1, 44;\n" USE_BESIDE("w2"),
          LOADED },
        { LOAD_WORD "mul.hi.u64 %w1, %w0, -1;\nadd.s64 %w2, %w1, 1;\n" USE_BESIDE("w2"), LOADED },
        { LOAD_WORD "mul.lo.u64 %w1, %w0, 1;\n" USE_BESIDE("w1"), LOADED },
        { LOAD_WORD "mad.lo.u64 %w1, %w0, 1, 8;\n" USE_BESIDE("w1"), LOADED },
        { LOAD_WORD
          "madc.hi.u64 %w1, %w0, 4294967296, 0;\nshl.b64 %w2, %w1, 32;\n" USE_BESIDE("w2"),
          LOADED },
        { LOAD_WORD "mad.hi.u64 %w1, %d5, 3, %w0;\n" USE_BESIDE("w1"), LOADED },
    };
    CHECK(examples);
}

static void functions_pass_addresses(void **state)
{
    (void)state;
    static const struct example examples[] = {
        { LOAD_A "{\n.param .b64 p;\n.param .b64 q;\nst.param.b64 [p], %d0;\n"
                 "call.uni (q), same, (p);\nld.param.b64 %d1, [q];\n}\n" USE("d1"),
          "0+0w" },
        { LOAD_A "{\n.param .b64 p;\nst.param.b64 [p+0], %d0;\ncall.uni writes, (p);\n}", "0+0w" },
        { "{\n.param .b64 p;\n.param .b64 q;\n.param .b32 z;\ncall.uni (z), vprintf, (p, q);\n}",
          "" },
        { "{\n.param .b64 p;\n.param .b64 q;\ncall.uni (q), malloc, (p);\n}",
          "it calls a function that has no body here" },
        { "{\n.param .b64 p;\ncall.uni %d0, (p), proto;\n}", "it calls a function by its address" },
        { "{\n.param .b64 p;\n.param .b64 q;\ncall.uni (q), same, (p, p);\n}",
          "it passes other arguments than a function has" },
    };
    CHECK(examples);
}

static void what_nobody_knows_is_not_proven(void **state)
{
    (void)state;
    static const struct example examples[] = {
        { USE("d0"), UNKNOWN },
        { "mov.u64 %d0, 4096;\n" USE("d0"), UNKNOWN },
        { "st.global.u32 [4096], 1;", UNKNOWN },
        { "tex.2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [t, {%r4, %r5}];", STRANGE },
        { "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%r0], "
          "[%d0, {%r1}], [%r2];",
          STRANGE },
        { "multimem.red.add.u32 [%d0], %r0;", STRANGE },
        { ".reg .b64 tile;\nmov.u64 %d0, 1;", "" },
        { ".reg .b64 tile;\nmov.u64 tile, 1;", "a name stands for several things" },
        { ".reg .b64 slot<3>;\nmov.u64 slot1, 1;", "a name stands for several things" },
        { ".reg .b64 slot<3>;\nmov.u64 slot2, 1;", "" },
        { ".reg .b64 depot;\nmov.u64 %d0, depot;", "a name stands for several things" },
        { LOAD_A "st.global.u32 [%d0], %r0\nst.global.u32 [%d1], %r0;",
          "its operands are not understood" },
        { LOAD_A "st.global.u32 [%d0*2], %r0;", "its operands are not understood" },
        { "ld.param.u65 %d0, [s+16];\n" USE("d0"), "2+??w" },
        { "frobnicate.b64 %d0;",
          "it has the instruction 'frobnicate.b64', which Braid does not know" },
    };
    CHECK(examples);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_instruction_has_its_acts),
        cmocka_unit_test(addresses_go_through_arithmetic),
        cmocka_unit_test(structs_have_offsets),
        cmocka_unit_test(indexes_move_by_whole_elements),
        cmocka_unit_test(memory_gives_back_what_it_holds),
        cmocka_unit_test(words_of_local_variables_are_apart),
        cmocka_unit_test(no_word_of_a_local_variable_is_missed),
        cmocka_unit_test(constants_are_copied),
        cmocka_unit_test(upper_halves_of_products_are_small),
        cmocka_unit_test(functions_pass_addresses),
        cmocka_unit_test(what_nobody_knows_is_not_proven),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
