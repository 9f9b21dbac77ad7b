// SPDX-License-Identifier: Apache-2.0
// Changing PTX so that its kernels note their begin and end in a black box (base/note.h).
#include "backends/gpu/gpu_ptx_notes.h"

#include "backends/gpu/gpu_ptx_ends.h"

#define PARAMETERS ".param .u64 braid_note, .param .u32 braid_node, .param .u64 braid_block_count"

#define REGISTERS "\t.reg .pred %braid_p;\n\t.reg .b32 %braid_i<2>;\n\t.reg .b64 %braid_t<3>;\n"

#define NUMBER                                                                                     \
    "\tld.param.u64 %braid_t0, [braid_note];\n"                                                    \
    "\tld.param.u32 %braid_i0, [braid_node];\n"                                                    \
    "\tadd.u32 %braid_i0, %braid_i0, 1;\n"

// ptxas moves the decision behind griddepcontrol.wait, where it takes time. It does not move
// pmevent, so it leaves the decision, which that needs, in front. An event does nothing but count,
// if a profiler has set a counter for it. CUDA C++ gives programs the events 0 to 7
// (__prof_trigger), so 15 is none of theirs.
#define HOLD "\t@!%braid_p pmevent 15;\n"

#define DECIDE                                                                                     \
    "\n\t{\n" REGISTERS PTX_THREAD PTX_OR("%ctaid.x") PTX_OR("%ctaid.y")                           \
        PTX_OR("%ctaid.z") "\tsetp.ne.u32 %braid_p, %braid_i0, 0;\n" NUMBER                        \
                           "\tmov.b64 %braid_t1, {%braid_i0, %braid_i0};\n" HOLD

#define BEGIN "\t@!%braid_p st.volatile.global.u64 [%braid_t0], %braid_t1;\n\t}\n"

#define NUM_BLOCKS                                                                                 \
    "\tmov.u32 %braid_i0, %nctaid.x;\n"                                                            \
    "\tmov.u32 %braid_i1, %nctaid.y;\n"                                                            \
    "\tmul.wide.u32 %braid_t1, %braid_i0, %braid_i1;\n"                                            \
    "\tmov.u32 %braid_i0, %nctaid.z;\n"                                                            \
    "\tcvt.u64.u32 %braid_t2, %braid_i0;\n"                                                        \
    "\tmul.lo.u64 %braid_t1, %braid_t1, %braid_t2;\n"

// All threads of a block meet, since threads that end early would leave others behind. Then one of
// them waits until the block's stores are done, and counts the block. So the end does not overtake
// the begin, and none is noted behind a store that fails. The last block notes the end and leaves a
// zero. A lone block counts nothing. Of several, none has a fence: that empties the first cache,
// which the next block may use.
#define END                                                                                        \
    "\nbraid_end:\n\t{\n" REGISTERS "\tld.param.u64 %braid_t0, [braid_block_count];\n"             \
    "\tsetp.eq.u64 %braid_p, %braid_t0, 0;\n"                                                      \
    "\t@%braid_p bra braid_ended;\n"                                                               \
    "\tbarrier.sync 0;\n" PTX_THREAD "\tsetp.ne.u32 %braid_p, %braid_i0, 0;\n"                     \
    "\t@%braid_p bra braid_ended;\n" NUM_BLOCKS "\tsetp.ne.u64 %braid_p, %braid_t1, 1;\n"          \
    "\t@%braid_p bra braid_count;\n"                                                               \
    "\tfence.acq_rel.gpu;\n"                                                                       \
    "\tbra braid_write;\n"                                                                         \
    "braid_count:\n"                                                                               \
    "\tatom.release.gpu.global.add.u64 %braid_t2, [%braid_t0], 1;\n"                               \
    "\tadd.u64 %braid_t2, %braid_t2, 1;\n"                                                         \
    "\tsetp.ne.u64 %braid_p, %braid_t2, %braid_t1;\n"                                              \
    "\t@%braid_p bra braid_ended;\n"                                                               \
    "\tst.global.u64 [%braid_t0], 0;\n"                                                            \
    "braid_write:\n" NUMBER "\tnot.b32 %braid_i0, %braid_i0;\n"                                    \
    "\tst.volatile.global.u32 [%braid_t0+4], %braid_i0;\n"                                         \
    "braid_ended:\n\t}\n\tret;\n"

char *braid_gpu_ptx_with_notes(const char *text, struct ptx_reason *out_reason)
{
    static const struct ptx_ends ends = {
        .parameters = PARAMETERS,
        .decide = DECIDE,
        .begin = BEGIN,
        .end = END,
        .leave = "bra braid_end",
        .version = "6.0",
        .needs_sm_70 = true,
        .meets = true,
    };
    return braid_gpu_ptx_with_ends(text, &ends, out_reason);
}

char *braid_gpu_ptx_with_begin_notes(const char *text, struct ptx_reason *out_reason)
{
    static const struct ptx_ends ends = {
        .parameters = PARAMETERS,
        .decide = DECIDE,
        .begin = BEGIN,
    };
    return braid_gpu_ptx_with_ends(text, &ends, out_reason);
}
