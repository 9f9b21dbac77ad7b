// SPDX-License-Identifier: Apache-2.0
// Passes that put code at the begin and at the end of kernels: notes, times, prefetches.
#include "backends/gpu/gpu_ptx_ends.h"
#include "backends/gpu/gpu_ptx_notes.h"
#include "backends/gpu/gpu_ptx_prefetch.h"
#include "backends/gpu/gpu_ptx_stamps.h"

extern const char braid_gpu_ptx_notes_ptx[], braid_gpu_ptx_stamps_ptx[],
    braid_gpu_ptx_prefetch_ptx[];

char *braid_gpu_ptx_with_notes(const char *text, struct ptx_reason *out_reason)
{
    static const struct ptx_ends ends = {
        .text = braid_gpu_ptx_notes_ptx,
        .leave = "bra braid_end",
        .version = "6.0",
        .needs_sm_70 = true,
        .meets = true,
    };
    return braid_gpu_ptx_with_ends(text, &ends, out_reason);
}

char *braid_gpu_ptx_with_begin_notes(const char *text, struct ptx_reason *out_reason)
{
    static const struct ptx_ends ends = { .text = braid_gpu_ptx_notes_ptx };
    return braid_gpu_ptx_with_ends(text, &ends, out_reason);
}

char *braid_gpu_ptx_with_stamps(const char *text, struct ptx_reason *out_reason)
{
    static const struct ptx_ends ends = {
        .text = braid_gpu_ptx_stamps_ptx,
        .leave = "bra braid_end",
        .version = "6.2", // activemask came with it
    };
    return braid_gpu_ptx_with_ends(text, &ends, out_reason);
}

char *braid_gpu_ptx_with_prefetch(const char *text, struct ptx_reason *out_reason)
{
    static const struct ptx_ends ends = {
        .text = braid_gpu_ptx_prefetch_ptx,
        .leave = "bra braid_fetch", // behind the code of gpu_ptx_stamps.h, where that is
        .version = "8.0",           // cp.async.bulk came with it
    };
    return braid_gpu_ptx_with_ends(text, &ends, out_reason);
}
