// SPDX-License-Identifier: Apache-2.0
// Changing PTX so that its kernels read their grid from memory.
#include "backends/gpu/gpu_ptx_grid.h"

#include "backends/gpu/gpu_edit.h"
#include "backends/gpu/gpu_ptx_ends.h"

extern const char braid_gpu_ptx_grid_ptx[];

// The word of the statement in place of which the grid that was read stands.
static const char *find_grid(struct ptx_word word)
{
    static const struct {
        const char *word, *with;
    } grid[] = { { "%nctaid.x", "%braid_grid_x" },
                 { "%nctaid.y", "%braid_grid_y" },
                 { "%nctaid.z", "%braid_grid_z" } };
    for (int i = 0; i < 3; i++) {
        if (braid_ptx_word_is(word, grid[i].word))
            return grid[i].with;
    }
    return NULL;
}

// Returns why it cannot be done, or NULL.
static const char *edit_statement(const struct ptx_function *function,
                                  const struct ptx_statement *statement, struct gpu_edits *edits)
{
    const char *at = statement->begin;
    while (at < statement->end) {
        struct ptx_word word = braid_ptx_next_word(&at);
        if (at > statement->end || !braid_ptx_word_begins(word, "%nctaid"))
            continue;
        const char *with = find_grid(word);
        if (!function->is_entry)
            return "a function of it reads the grid";
        if (!with)
            return "it reads its grid in an unknown way";
        braid_gpu_edit(edits, word.at, word.at + word.length, with);
    }
    return NULL;
}

static const char *edit_function(const struct ptx *ptx, const struct ptx_function *function,
                                 struct gpu_edits *edits)
{
    const char *reason = NULL;
    if (function->is_entry)
        braid_gpu_ptx_put_before(edits, function, braid_gpu_ptx_grid_ptx);
    for (size_t i = 0; i < function->num && !reason; i++)
        reason = edit_statement(function, &ptx_statements(ptx, function)[i], edits);
    return reason;
}

char *braid_gpu_ptx_with_read_grid(const char *text, struct ptx_reason *out_reason)
{
    struct ptx ptx;
    if (!braid_ptx_read(text, &ptx, out_reason))
        return NULL;
    struct gpu_edits edits = { 0 };
    const char *reason = ptx.facts & PTX_CLUSTER ? "it uses clusters" : NULL;
    for (size_t i = 0; i < ptx.functions.num && !reason; i++)
        reason = edit_function(&ptx, &ptx_functions(&ptx)[i], &edits);
    char *made = reason ? NULL : braid_gpu_apply_edits(&edits, text);
    braid_ptx_refuse(out_reason, "%s", reason ? reason : "");
    braid_gpu_edits_finish(&edits);
    braid_ptx_finish(&ptx);
    return made;
}
