// SPDX-License-Identifier: Apache-2.0
// Reading a kernel's source so that its kernels can be called from inside another one.
#include "backends/gpu/gpu_island_source.h"

#include <stdlib.h>
#include <string.h>

#include "backends/gpu/gpu_edit.h"
#include "backends/gpu/gpu_island_conditions.h"
#include "backends/gpu/gpu_tokens.h"

enum scope { SCOPE_NAMESPACE, SCOPE_TYPE, SCOPE_FUNCTION, SCOPE_KERNEL, SCOPE_OTHER };
enum { MAX_DEPTH = 200 };

// What the declaration at hand has said so far.
struct declaration {
    bool is_kernel, is_device, is_constant, is_template, is_type, is_namespace, has_value;
    bool has_parameters;
    struct token name; // the last word before the parameters
};

struct reader {
    struct lexer lexer;
    struct gpu_edits edits;
    struct island_source *made;
    const char *reason;
    bool failed;
    enum scope scopes[MAX_DEPTH];
    int depth;
    int parentheses;
    struct island_conditions conditions;
    struct declaration declaration;
    size_t num_includes, num_undefs; // bytes
};

static void refuse(struct reader *reader, const char *reason)
{
    if (!reader->failed)
        reader->reason = reason;
    reader->failed = true;
}

static enum scope scope_here(const struct reader *reader)
{
    return reader->depth > 0 ? reader->scopes[reader->depth - 1] : SCOPE_NAMESPACE;
}

static bool inside_function(const struct reader *reader)
{
    for (int i = 0; i < reader->depth; i++) {
        if (reader->scopes[i] == SCOPE_FUNCTION || reader->scopes[i] == SCOPE_KERNEL)
            return true;
    }
    return false;
}

// The facts that the code at hand adds to.
static struct island_facts *facts_here(const struct reader *reader)
{
    for (int i = 0; i < reader->depth; i++) {
        if (reader->scopes[i] == SCOPE_KERNEL)
            return &reader->made->entries[reader->made->num_entries - 1].facts;
    }
    return &reader->made->others;
}

static void note_word(struct reader *reader, struct token word)
{
    const char *reason = braid_island_note_word(facts_here(reader), word);
    if (reason)
        refuse(reader, reason);
}

static bool append(char **text, size_t *bytes, const char *more, size_t length, const char *end)
{
    size_t tail = strlen(end);
    char *grown = realloc(*text, *bytes + length + tail + 1);
    if (!grown)
        return false;
    memcpy(grown + *bytes, more, length);
    memcpy(grown + *bytes + length, end, tail + 1);
    *bytes += length + tail;
    *text = grown;
    return true;
}

// The word behind the word of a directive.
static struct token directive_word(struct token directive, struct token *out_second)
{
    struct lexer inside = { .at = directive.at + 1 };
    struct token first = braid_token_next(&inside);
    *out_second = braid_token_next(&inside);
    return first;
}

static void note_words_of(struct reader *reader, struct token directive)
{
    struct lexer inside = { .at = directive.at + 1 };
    struct token token = braid_token_next(&inside);
    while (token.kind != TOKEN_END && token.at < directive.at + directive.length) {
        if (token.kind == TOKEN_WORD)
            note_word(reader, token);
        token = braid_token_next(&inside);
    }
}

static void move_include(struct reader *reader, struct token directive)
{
    struct island_source *made = reader->made;
    bool always = braid_island_conditions_here(&reader->conditions) == ISLAND_YES;
    if (!always || scope_here(reader) != SCOPE_NAMESPACE || reader->depth > 0)
        refuse(reader, "it includes a file under a condition, or inside braces");
    else if (!append(&made->includes, &reader->num_includes, directive.at, directive.length, "\n"))
        reader->failed = true;
    braid_gpu_edit(&reader->edits, directive.at, directive.at + directive.length, "");
    note_words_of(reader, directive);
}

static void read_define(struct reader *reader, struct token directive, struct token name)
{
    struct island_source *made = reader->made;
    if (!append(&made->undefs, &reader->num_undefs, "#undef ", 7, "") ||
        !append(&made->undefs, &reader->num_undefs, name.at, name.length, "\n"))
        reader->failed = true;
    if (facts_here(reader) != &made->others)
        refuse(reader, "it defines a macro inside a kernel");
    note_words_of(reader, directive);
}

static bool is_left_out(const struct reader *reader)
{
    return braid_island_conditions_here(&reader->conditions) == ISLAND_NO;
}

static void read_directive(struct reader *reader, struct token directive)
{
    struct token second, first = directive_word(directive, &second);
    bool is_taken = !is_left_out(reader);
    if (is_taken && braid_token_is(first, "include"))
        move_include(reader, directive);
    else if (is_taken && braid_token_is(first, "define"))
        read_define(reader, directive, second);
    braid_island_conditions_read(&reader->conditions, first, second);
    reader->failed |= reader->conditions.failed;
}

static void read_assembly(struct reader *reader)
{
    struct token token = braid_token_next(&reader->lexer);
    while (token.kind == TOKEN_WORD)
        token = braid_token_next(&reader->lexer);
    for (int depth = 1; depth > 0 && token.kind != TOKEN_END;) {
        token = braid_token_next(&reader->lexer);
        depth += braid_token_is(token, "(") - braid_token_is(token, ")");
        if (token.kind != TOKEN_STRING)
            continue;
        const char *reason = braid_island_note_assembly(facts_here(reader), token);
        if (reason)
            refuse(reader, reason);
    }
}

static void skip_parentheses(struct reader *reader)
{
    struct token token = braid_token_next(&reader->lexer);
    for (int depth = braid_token_is(token, "("); depth > 0 && token.kind != TOKEN_END;) {
        token = braid_token_next(&reader->lexer);
        depth += braid_token_is(token, "(") - braid_token_is(token, ")");
    }
}

// extern "C" {, extern "C" before a declaration, extern __shared__, or another extern.
static void read_extern(struct reader *reader, struct token word)
{
    struct token next = braid_token_peek(&reader->lexer);
    if (braid_token_is(next, "__shared__")) {
        refuse(reader, "it uses dynamic shared memory");
        return;
    }
    if (!braid_token_is(next, "\"C\""))
        return;
    braid_token_next(&reader->lexer);
    bool block = braid_token_is(braid_token_peek(&reader->lexer), "{");
    braid_gpu_edit(&reader->edits, word.at, reader->lexer.at, block ? "namespace" : "");
    reader->declaration.is_namespace = block;
}

static void add_entry(struct reader *reader)
{
    struct island_source *made = reader->made;
    struct island_entry *entries =
        realloc(made->entries, (made->num_entries + 1) * sizeof(*entries));
    if (!entries) {
        reader->failed = true;
        return;
    }
    made->entries = entries;
    struct token name = reader->declaration.name;
    entries[made->num_entries++] = (struct island_entry){ .name = name.at, .length = name.length };
}

static bool is_variable(const struct declaration *declaration)
{
    return declaration->is_device && !declaration->has_parameters && !declaration->is_type &&
           !declaration->is_constant;
}

static void open_brace(struct reader *reader)
{
    const struct declaration *declaration = &reader->declaration;
    enum scope scope = SCOPE_OTHER, here = scope_here(reader);
    if (reader->depth == MAX_DEPTH) {
        refuse(reader, "its braces are too deep");
        return;
    }
    if (here == SCOPE_NAMESPACE || here == SCOPE_TYPE) {
        if (declaration->is_namespace)
            scope = SCOPE_NAMESPACE;
        else if (declaration->has_parameters && declaration->is_kernel && !declaration->is_template)
            scope = SCOPE_KERNEL;
        else if (declaration->has_parameters)
            scope = SCOPE_FUNCTION;
        else if (declaration->is_type)
            scope = SCOPE_TYPE;
        else if (is_variable(declaration))
            refuse(reader, "it has variables of its own on the device");
    }
    if (scope == SCOPE_KERNEL)
        add_entry(reader);
    reader->scopes[reader->depth++] = scope;
    reader->declaration = (struct declaration){ 0 };
}

static void close_brace(struct reader *reader)
{
    enum scope closed = scope_here(reader);
    if (reader->depth == 0)
        refuse(reader, "its braces do not match");
    else
        reader->depth--;
    // struct { ... } name; and initialisers go on to their semicolon.
    if (closed != SCOPE_TYPE && closed != SCOPE_OTHER)
        reader->declaration = (struct declaration){ 0 };
    else
        reader->declaration.is_type = true;
}

static void end_declaration(struct reader *reader)
{
    if (scope_here(reader) == SCOPE_NAMESPACE && is_variable(&reader->declaration))
        refuse(reader, "it has variables of its own on the device");
    reader->declaration = (struct declaration){ 0 };
}

static void read_static(struct reader *reader)
{
    static const char *const harmless[] = { "const",           "constexpr",
                                            "inline",          "__device__",
                                            "__forceinline__", "__shared__",
                                            "__constant__",    NULL };
    if (inside_function(reader) &&
        !braid_token_is_one_of(braid_token_peek(&reader->lexer), harmless))
        refuse(reader, "it has variables of its own on the device");
}

static void read_declaration_word(struct reader *reader, struct token word)
{
    static const char *const types[] = { "struct",  "class", "union", "enum",
                                         "typedef", "using", NULL };
    static const char *const bounds[] = {
        "__launch_bounds__", "__maxnreg__", "alignas", "__align__",
        "__attribute__",     "decltype",    NULL
    };
    struct declaration *declaration = &reader->declaration;
    if (braid_token_is_one_of(word, bounds)) {
        skip_parentheses(reader);
        return;
    }
    declaration->is_kernel |= braid_token_is(word, "__global__");
    declaration->is_device |= braid_token_is(word, "__device__");
    declaration->is_constant |= braid_token_is(word, "const") ||
                                braid_token_is(word, "constexpr") ||
                                braid_token_is(word, "__constant__");
    declaration->is_template |= braid_token_is(word, "template");
    declaration->is_namespace |= braid_token_is(word, "namespace");
    declaration->is_type |= braid_token_is_one_of(word, types);
    if (!declaration->has_parameters)
        declaration->name = word;
}

static void read_word(struct reader *reader, struct token word)
{
    static const char *const assembly[] = { "asm", "__asm__", "__asm", NULL };
    note_word(reader, word);
    if (braid_token_is_one_of(word, assembly))
        read_assembly(reader);
    else if (braid_token_is(word, "extern"))
        read_extern(reader, word);
    else if (braid_token_is(word, "static"))
        read_static(reader);
    else if (reader->parentheses == 0 && !inside_function(reader))
        read_declaration_word(reader, word);
}

static void read_other(struct reader *reader, struct token token)
{
    struct declaration *declaration = &reader->declaration;
    if (braid_token_is(token, "(")) {
        declaration->has_parameters |= reader->parentheses == 0 && !declaration->has_value;
        reader->parentheses++;
    } else if (braid_token_is(token, ")")) {
        reader->parentheses--;
    } else if (braid_token_is(token, "=") && reader->parentheses == 0) {
        declaration->has_value = true;
    } else if (braid_token_is(token, "{")) {
        open_brace(reader);
    } else if (braid_token_is(token, "}")) {
        close_brace(reader);
    } else if (braid_token_is(token, ";") && reader->parentheses == 0) {
        end_declaration(reader);
    }
}

static void read_all(struct reader *reader)
{
    struct token token = braid_token_next(&reader->lexer);
    while (token.kind != TOKEN_END && !reader->failed) {
        if (token.kind == TOKEN_DIRECTIVE)
            read_directive(reader, token);
        else if (token.kind == TOKEN_WORD && !is_left_out(reader))
            read_word(reader, token);
        else if (token.kind == TOKEN_OTHER && !is_left_out(reader))
            read_other(reader, token);
        token = braid_token_next(&reader->lexer);
    }
    if (reader->lexer.has_raw_string)
        refuse(reader, "it has a raw string");
    if (reader->depth != 0 || reader->parentheses != 0)
        refuse(reader, "its braces do not match");
}

bool braid_island_source_read(const char *source, struct island_source *out_source,
                              const char **out_reason)
{
    struct island_source made = { 0 };
    struct reader reader = { .lexer = { .at = source, .line_start = true }, .made = &made };
    read_all(&reader);
    if (!reader.failed) {
        made.text = braid_gpu_apply_edits(&reader.edits, source);
        reader.failed = !made.text;
    }
    braid_gpu_edits_finish(&reader.edits);
    braid_island_conditions_finish(&reader.conditions);
    *out_reason = reader.reason;
    if (reader.failed)
        braid_island_source_finish(&made);
    else
        *out_source = made;
    return !reader.failed;
}

void braid_island_source_finish(struct island_source *source)
{
    free(source->text);
    free(source->includes);
    free(source->undefs);
    free(source->entries);
    *source = (struct island_source){ 0 };
}

static const struct island_entry *find_entry(const struct island_source *source, const char *name)
{
    for (size_t i = 0; i < source->num_entries; i++) {
        const struct island_entry *entry = &source->entries[i];
        if (entry->length == strlen(name) && memcmp(entry->name, name, entry->length) == 0)
            return entry;
    }
    return NULL;
}

bool braid_island_entry_fits(const struct island_source *source, const char *name,
                             unsigned long long threads, unsigned long long blocks,
                             struct island_facts *out_facts, const char **out_reason)
{
    const struct island_entry *entry = find_entry(source, name);
    *out_reason = NULL;
    if (!entry) {
        *out_reason = "its source does not define it in plain words";
        return false;
    }
    struct island_facts facts = entry->facts;
    facts.barriers |= source->others.barriers;
    facts.warps |= source->others.warps;
    facts.shared |= source->others.shared;
    facts.fences |= source->others.fences;
    *out_reason = braid_island_facts_refuse(&facts, threads, blocks);
    *out_facts = facts;
    return !*out_reason;
}
