// SPDX-License-Identifier: Apache-2.0
// Changing PTX so that its kernels may be launched before their predecessors have ended.
#include "backends/gpu/gpu_ptx_early.h"

#include "backends/gpu/gpu_edit.h"
#include "backends/gpu/gpu_ptx_ends.h"

enum { OLDEST_TARGET = 70, EARLY_TARGET = 90 };

static const char start[] = "\n\tgriddepcontrol.wait;\n";

static const char *find_reason(const struct ptx *ptx)
{
    if (ptx->facts & PTX_GRID_CONTROL)
        return "it uses griddepcontrol itself";
    if (ptx->facts & PTX_CLUSTER)
        return "it uses clusters";
    if (ptx->target.length && !braid_ptx_word_begins(ptx->target, "sm_"))
        return "its target is not of the form sm_N";
    if (ptx->target.length && braid_ptx_target(ptx) < OLDEST_TARGET)
        return "it is for a device before sm_70";
    return NULL;
}

static void edit(const struct ptx *ptx, struct gpu_edits *edits)
{
    const struct ptx_word target = ptx->target;
    braid_ptx_raise_version(edits, ptx, "7.8"); // griddepcontrol came with it
    if (target.length && braid_ptx_target(ptx) < EARLY_TARGET)
        braid_gpu_edit(edits, target.at, target.at + target.length, "sm_90");
    for (size_t i = 0; i < ptx->functions.num; i++) {
        const struct ptx_function *function = &ptx_functions(ptx)[i];
        const char *at = function->is_entry && function->body
                             ? braid_gpu_ptx_behind_decision(ptx, function)
                             : NULL;
        if (at)
            braid_gpu_edit(edits, at, at, start);
    }
}

char *braid_gpu_ptx_with_early_start(const char *text, struct ptx_reason *out_reason)
{
    struct ptx ptx;
    if (!braid_ptx_read(text, &ptx, out_reason))
        return NULL;
    struct gpu_edits edits = { 0 };
    const char *reason = find_reason(&ptx);
    if (!reason)
        edit(&ptx, &edits);
    char *made = reason ? NULL : braid_gpu_apply_edits(&edits, text);
    braid_ptx_refuse(out_reason, "%s", reason ? reason : "");
    braid_gpu_edits_finish(&edits);
    braid_ptx_finish(&ptx);
    return made;
}
