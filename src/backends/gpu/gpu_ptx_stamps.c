// SPDX-License-Identifier: Apache-2.0
// Changing PTX so that its kernels write down when they began and ended.
#include "backends/gpu/gpu_ptx_stamps.h"

#include "backends/gpu/gpu_ptx_ends.h"

#define REGISTERS "\t.reg .pred %braid_p;\n\t.reg .b32 %braid_i<2>;\n\t.reg .b64 %braid_t<2>;\n"

#define ADDRESS                                                                                    \
    "\tmov.u32 %braid_i0, %smid;\n"                                                                \
    "\tld.param.u32 %braid_i1, [braid_mask];\n"                                                    \
    "\tand.b32 %braid_i0, %braid_i0, %braid_i1;\n"                                                 \
    "\tld.param.u64 %braid_t1, [braid_stamps];\n"                                                  \
    "\tmad.wide.u32 %braid_t1, %braid_i0, 128, %braid_t1;\n"

// Whether this thread writes, and where to: an early start may do this before its wait.
#define DECIDE                                                                                     \
    "\n\t{\n" REGISTERS PTX_THREAD "\tmov.u32 %braid_i1, %ctaid.x;\n"                              \
    "\tshr.u32 %braid_i1, %braid_i1, 3;\n" /* the first eight */                                   \
    "\tor.b32 %braid_i0, %braid_i0, %braid_i1;\n" PTX_OR("%ctaid.y")                               \
        PTX_OR("%ctaid.z") "\tsetp.ne.u32 %braid_p, %braid_i0, 0;\n" ADDRESS

#define BEGIN                                                                                      \
    "\t@%braid_p bra braid_began;\n"                                                               \
    "\tmov.u64 %braid_t0, %globaltimer;\n"                                                         \
    "\tnot.b64 %braid_t0, %braid_t0;\n"                                                            \
    "\tred.global.max.u64 [%braid_t1], %braid_t0;\n"                                               \
    "braid_began:\n\t}\n"

#define END                                                                                        \
    "\nbraid_end:\n\t{\n" REGISTERS "\tactivemask.b32 %braid_i0;\n"                                \
    "\tbrev.b32 %braid_i0, %braid_i0;\n"                                                           \
    "\tclz.b32 %braid_i0, %braid_i0;\n"                                                            \
    "\tmov.u32 %braid_i1, %laneid;\n"                                                              \
    "\tsetp.ne.u32 %braid_p, %braid_i0, %braid_i1;\n"                                              \
    "\t@%braid_p bra braid_ended;\n"                                                               \
    "\tmov.u64 %braid_t0, %globaltimer;\n" ADDRESS                                                 \
    "\tred.global.max.u64 [%braid_t1+8], %braid_t0;\n"                                             \
    "braid_ended:\n\t}\n\tret;\n"

char *braid_gpu_ptx_with_stamps(const char *text, struct ptx_reason *out_reason)
{
    static const struct ptx_ends ends = {
        .parameters = ".param .u64 braid_stamps, .param .u32 braid_mask",
        .decide = DECIDE,
        .begin = BEGIN,
        .end = END,
        .leave = "bra braid_end",
        .version = "6.2", // activemask came with it
    };
    return braid_gpu_ptx_with_ends(text, &ends, out_reason);
}
