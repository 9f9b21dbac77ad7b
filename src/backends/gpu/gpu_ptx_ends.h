// SPDX-License-Identifier: Apache-2.0
// Putting code at the begin and at the end of every kernel of a text.
//
// Ways out of a kernel that ended threads at once then meet where the code at the end is, and
// threads of a warp may wait for each other there. That would never end if others of the warp wait
// for a barrier that counts those as gone: so such kernels stay as they are.
#ifndef BRAID_BACKENDS_GPU_GPU_PTX_ENDS_H
#define BRAID_BACKENDS_GPU_GPU_PTX_ENDS_H

#include "backends/gpu/gpu_ptx_read.h"

struct ptx_ends {
    const char *parameters; // behind the kernel's own
    const char *begin;      // behind the brace; "": nothing
    const char *end;        // from its label braid_end on
    const char *version;    // of PTX, that the code needs
};

// The same text with the code in every entry, for the caller to free; NULL where it stays as it is:
// then *out_reason says why, or is empty when memory ran out.
char *braid_gpu_ptx_with_ends(const char *text, const struct ptx_ends *ends,
                              struct ptx_reason *out_reason);

#endif
