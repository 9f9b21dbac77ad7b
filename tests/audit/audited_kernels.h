// SPDX-License-Identifier: Apache-2.0
// Kernels of a word or two, for the CPU and for devices.
#ifndef BRAID_TESTS_AUDITED_KERNELS_H
#define BRAID_TESTS_AUDITED_KERNELS_H

#include <braid/braid.h>

// A kernel gets two addresses, %d0 and %d1, with the words there, %r0 and %r1.
#define AUDITED_PTX(name, body)                                                                    \
    ".version 7.0\n.target sm_70\n.address_size 64\n"                                              \
    ".visible .entry " name "(.param .u64 one, .param .u64 other)\n{\n"                            \
    ".reg .pred %p;\n.reg .b32 %r<4>;\n.reg .b64 %d<2>;\n"                                         \
    "ld.param.u64 %d0, [one];\nld.param.u64 %d1, [other];\n"                                       \
    "ld.global.u32 %r0, [%d0];\nld.global.u32 %r1, [%d1];\n" body "ret;\n}\n"

// On HIP, for the stand-in.
#define AUDITED_IMAGES(name, body)                                                                 \
    .cuda.data = AUDITED_PTX(name, body), .hip.data = AUDITED_PTX(name, body)

static inline uint32_t *audited_word(void *const *args, int index)
{
    return *(uint32_t *const *)args[index];
}

static inline void write_next(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    *audited_word(args, 1) = *audited_word(args, 0) + 1;
}

// Writes the word behind the one that it reads.
__attribute__((unused)) static const braid_kernel next_kernel = {
    .name = "next",
    .cpu = write_next,
    AUDITED_IMAGES("next", "add.u32 %r0, %r0, 1;\nst.global.u32 [%d1], %r0;\n")
};

static inline void count_into_first(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    *audited_word(args, 0) = ++*audited_word(args, 1);
}

// Its results never repeat.
__attribute__((unused)) static const braid_kernel counting_kernel = {
    .name = "counting",
    .cpu = count_into_first,
    AUDITED_IMAGES("counting", "add.u32 %r1, %r1, 1;\nst.global.u32 [%d1], %r1;\n"
                               "st.global.u32 [%d0], %r1;\n")
};

static inline void add_to_second(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    *audited_word(args, 1) += *audited_word(args, 0);
}

__attribute__((unused)) static const braid_kernel adding_kernel = {
    .name = "adding",
    .cpu = add_to_second,
    AUDITED_IMAGES("adding", "add.u32 %r1, %r1, %r0;\nst.global.u32 [%d1], %r1;\n")
};

static inline void change_first(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    *audited_word(args, 0) = *audited_word(args, 0) * 31 + *audited_word(args, 1);
}

// Changes the first word by the second one.
__attribute__((unused)) static const braid_kernel changing_kernel = {
    .name = "changing",
    .cpu = change_first,
    AUDITED_IMAGES("changing", "mad.lo.u32 %r0, %r0, 31, %r1;\n"
                               "st.global.u32 [%d0], %r0;\n")
};

static inline void trap_unless_set(const braid_blocks *blocks, void *const *args)
{
    braid_trap *trap = *(braid_trap *const *)args[0];
    (void)blocks;
    if (!*audited_word(args, 1))
        *trap = (braid_trap){ .code = 3, .payload = { 5 } };
}

__attribute__((unused)) static const braid_kernel trapping_kernel = {
    .name = "trapping",
    .cpu = trap_unless_set,
    AUDITED_IMAGES("trapping", "setp.ne.u32 %p, %r1, 0;\n@%p ret;\nmov.u32 %r2, 3;\n"
                               "st.global.u32 [%d0], %r2;\n")
};

#endif
