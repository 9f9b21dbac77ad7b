// SPDX-License-Identifier: Apache-2.0
// Bodies of a kernel, and the accesses that its text tells.
#ifndef BRAID_TESTS_ACCESSES_EXAMPLES_H
#define BRAID_TESTS_ACCESSES_EXAMPLES_H

#include <stddef.h>

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"
#define MODULE                                                                                     \
    HEAD ".global .align 8 .b8 counter[8] = {1, 2};\n.global .b64 slot1;\n.const .align 8 .b64 "   \
         "place;\n"                                                                                \
         ".extern .shared .align 16 .b8 tile[];\n"                                                 \
         ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"                  \
         ".extern .func (.param .b64 r) malloc(.param .b64 a);\n"                                  \
         ".func (.param .b64 r) same(.param .b64 a)\n{\n.reg .b64 %x;\nld.param.b64 %x, [a];\n"    \
         "st.param.b64 [r], %x;\nret;\n}\n"                                                        \
         ".func writes(.param .b64 a)\n{\n.reg .b64 %x;\nld.param.b64 %x, [a];\n"                  \
         "st.u32 [%x], 1;\nret;\n}\n"
#define ENTRY                                                                                      \
    MODULE ".visible .entry k(.param .u64 .ptr .global .align 4 a, .param .u64 b,\n"               \
           ".param .align 8 .b8 s[32], .param .u32 n)\n{\n"                                        \
           ".reg .pred %p<4>;\n.reg .b16 %h<4>;\n.reg .b32 %r<9>;\n.reg .b64 %d<9>;\n"             \
           ".local .align 8 .b8 depot[16];\n"

struct example {
    const char *body, *expected;
};

void examples_check(const struct example *examples, size_t num);

#define CHECK(examples) examples_check(examples, sizeof(examples) / sizeof((examples)[0]))
#define LOAD_A "ld.param.u64 %d0, [a];\n"
#define LOAD_B "ld.param.u64 %d1, [b];\n"
#define USE(register) "st.global.u32 [%" register "], 1;\n"
#define UNKNOWN "an address comes from no parameter"
#define LOADED "an address is loaded from memory"
#define ASSEMBLED "an address is put together in a way that is not known"
#define STRANGE "it touches memory in a way that is not known"
#define LOAD_HALVES                                                                                \
    LOAD_A "ld.global.v2.u32 {%r0, %r1}, [%d0];\ncvt.u64.u32 %low, %r0;\ncvt.u64.u32 %u0, %r1;\n"
#define LOAD_WORD LOAD_A "ld.global.u64 %w0, [%d0];\n"
#define USE_BOTH "or.b64 %both, %low, %up;\nselp.b64 %x, %both, %d0, %p0;\n" USE("x")
#define USE_BESIDE(register) "selp.b64 %x, %" register ", %d0, %p0;\n" USE("x")

#endif
