// SPDX-License-Identifier: Apache-2.0
// HIP's source body by body, so that its kernels can be changed.
#include "backends/gpu/gpu_source_walk.h"

#include <ctype.h>
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

static bool is_value(struct token token)
{
    return token.kind == TOKEN_STRING ||
           (token.kind == TOKEN_WORD && isdigit((unsigned char)*token.at));
}

static void add_to_list(struct source_list *list, struct token token)
{
    static const char *const pointers[] = { "*", "&", NULL };
    bool is_name = token.kind == TOKEN_WORD && !is_value(token);
    if (list->num_tokens++ == 0)
        list->has_value = is_value(token);
    list->has_type |= is_name && list->may_be_type;
    if (!list->may_be_type || !braid_token_is_one_of(token, pointers))
        list->may_be_type = is_name || braid_token_is(token, ">");
    list->num_void += braid_token_is(token, "void");
    list->has_default |= braid_token_is(token, "=");
}

static enum source_likeness likeness(const struct source_list *list)
{
    if (list->num_tokens == list->num_void)
        return LIKE_NOTHING;
    if (list->has_value)
        return LIKE_VALUES;
    return list->has_type ? LIKE_PARAMETERS : LIKE_WORDS;
}

// Macros stand before the name as well as behind the parameters, and only what is in parentheses
// tells the two from each other. Of two that look alike the first is taken behind `void`. Those of
// a template's parameters are the last to be taken.
static void close_list(struct source_head *head, struct token token)
{
    head->list.last = token.at;
    head->list.has_value |= head->angles > 0;
    enum source_likeness now = likeness(&head->list), before = likeness(&head->parameters);
    if (!head->parameters.last || now > before || (now == before && !head->is_void))
        head->parameters = head->list;
}

static void read_parentheses(struct source_head *head, struct token token)
{
    if (braid_token_is(token, "(") && head->parentheses++ == 0) {
        head->is_aside = is_attribute(head->word) || head->squares;
        head->list = (struct source_list){ .name = head->word, .first = token.at + 1 };
    } else if (braid_token_is(token, ")") && --head->parentheses == 0) {
        if (!head->is_aside)
            close_list(head, token);
    } else {
        add_to_list(&head->list, token);
    }
}

// Behind what templates and macros say; parentheses there were no parameters, and angles may have
// been shifts.
static bool begins_declaration(struct token word)
{
    return braid_token_is(word, "__global__") || braid_token_is(word, "__device__");
}

static void note_word(struct source_head *head, struct token word)
{
    head->word = word;
    head->is_kernel |= braid_token_is(word, "__global__");
    if (begins_declaration(word))
        head->angles = 0;
    bool is_void = head->angles == 0 && braid_token_is(word, "void");
    head->is_void |= is_void;
    if (is_void || begins_declaration(word))
        head->parameters = (struct source_list){ 0 };
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
    if (head->opens_scope && !head->parameters.last) {
        walk->head = (struct source_head){ 0 };
        return;
    }
    if (head->is_kernel && !head->parameters.last)
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
        if (head->squares == 0)
            note_word(head, token);
    } else if (braid_token_is(token, "{")) {
        begin_body(walk, token);
    } else if (braid_token_is(token, ";") || braid_token_is(token, "}")) {
        if (head->is_kernel)
            braid_source_refuse(walk, "a kernel of it is declared before it is defined");
        *head = (struct source_head){ 0 };
    } else {
        head->angles += braid_token_is(token, "<") - braid_token_is(token, ">");
        head->squares += braid_token_is(token, "[") - braid_token_is(token, "]");
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
    const struct source_list *list = &walk->head.parameters;
    if (list->has_default)
        more = more_with_defaults;
    if (list->num_tokens == list->num_void)
        braid_gpu_edit(&walk->edits, list->first, list->last, more + strlen(", "));
    else
        braid_gpu_edit(&walk->edits, list->last, list->last, more);
}
