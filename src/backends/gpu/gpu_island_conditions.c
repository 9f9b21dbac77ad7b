// SPDX-License-Identifier: Apache-2.0
// Which parts of a source its preprocessor leaves out, as far as that can be told without one.
#include "backends/gpu/gpu_island_conditions.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool are_equal(struct token a, struct token b)
{
    return a.length == b.length && memcmp(a.at, b.at, a.length) == 0;
}

static struct island_macro *find_macro(const struct island_conditions *conditions,
                                       struct token name)
{
    for (size_t i = 0; i < conditions->num_macros; i++) {
        if (are_equal(conditions->macros[i].name, name))
            return &conditions->macros[i];
    }
    return NULL;
}

static enum island_answer is_defined(const struct island_conditions *conditions, struct token name)
{
    const struct island_macro *macro = find_macro(conditions, name);
    if (macro)
        return macro->is_defined;
    bool by_others =
        conditions->includes || name.kind != TOKEN_WORD || !isupper((unsigned char)name.at[0]);
    return by_others ? ISLAND_PERHAPS : ISLAND_NO;
}

static void set_macro(struct island_conditions *conditions, struct token name, bool defined)
{
    enum island_answer answer = defined ? ISLAND_YES : ISLAND_NO;
    if (braid_island_conditions_here(conditions) == ISLAND_PERHAPS &&
        is_defined(conditions, name) != answer)
        answer = ISLAND_PERHAPS;
    struct island_macro *macro = find_macro(conditions, name);
    if (macro) {
        macro->is_defined = answer;
        return;
    }
    struct island_macro *macros =
        realloc(conditions->macros, (conditions->num_macros + 1) * sizeof(*macros));
    if (!macros) {
        conditions->failed = true;
        return;
    }
    conditions->macros = macros;
    macros[conditions->num_macros++] = (struct island_macro){ name, answer };
}

static enum island_answer opposite(enum island_answer answer)
{
    return answer == ISLAND_PERHAPS ? answer : answer == ISLAND_YES ? ISLAND_NO : ISLAND_YES;
}

static enum island_answer answer_if(const struct island_conditions *conditions, struct token word,
                                    struct token name)
{
    if (braid_token_is(word, "ifdef"))
        return is_defined(conditions, name);
    if (braid_token_is(word, "ifndef"))
        return opposite(is_defined(conditions, name));
    return ISLAND_PERHAPS;
}

static void open_condition(struct island_conditions *conditions, enum island_answer answer)
{
    if (conditions->depth < ISLAND_MOST_CONDITIONS)
        conditions->open[conditions->depth] = answer;
    conditions->depth++;
}

void braid_island_conditions_read(struct island_conditions *conditions, struct token word,
                                  struct token name)
{
    bool taken = braid_island_conditions_here(conditions) != ISLAND_NO;
    bool has_last = conditions->depth > 0 && conditions->depth <= ISLAND_MOST_CONDITIONS;
    enum island_answer *last = &conditions->open[has_last ? conditions->depth - 1 : 0];
    if (braid_token_begins(word, "if"))
        open_condition(conditions, taken ? answer_if(conditions, word, name) : ISLAND_NO);
    else if (braid_token_begins(word, "el") && has_last)
        *last = braid_token_is(word, "else") ? opposite(*last) : ISLAND_PERHAPS;
    else if (braid_token_is(word, "endif") && conditions->depth > 0)
        conditions->depth--;
    else if (taken && (braid_token_is(word, "define") || braid_token_is(word, "undef")))
        set_macro(conditions, name, braid_token_is(word, "define"));
    else if (taken && braid_token_is(word, "include"))
        conditions->includes = true;
}

enum island_answer braid_island_conditions_here(const struct island_conditions *conditions)
{
    enum island_answer here =
        conditions->depth > ISLAND_MOST_CONDITIONS ? ISLAND_PERHAPS : ISLAND_YES;
    int known =
        conditions->depth > ISLAND_MOST_CONDITIONS ? ISLAND_MOST_CONDITIONS : conditions->depth;
    for (int i = 0; i < known && here != ISLAND_NO; i++) {
        if (conditions->open[i] != ISLAND_YES)
            here = conditions->open[i];
    }
    return here;
}

void braid_island_conditions_finish(struct island_conditions *conditions)
{
    free(conditions->macros);
    *conditions = (struct island_conditions){ 0 };
}
