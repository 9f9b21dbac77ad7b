// SPDX-License-Identifier: Apache-2.0
// Changing PTX so that its kernels note their begin in a black box (base/note.h).
#include "backends/gpu/gpu_ptx_notes.h"

#include "backends/gpu/gpu_ptx_ends.h"

// ptxas moves the decision behind griddepcontrol.wait, where it takes time. It does not move
// pmevent, so it leaves the decision, which that needs, in front. An event does nothing but count,
// if a profiler has set a counter for it. CUDA C++ gives programs the events 0 to 7
// (__prof_trigger), so 15 is none of theirs.
#define HOLD "\t@!%braid_p pmevent 15;\n"

char *braid_gpu_ptx_with_notes(const char *text, struct ptx_reason *out_reason)
{
    static const struct ptx_ends ends = {
        .parameters = ".param .u64 braid_note, .param .u32 braid_node",
        .decide =
            "\n\t{\n\t.reg .pred %braid_p;\n\t.reg .b32 %braid_i<2>;\n\t.reg .b64 %braid_t<2>;\n"
            "\tmov.u32 %braid_i0, %tid.x;\n"
            "\tmov.u32 %braid_i1, %tid.y;\n"
            "\tor.b32 %braid_i0, %braid_i0, %braid_i1;\n"
            "\tmov.u32 %braid_i1, %tid.z;\n"
            "\tor.b32 %braid_i0, %braid_i0, %braid_i1;\n"
            "\tmov.u32 %braid_i1, %ctaid.x;\n"
            "\tor.b32 %braid_i0, %braid_i0, %braid_i1;\n"
            "\tmov.u32 %braid_i1, %ctaid.y;\n"
            "\tor.b32 %braid_i0, %braid_i0, %braid_i1;\n"
            "\tmov.u32 %braid_i1, %ctaid.z;\n"
            "\tor.b32 %braid_i0, %braid_i0, %braid_i1;\n"
            "\tsetp.ne.u32 %braid_p, %braid_i0, 0;\n"
            "\tld.param.u64 %braid_t0, [braid_note];\n"
            "\tld.param.u32 %braid_i0, [braid_node];\n"
            "\tadd.u32 %braid_i0, %braid_i0, 1;\n"
            "\tmov.b64 %braid_t1, {%braid_i0, %braid_i0};\n" HOLD,
        .begin = "\t@!%braid_p st.volatile.global.u64 [%braid_t0], %braid_t1;\n\t}\n",
    };
    return braid_gpu_ptx_with_ends(text, &ends, out_reason);
}
