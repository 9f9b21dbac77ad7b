// SPDX-License-Identifier: Apache-2.0
// Putting code at the begin and at the end of every kernel of a text.
//
// All ways out of a kernel then lead to the code at the end. Threads of a warp may wait for each
// other there. If others of the warp wait for a barrier that counts those as gone, that would never
// end. So such kernels stay as they are.
#ifndef BRAID_BACKENDS_GPU_GPU_PTX_ENDS_H
#define BRAID_BACKENDS_GPU_GPU_PTX_ENDS_H

#include "backends/gpu/gpu_ptx_read.h"

struct ptx_ends {
    // PTX of a kernel whose parameters stand behind the other's own. A comment is in the place of
    // the other. A kernel may wait behind another comment: "Braid has decided".
    const char *text;
    const char *leave;   // the instruction that goes behind that place; NULL: nothing does
    const char *version; // the PTX that the code needs; NULL: any
    bool needs_sm_70;    // a device of then or later
    bool meets;          // all threads of a block meet at the end
};

// The place where an entry with a body may wait. If the code that decides begins the body, the
// place is behind that.
const char *braid_gpu_ptx_behind_decision(const struct ptx *ptx, const struct ptx_function *entry);

// The same text with the code in every entry, for the caller to free. NULL: it stays as it is.
// *out_reason says why, or is empty if memory ran out.
char *braid_gpu_ptx_with_ends(const char *text, const struct ptx_ends *ends,
                              struct ptx_reason *out_reason);

// Puts the parameters of such a text into an entry, and the code before the place into its body.
struct gpu_edits;
void braid_gpu_ptx_put_before(struct gpu_edits *edits, const struct ptx_function *entry,
                              const char *text);

#endif
