// SPDX-License-Identifier: Apache-2.0
// Changing PTX so that its kernels fetch inputs of the next kernel into the L2 cache.
#include "backends/gpu/gpu_ptx_prefetch.h"

#include "backends/gpu/gpu_ptx_ends.h"

#define PARAMETERS                                                                                 \
    ".param .u64 braid_next, .param .u32 braid_next_share, .param .u32 braid_next_blocks"

#define NUMBER_OF_BLOCK                                                                            \
    "\tmov.u32 %braid_i0, %ctaid.z;\n"                                                             \
    "\tmov.u32 %braid_i1, %nctaid.y;\n"                                                            \
    "\tmov.u32 %braid_i2, %ctaid.y;\n"                                                             \
    "\tmad.lo.u32 %braid_i0, %braid_i0, %braid_i1, %braid_i2;\n"                                   \
    "\tmov.u32 %braid_i1, %nctaid.x;\n"                                                            \
    "\tmov.u32 %braid_i2, %ctaid.x;\n"                                                             \
    "\tmad.lo.u32 %braid_i0, %braid_i0, %braid_i1, %braid_i2;\n"

char *braid_gpu_ptx_with_prefetch(const char *text, struct ptx_reason *out_reason)
{
    static const struct ptx_ends ends = {
        .parameters = PARAMETERS,
        .begin = "",
        .end = "\nbraid_fetch:\n\t{\n\t.reg .pred %braid_p;\n\t.reg .b32 %braid_i<3>;\n"
               "\t.reg .b64 %braid_t;\n" PTX_THREAD "\tsetp.ne.u32 %braid_p, %braid_i0, 0;\n"
               "\t@%braid_p bra braid_ended;\n"
               "\tgriddepcontrol.launch_dependents;\n" NUMBER_OF_BLOCK
               "\tld.param.u32 %braid_i1, [braid_next_blocks];\n"
               "\tsetp.ge.u32 %braid_p, %braid_i0, %braid_i1;\n"
               "\t@%braid_p bra braid_ended;\n"
               "\tld.param.u32 %braid_i1, [braid_next_share];\n"
               "\tld.param.u64 %braid_t, [braid_next];\n"
               "\tmad.wide.u32 %braid_t, %braid_i0, %braid_i1, %braid_t;\n"
               "\tcp.async.bulk.prefetch.L2.global [%braid_t], %braid_i1;\n"
               "braid_ended:\n\t}\n\tret;\n",
        .leave = "bra braid_fetch", // behind the code of gpu_ptx_stamps.h, where that is
        .version = "8.0",           // cp.async.bulk came with it
    };
    return braid_gpu_ptx_with_ends(text, &ends, out_reason);
}
