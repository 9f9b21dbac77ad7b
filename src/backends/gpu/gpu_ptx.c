// SPDX-License-Identifier: Apache-2.0
// Changing PTX so that its kernels may be launched before what they wait for has ended.
#include "backends/gpu/gpu_ptx.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "backends/gpu/gpu_edit.h"

enum { OLDEST_TARGET = 70, EARLY_TARGET = 90 };

static const char start[] = "\n\tgriddepcontrol.launch_dependents;\n\tgriddepcontrol.wait;\n";

// A word of the text (letters, digits, and . _ $ %), a string, or one other character.
struct word {
    const char *at;
    size_t length;
};

static const char *skip_comment(const char *text)
{
    if (text[1] == '/')
        return text + strcspn(text, "\n");
    const char *end = strstr(text + 2, "*/");
    return end ? end + 2 : text + strlen(text);
}

static const char *skip_space(const char *text)
{
    while (*text) {
        if (isspace((unsigned char)*text))
            text++;
        else if (text[0] == '/' && (text[1] == '/' || text[1] == '*'))
            text = skip_comment(text);
        else
            break;
    }
    return text;
}

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || (c && strchr("._$%", c));
}

// The word at or after *text, which moves past it; length 0 at the end.
static struct word next_word(const char **text)
{
    struct word word = { .at = skip_space(*text) };
    const char *end = word.at;
    if (*end == '"') {
        end += 1 + strcspn(end + 1, "\"");
        end += *end == '"';
    } else if (in_word(*end)) {
        while (in_word(*end))
            end++;
    } else if (*end) {
        end++;
    }
    word.length = (size_t)(end - word.at);
    *text = end;
    return word;
}

static bool word_is(struct word word, const char *text)
{
    return word.length == strlen(text) && memcmp(word.at, text, word.length) == 0;
}

static bool begins_with(struct word word, const char *text)
{
    return word.length >= strlen(text) && memcmp(word.at, text, strlen(text)) == 0;
}

bool braid_gpu_is_ptx(const char *image)
{
    return word_is(next_word(&image), ".version");
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
    struct word version = next_word(text);
    char *end = NULL;
    long major = strtol(version.at, &end, 10);
    long minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
    if (major < 7 || (major == 7 && minor < 8))
        braid_gpu_edit(&editor->edits, version.at, version.at + version.length, "7.8");
}

// .target sm_80, debug
static void read_target(struct editor *editor, const char **text)
{
    struct word target = next_word(text);
    if (!begins_with(target, "sm_")) {
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
    struct word word = next_word(text);
    int depth = 0;
    while (word.length > 0 && !(depth == 0 && (word_is(word, "{") || word_is(word, ";")))) {
        depth += word_is(word, "(") - word_is(word, ")");
        if (begins_with(word, ".reqnctapercluster") || begins_with(word, ".explicitcluster") ||
            begins_with(word, ".maxclusterrank"))
            refuse(editor, "it uses clusters");
        word = next_word(text);
    }
    if (word_is(word, "{"))
        braid_gpu_edit(&editor->edits, *text, *text, start);
}

static void look_at(struct editor *editor, struct word word, const char **text)
{
    if (word_is(word, ".version"))
        read_version(editor, text);
    else if (word_is(word, ".target"))
        read_target(editor, text);
    else if (word_is(word, ".entry"))
        read_entry(editor, text);
    else if (begins_with(word, "griddepcontrol"))
        refuse(editor, "it uses griddepcontrol itself");
    else if (begins_with(word, "barrier.cluster") || begins_with(word, "%cluster"))
        refuse(editor, "it uses clusters");
}

char *braid_gpu_ptx_with_early_start(const char *text, const char **out_reason)
{
    struct editor editor = { 0 };
    const char *at = text;
    struct word word = next_word(&at);
    while (word.length > 0 && !editor.refused) {
        look_at(&editor, word, &at);
        word = next_word(&at);
    }
    char *made = editor.refused ? NULL : braid_gpu_apply_edits(&editor.edits, text);
    braid_gpu_edits_finish(&editor.edits);
    *out_reason = editor.reason;
    return made;
}
