// SPDX-License-Identifier: Apache-2.0
// The changes of a kernel's text, in the order in which they are made.
#include "backends/gpu/gpu_ptx_passes.h"

#include <stdlib.h>

#include "backends/gpu/gpu_ptx_early.h"
#include "backends/gpu/gpu_ptx_ends.h"
#include "backends/gpu/gpu_ptx_grid.h"
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

// A text that waits is not changed to wait again, so the wait of a kernel that prefetches comes
// first. A kernel that also writes its times writes the end before it prefetches.
static const struct pass {
    enum kernel_change change;
    const char *what; // such a kernel does
    uint32_t num_parameters;
    char *(*change_text)(const char *text, struct ptx_reason *out_reason);
} passes[] = {
    // Its parameter is the launch's own.
    { KERNEL_READS_GRID, "read its grid from memory", 0, braid_gpu_ptx_with_read_grid },
    { KERNEL_CHANGED, NULL, 0, NULL }, // see backend_change
    { KERNEL_NOTES, "note its begin and end", GPU_NOTE_PARAMETERS, braid_gpu_ptx_with_notes },
    { KERNEL_NOTES_BEGIN, "note its begin", GPU_NOTE_PARAMETERS, braid_gpu_ptx_with_begin_notes },
    { KERNEL_WRITES_TIMES, "write its times", GPU_STAMP_PARAMETERS, braid_gpu_ptx_with_stamps },
    { KERNEL_WAITS_FIRST, NULL, 0, braid_gpu_ptx_with_early_start },
    { KERNEL_PREFETCHES, "fetch inputs of the next kernel", GPU_PREFETCH_PARAMETERS,
      braid_gpu_ptx_with_prefetch },
};
enum { NUM_PASSES = sizeof(passes) / sizeof(passes[0]) };

const char *braid_gpu_ptx_describe(const struct gpu_code *code)
{
    const char *what = "";
    for (int i = 0; i < NUM_PASSES; i++) {
        if (code->changes & passes[i].change)
            what = passes[i].change == KERNEL_CHANGED ? code->change->what : passes[i].what;
    }
    return what;
}

uint32_t braid_gpu_ptx_parameters(const struct gpu_code *code)
{
    uint32_t num = code->change ? code->change->num_parameters : 0;
    for (int i = 0; i < NUM_PASSES; i++)
        num += code->changes & passes[i].change ? passes[i].num_parameters : 0;
    return num;
}

char *braid_gpu_ptx_change(const char *text, const struct gpu_code *code, unsigned *changes,
                           struct ptx_reason *out_reason)
{
    char *made = NULL;
    if (*changes & KERNEL_PREFETCHES)
        *changes |= KERNEL_WAITS_FIRST;
    for (const struct pass *pass = passes; pass < passes + NUM_PASSES; pass++) {
        const char *from = made ? made : text;
        if (!(*changes & pass->change))
            continue;
        char *next = pass->change == KERNEL_CHANGED
                         ? code->change->change_text(code->change, from, out_reason)
                         : pass->change_text(from, out_reason);
        if (!next && *out_reason->text && pass->change == KERNEL_WAITS_FIRST &&
            !(*changes & KERNEL_PREFETCHES)) {
            *changes &= ~(unsigned)KERNEL_WAITS_FIRST;
            continue;
        }
        free(made);
        made = next;
        if (!made)
            return NULL;
    }
    return made;
}
