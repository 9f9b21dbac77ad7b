// SPDX-License-Identifier: Apache-2.0
// Whether a module changes a variable of its own.
#include "backends/gpu/gpu_ptx_change.h"

// The variable, and registers that may have an address in it.
struct tracks {
    struct array words; // struct ptx_word
    bool failed;
};

static bool is_tracked(const struct tracks *tracks, struct ptx_word word)
{
    const struct ptx_word *words = tracks->words.items;
    for (size_t i = 0; i < tracks->words.num; i++) {
        if (ptx_same_word(words[i], word))
            return true;
    }
    return false;
}

// Whether the word is new.
static bool track(struct tracks *tracks, struct ptx_word word)
{
    if (is_tracked(tracks, word))
        return false;
    struct ptx_word *slot = braid_array_append(&tracks->words, 1, sizeof(*slot));
    tracks->failed |= !slot;
    if (slot)
        *slot = word;
    return slot != NULL;
}

// Whether a tracked word stands between the two places.
static bool has_tracked(const struct tracks *tracks, const char *at, const char *end)
{
    for (struct ptx_word word = braid_ptx_next_word(&at); word.length && word.at < end;
         word = braid_ptx_next_word(&at)) {
        if (is_tracked(tracks, word))
            return true;
    }
    return false;
}

static const char *end_of_first(const struct ptx_statement *statement)
{
    const char *at = statement->word.at + statement->word.length;
    struct ptx_word word = braid_ptx_next_word(&at);
    int depth = 0;
    while (at < statement->end && !(depth == 0 && braid_ptx_word_is(word, ","))) {
        depth += braid_ptx_word_is(word, "{") - braid_ptx_word_is(word, "}");
        word = braid_ptx_next_word(&at);
    }
    return at;
}

// A value computed from an address may be an address: tracks all registers that are written.
static bool track_results(struct tracks *tracks, const struct ptx_statement *statement,
                          const char *end)
{
    const char *at = statement->word.at + statement->word.length;
    bool grows = false;
    for (struct ptx_word word = braid_ptx_next_word(&at); word.length && word.at < end;
         word = braid_ptx_next_word(&at)) {
        if (braid_ptx_word_begins(word, "%"))
            grows |= track(tracks, word);
    }
    return grows;
}

static bool only_reads(struct ptx_word instruction)
{
    static const char *const names[] = { "ld.", "ldu.", "prefetch", NULL };
    for (const char *const *name = names; *name; name++) {
        if (braid_ptx_word_begins(instruction, *name))
            return true;
    }
    return false;
}

static bool writes(const struct ptx_statement *statement)
{
    return braid_ptx_word_begins(statement->word, "st.") ||
           (statement->facts & (PTX_ATOMIC | PTX_CALL | PTX_ASYNC | PTX_TEXTURE));
}

// Whether the function changes it; *grows: more registers have its address now.
static bool look(const struct ptx *ptx, const struct ptx_function *function, struct tracks *tracks,
                 bool *grows)
{
    for (size_t i = 0; i < function->num; i++) {
        const struct ptx_statement *statement = &ptx_statements(ptx, function)[i];
        if (statement->kind != PTX_INSTRUCTION || only_reads(statement->word))
            continue;
        const char *behind = end_of_first(statement);
        if (writes(statement)) {
            if (has_tracked(tracks, statement->word.at, statement->end))
                return true;
        } else if (has_tracked(tracks, behind, statement->end)) {
            *grows |= track_results(tracks, statement, behind);
        }
    }
    return false;
}

// Whether a variable begins as an address in this one: its own name stands there once.
static bool is_pointed_to(const struct ptx *ptx, struct ptx_word variable)
{
    int num = 0;
    for (size_t i = 0; i < ptx->declarations.num; i++) {
        const char *at = ptx_declarations(ptx)[i].begin, *end = ptx_declarations(ptx)[i].end;
        while (at < end)
            num += ptx_same_word(braid_ptx_next_word(&at), variable);
    }
    return num > 1;
}

bool braid_ptx_may_change(const struct ptx *ptx, struct ptx_word variable)
{
    struct tracks tracks = { 0 };
    bool changes = is_pointed_to(ptx, variable);
    // Texts of printf and assert, which go to functions that change nothing.
    if (braid_ptx_word_begins(variable, "$str") || braid_ptx_word_begins(variable, "__unnamed_"))
        return false;
    for (size_t i = 0; i < ptx->functions.num && !changes; i++) {
        bool grows = true;
        tracks.words.num = 0;
        track(&tracks, variable);
        while (grows && !changes) {
            grows = false;
            changes = look(ptx, &ptx_functions(ptx)[i], &tracks, &grows);
        }
    }
    changes |= tracks.failed;
    braid_array_finish(&tracks.words);
    return changes;
}
