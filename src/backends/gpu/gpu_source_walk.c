// SPDX-License-Identifier: Apache-2.0
// HIP's source body by body, so that its kernels can be changed.
#include "backends/gpu/gpu_source_walk.h"

#include <string.h>

static const char not_told_apart[] = "its kernels are not told apart";

void braid_source_refuse(struct source_walk *walk, const char *reason)
{
    if (!walk->reason)
        walk->reason = reason;
}

bool braid_source_add_name(struct array *names, struct token name)
{
    struct token *added = braid_array_append(names, 1, sizeof(name));
    if (added)
        *added = name;
    return added != NULL;
}

bool braid_source_has_name(const struct array *names, struct token word)
{
    const struct token *items = names->items;
    for (size_t i = 0; i < names->num; i++) {
        if (items[i].length == word.length && memcmp(items[i].at, word.at, word.length) == 0)
            return true;
    }
    return false;
}

static void read_directive(struct source_walk *walk, struct token directive)
{
    struct lexer inside = { .at = directive.at + 1 };
    struct token first = braid_token_next(&inside), token = braid_token_next(&inside);
    if (braid_token_is(first, "include") && token.kind == TOKEN_STRING)
        braid_source_refuse(walk, "it includes a file");
    for (; token.kind != TOKEN_END && token.at < directive.at + directive.length;
         token = braid_token_next(&inside)) {
        if (braid_token_is(token, "__global__"))
            braid_source_refuse(walk, "a macro hides its kernels");
    }
    if (walk->look_at_directive)
        walk->look_at_directive(walk, directive);
}

static bool is_attribute(struct token word)
{
    static const char *const words[] = { "__launch_bounds__", "__attribute__",    "alignas",
                                         "noexcept",          "__cluster_dims__", "__maxnreg__",
                                         "__block_size__",    "__declspec",       "__align__",
                                         "requires",          "decltype",         NULL };
    return braid_token_is_one_of(word, words);
}

// Of a kernel's parentheses the first behind its void are the parameters, whatever macro follows.
static void open_parentheses(struct source_head *head, struct token token)
{
    head->is_aside = is_attribute(head->word) || (head->is_kernel && head->has_parameters);
    if (head->is_aside)
        return;
    head->name = head->word;
    head->first = token.at + 1;
    head->num_tokens = head->num_void = 0;
    head->has_default = false;
}

static void close_parentheses(struct source_head *head, struct token token)
{
    if (head->is_aside)
        return;
    head->last = token.at;
    head->has_parameters = head->is_void;
}

static void read_parentheses(struct source_head *head, struct token token)
{
    if (braid_token_is(token, "(") && head->parentheses++ == 0) {
        open_parentheses(head, token);
    } else if (braid_token_is(token, ")") && --head->parentheses == 0) {
        close_parentheses(head, token);
    } else if (!head->is_aside) {
        head->num_tokens++;
        head->num_void += braid_token_is(token, "void");
        head->has_default |= braid_token_is(token, "=");
    }
}

static void note_word(struct source_head *head, struct token word)
{
    head->word = word;
    head->is_kernel |= braid_token_is(word, "__global__");
    head->is_void |= head->angles == 0 && braid_token_is(word, "void");
    head->has_operator |= braid_token_is(word, "operator");
    head->opens_scope |= braid_token_is(word, "namespace") || braid_token_is(word, "extern");
    head->is_type |=
        head->angles == 0 && (braid_token_is(word, "struct") || braid_token_is(word, "class") ||
                              braid_token_is(word, "union"));
}

// A namespace's or a block's of linkage is no body, and is closed by a brace that nobody counts.
static void begin_body(struct source_walk *walk, struct token token)
{
    const struct source_head *head = &walk->head;
    if (head->opens_scope && !head->last) {
        walk->head = (struct source_head){ 0 };
        return;
    }
    if (head->is_kernel && !head->last)
        braid_source_refuse(walk, not_told_apart);
    walk->braces = 1;
    walk->body = token.at + 1;
}

static void read_head(struct source_walk *walk, struct token token)
{
    struct source_head *head = &walk->head;
    if (head->parentheses || braid_token_is(token, "(")) {
        read_parentheses(head, token);
    } else if (token.kind == TOKEN_WORD) {
        note_word(head, token);
    } else if (braid_token_is(token, "{")) {
        begin_body(walk, token);
    } else if (braid_token_is(token, ";") || braid_token_is(token, "}")) {
        if (head->is_kernel)
            braid_source_refuse(walk, "a kernel of it is declared before it is defined");
        *head = (struct source_head){ 0 };
    } else {
        head->angles += braid_token_is(token, "<") - braid_token_is(token, ">");
    }
}

static void read_token(struct source_walk *walk, struct token token)
{
    if (token.kind == TOKEN_DIRECTIVE) {
        read_directive(walk, token);
        return;
    }
    if (token.kind == TOKEN_WORD && walk->look_at_word)
        walk->look_at_word(walk, token);
    if (walk->braces == 0) {
        read_head(walk, token);
        return;
    }
    if (braid_token_is(token, "__global__"))
        braid_source_refuse(walk, not_told_apart);
    walk->braces += braid_token_is(token, "{") - braid_token_is(token, "}");
    if (walk->braces == 0) {
        walk->end_body(walk);
        walk->head = (struct source_head){ 0 };
    }
}

void braid_source_walk(struct source_walk *walk, const char *source)
{
    struct token token;
    walk->lexer = (struct lexer){ .at = source, .line_start = true };
    while ((token = braid_token_next(&walk->lexer)).kind != TOKEN_END && !walk->reason)
        read_token(walk, token);
    if (walk->lexer.has_raw_string)
        braid_source_refuse(walk, "it has a raw string");
    if (walk->braces)
        braid_source_refuse(walk, not_told_apart);
}

void braid_source_add_parameters(struct source_walk *walk, const char *more,
                                 const char *more_with_defaults)
{
    const struct source_head *head = &walk->head;
    if (head->has_default)
        more = more_with_defaults;
    if (head->num_tokens == head->num_void)
        braid_gpu_edit(&walk->edits, head->first, head->last, more + strlen(", "));
    else
        braid_gpu_edit(&walk->edits, head->last, head->last, more);
}
