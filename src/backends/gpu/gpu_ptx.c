// SPDX-License-Identifier: Apache-2.0
// Changing PTX so that its kernels may be launched before what they wait for has ended.
#include "backends/gpu/gpu_ptx.h"

#include <stdlib.h>
#include <string.h>

#include "backends/gpu/gpu_edit.h"
#include "backends/gpu/gpu_ptx_stamps.h"
#include "backends/gpu/gpu_ptx_words.h"

enum { OLDEST_TARGET = 70, EARLY_TARGET = 90 };

static const char start[] = "\n\tgriddepcontrol.wait;\n";

bool braid_gpu_is_ptx(const char *image)
{
    return braid_ptx_word_is(braid_ptx_next_word(&image), ".version");
}

struct editor {
    struct gpu_edits edits;
    const char *reason; // why the text stays as it is
    bool refused;
};

static void refuse(struct editor *editor, const char *reason)
{
    editor->refused = true;
    editor->reason = reason;
}

// .version 6.4: griddepcontrol came with 7.8.
static void read_version(struct editor *editor, const char **text)
{
    struct ptx_word version = braid_ptx_next_word(text);
    char *end = NULL;
    long major = strtol(version.at, &end, 10);
    long minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
    if (major < 7 || (major == 7 && minor < 8))
        braid_gpu_edit(&editor->edits, version.at, version.at + version.length, "7.8");
}

// .target sm_80, debug
static void read_target(struct editor *editor, const char **text)
{
    struct ptx_word target = braid_ptx_next_word(text);
    if (!braid_ptx_word_begins(target, "sm_")) {
        refuse(editor, "its target is not of the form sm_N");
        return;
    }
    long number = strtol(target.at + 3, NULL, 10);
    if (number < OLDEST_TARGET)
        refuse(editor, "it is for a device before sm_70");
    else if (number < EARLY_TARGET)
        braid_gpu_edit(&editor->edits, target.at, target.at + target.length, "sm_90");
}

// From behind .entry to behind the brace that opens the body, or the semicolon of a declaration.
static void read_entry(struct editor *editor, const char **text)
{
    struct ptx_word word = braid_ptx_next_word(text);
    int depth = 0;
    while (word.length > 0 &&
           !(depth == 0 && (braid_ptx_word_is(word, "{") || braid_ptx_word_is(word, ";")))) {
        depth += braid_ptx_word_is(word, "(") - braid_ptx_word_is(word, ")");
        if (braid_ptx_word_begins(word, ".reqnctapercluster") ||
            braid_ptx_word_begins(word, ".explicitcluster") ||
            braid_ptx_word_begins(word, ".maxclusterrank"))
            refuse(editor, "it uses clusters");
        word = braid_ptx_next_word(text);
    }
    if (!braid_ptx_word_is(word, "{"))
        return;
    const char *at = braid_gpu_ptx_behind_decision(*text);
    braid_gpu_edit(&editor->edits, at, at, start);
}

static void look_at(struct editor *editor, struct ptx_word word, const char **text)
{
    if (braid_ptx_word_is(word, ".version"))
        read_version(editor, text);
    else if (braid_ptx_word_is(word, ".target"))
        read_target(editor, text);
    else if (braid_ptx_word_is(word, ".entry"))
        read_entry(editor, text);
    else if (braid_ptx_word_begins(word, "griddepcontrol"))
        refuse(editor, "it uses griddepcontrol itself");
    else if (braid_ptx_word_begins(word, "barrier.cluster") ||
             braid_ptx_word_begins(word, "%cluster"))
        refuse(editor, "it uses clusters");
}

char *braid_gpu_ptx_with_early_start(const char *text, const char **out_reason)
{
    struct editor editor = { 0 };
    const char *at = text;
    struct ptx_word word = braid_ptx_next_word(&at);
    while (word.length > 0 && !editor.refused) {
        look_at(&editor, word, &at);
        word = braid_ptx_next_word(&at);
    }
    char *made = editor.refused ? NULL : braid_gpu_apply_edits(&editor.edits, text);
    braid_gpu_edits_finish(&editor.edits);
    *out_reason = editor.reason;
    return made;
}
