// SPDX-License-Identifier: Apache-2.0
// Changing PTX so that its kernels read their grid from memory.
#include "backends/gpu/gpu_ptx_grid.h"

#include <stdbool.h>
#include <stdlib.h>

#include "backends/gpu/gpu_edit.h"
#include "backends/gpu/gpu_ptx_words.h"

#define PARAMETER ".param .u64 braid_grid_from"

#define READ(place, dimension)                                                                     \
    "\tld.global.u32 %braid_grid_" dimension ", [%braid_from" place "];\n"                         \
    "\tmov.u32 %braid_block, %nctaid." dimension ";\n"                                             \
    "\tmin.u32 %braid_grid_" dimension ", %braid_grid_" dimension ", %braid_block;\n"              \
    "\tmov.u32 %braid_block, %ctaid." dimension ";\n"                                              \
    "\tsetp.ge.u32 %braid_beyond, %braid_block, %braid_grid_" dimension ";\n"                      \
    "\t@%braid_beyond ret;\n"

static const char begin[] = "\n\t.reg .pred %braid_beyond;\n"
                            "\t.reg .b32 %braid_block;\n"
                            "\t.reg .b32 %braid_grid_x;\n"
                            "\t.reg .b32 %braid_grid_y;\n"
                            "\t.reg .b32 %braid_grid_z;\n"
                            "\t.reg .b64 %braid_from;\n"
                            "\tld.param.u64 %braid_from, [braid_grid_from];\n" READ("", "x")
                                READ("+4", "y") READ("+8", "z");

struct grid_editor {
    struct gpu_edits edits;
    const char *reason;
};

// A word outside of entries, or inside of one.
static void look_at(struct grid_editor *editor, struct ptx_word word, bool in_entry)
{
    static const struct {
        const char *word, *with;
    } grid[] = { { "%nctaid.x", "%braid_grid_x" },
                 { "%nctaid.y", "%braid_grid_y" },
                 { "%nctaid.z", "%braid_grid_z" } };
    if (braid_ptx_word_begins(word, "%cluster") || braid_ptx_word_begins(word, "%ncluster") ||
        braid_ptx_word_begins(word, "barrier.cluster"))
        editor->reason = "it uses clusters";
    if (!braid_ptx_word_begins(word, "%nctaid"))
        return;
    for (int i = 0; i < 3 && in_entry; i++) {
        if (!braid_ptx_word_is(word, grid[i].word))
            continue;
        braid_gpu_edit(&editor->edits, word.at, word.at + word.length, grid[i].with);
        return;
    }
    editor->reason = in_entry ? "it reads its grid in an unknown way"
                              : "a function of it reads "
                                "the grid";
}

// Behind those of the entry, from behind its name.
static void add_parameter(struct grid_editor *editor, const char **text)
{
    const char *ahead = *text;
    if (!braid_ptx_word_is(braid_ptx_next_word(&ahead), "(")) {
        braid_gpu_edit(&editor->edits, *text, *text, "(" PARAMETER ")\n");
        return;
    }
    bool empty = true;
    struct ptx_word word = braid_ptx_next_word(&ahead);
    for (; word.length && !braid_ptx_word_is(word, ")"); word = braid_ptx_next_word(&ahead))
        empty = false;
    braid_gpu_edit(&editor->edits, word.at, word.at, empty ? PARAMETER : ", " PARAMETER);
    *text = ahead;
}

// From behind the brace that opens it to behind the one that closes it.
static void read_body(struct grid_editor *editor, const char **text)
{
    braid_gpu_edit(&editor->edits, *text, *text, begin);
    for (int depth = 1; depth > 0 && !editor->reason;) {
        struct ptx_word word = braid_ptx_next_word(text);
        if (word.length == 0)
            return;
        depth += braid_ptx_word_is(word, "{") - braid_ptx_word_is(word, "}");
        look_at(editor, word, true);
    }
}

static void read_entry(struct grid_editor *editor, const char **text)
{
    braid_ptx_next_word(text); // its name
    add_parameter(editor, text);
    struct ptx_word word = braid_ptx_next_word(text);
    while (word.length && !braid_ptx_word_is(word, "{") && !braid_ptx_word_is(word, ";")) {
        if (braid_ptx_word_begins(word, ".reqnctapercluster") ||
            braid_ptx_word_begins(word, ".explicitcluster") ||
            braid_ptx_word_begins(word, ".maxclusterrank"))
            editor->reason = "it uses clusters";
        word = braid_ptx_next_word(text);
    }
    if (braid_ptx_word_is(word, "{"))
        read_body(editor, text);
}

char *braid_gpu_ptx_with_read_grid(const char *text, const char **out_reason)
{
    struct grid_editor editor = { 0 };
    const char *at = text;
    struct ptx_word word = braid_ptx_next_word(&at);
    while (word.length > 0 && !editor.reason) {
        if (braid_ptx_word_is(word, ".entry"))
            read_entry(&editor, &at);
        else
            look_at(&editor, word, false);
        word = braid_ptx_next_word(&at);
    }
    char *made = editor.reason ? NULL : braid_gpu_apply_edits(&editor.edits, text);
    braid_gpu_edits_finish(&editor.edits);
    *out_reason = editor.reason;
    return made;
}
