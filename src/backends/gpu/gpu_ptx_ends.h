// SPDX-License-Identifier: Apache-2.0
// Putting code at the begin and at the end of every kernel of a text.
//
// All ways out of a kernel then lead to the code at the end. Threads of a warp may wait for each
// other there. If others of the warp wait for a barrier that counts those as gone, that would never
// end. So such kernels stay as they are.
#ifndef BRAID_BACKENDS_GPU_GPU_PTX_ENDS_H
#define BRAID_BACKENDS_GPU_GPU_PTX_ENDS_H

#include "backends/gpu/gpu_ptx_read.h"

// %braid_i0 stays 0 only if the special register is 0, too.
#define PTX_OR(special)                                                                            \
    "\tmov.u32 %braid_i1, " special ";\n"                                                          \
    "\tor.b32 %braid_i0, %braid_i0, %braid_i1;\n"

// 0 in the first thread of a block.
#define PTX_THREAD "\tmov.u32 %braid_i0, %tid.x;\n" PTX_OR("%tid.y") PTX_OR("%tid.z")

struct ptx_ends {
    const char *parameters; // behind the kernel's own
    const char *decide;     // behind the brace; a kernel may wait behind it. NULL: nothing
    const char *begin;      // behind that; "": nothing
    const char *end;        // behind the whole kernel, from a label on; NULL: none
    const char *leave;      // the instruction that goes to that label
    const char *version;    // the PTX that the code needs; NULL: any
    bool needs_sm_70;       // a device of then or later
    bool meets;             // all threads of a block meet at the end
};

// The place where an entry with a body may wait. If the code that decides begins the body, the
// place is behind that.
const char *braid_gpu_ptx_behind_decision(const struct ptx *ptx, const struct ptx_function *entry);

// The same text with the code in every entry, for the caller to free. NULL: it stays as it is.
// *out_reason says why, or is empty if memory ran out.
char *braid_gpu_ptx_with_ends(const char *text, const struct ptx_ends *ends,
                              struct ptx_reason *out_reason);

#endif
