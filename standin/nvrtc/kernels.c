// SPDX-License-Identifier: Apache-2.0
// From CUDA C to the entries of its PTX, without compiling: only declarations are read.
#include "kernels.h"

#include <stdio.h>
#include <string.h>

#include "expression.h"
#include "tokens.h"
#include "types.h"

enum { MAX_PARAMETERS = 128, MAX_WORDS = 32 };

struct reader {
    struct tokens tokens;
    struct types types;
    const char *file;
    struct text *ptx, *log;
    bool failed;
    int depth;      // in braces, not counting those of extern "C" blocks
    int c_blocks;   // extern "C" { blocks around here
    bool c_linkage; // the declaration began with extern "C"
    bool is_template;
    struct tokens template_parameters;
    const char *expression; // that names a kernel, or NULL
    struct text markers;    // where calls are
};

static bool token_begins(struct token token, const char *text)
{
    return token.length >= strlen(text) && memcmp(token.start, text, strlen(text)) == 0;
}

static void fail(struct reader *reader, int line, const char *message, struct token token)
{
    text_add(reader->log, "%s(%d): error: %s%.*s\n", reader->file, line, message,
             token.start == NULL ? 0 : (int)token.length, token.start == NULL ? "" : token.start);
    reader->failed = true;
}

// From an opening bracket that was read to the one that closes it.
static void skip_brackets(struct reader *reader, const char *open, const char *close)
{
    int depth = 1;
    while (depth > 0) {
        struct token token = tokens_next(&reader->tokens);
        if (token.start == NULL)
            return;
        depth += token_is(token, open) - token_is(token, close);
    }
}

// From behind the equals sign up to the comma or parenthesis behind the value, which is returned.
static struct token skip_value(struct reader *reader)
{
    struct token token = tokens_next(&reader->tokens);
    while (token.start != NULL && !token_is(token, ",") && !token_is(token, ")")) {
        if (token_is(token, "("))
            skip_brackets(reader, "(", ")");
        token = tokens_next(&reader->tokens);
    }
    return token;
}

// One parameter, up to its comma or the closing parenthesis, which is returned.
static struct token read_parameter(struct reader *reader, struct token first, size_t *out_bytes)
{
    struct token words[MAX_WORDS], token = first;
    size_t num_words = 0;
    for (; token.start != NULL && !token_is(token, ",") && !token_is(token, ")") &&
           !token_is(token, "=");
         token = tokens_next(&reader->tokens)) {
        if (num_words < MAX_WORDS)
            words[num_words++] = token;
    }
    *out_bytes = types_bytes(&reader->types, words, num_words);
    if (*out_bytes == 0)
        fail(reader, first.line, "the stand-in does not know the parameter type ", first);
    return token_is(token, "=") ? skip_value(reader) : token;
}

static size_t read_parameters(struct reader *reader, size_t *bytes)
{
    size_t count = 0;
    struct tokens start = reader->tokens;
    if (token_is(tokens_next(&reader->tokens), "void") &&
        token_is(tokens_next(&reader->tokens), ")"))
        return 0;
    reader->tokens = start;
    struct token token = tokens_next(&reader->tokens);
    while (token.start != NULL && !token_is(token, ")")) {
        size_t ignored;
        token = read_parameter(reader, token, count < MAX_PARAMETERS ? &bytes[count] : &ignored);
        count++;
        if (token_is(token, ","))
            token = tokens_next(&reader->tokens);
    }
    return count < MAX_PARAMETERS ? count : MAX_PARAMETERS;
}

void kernels_lower(struct token function, char *name, size_t size)
{
    snprintf(name, size, "_Z%.*s", (int)function.length, function.start);
}

static void write_entry(struct reader *reader, struct token name, const size_t *bytes, size_t count)
{
    char entry[256];
    bool plain = reader->c_linkage || reader->c_blocks > 0;
    if (plain)
        snprintf(entry, sizeof(entry), "%.*s", (int)name.length, name.start);
    else // as the real compiler: nobody finds it by its plain name
        kernels_lower(name, entry, sizeof(entry));
    text_add(reader->ptx, "\n.visible .entry %s(", entry);
    for (size_t i = 0; i < count; i++) {
        bool number = bytes[i] <= 8 && (bytes[i] & (bytes[i] - 1)) == 0;
        text_add(reader->ptx, i == 0 ? "\n    " : ",\n    ");
        if (number)
            text_add(reader->ptx, ".param .u%zu %s_param_%zu", bytes[i] * 8, entry, i);
        else
            text_add(reader->ptx, ".param .align 8 .b8 %s_param_%zu[%zu]", entry, i, bytes[i]);
    }
    text_add(reader->ptx, "\n)\n{\n");
}

// The body, of which only early starts, fences and an island's markers, that stand before, are of
// interest.
static void translate_body(struct reader *reader)
{
    int depth = 1;
    while (depth > 0) {
        struct token token = tokens_next(&reader->tokens);
        if (token.start == NULL)
            break;
        depth += token_is(token, "{") - token_is(token, "}");
        if (token_is(token, "\"griddepcontrol.launch_dependents;\"") ||
            token_is(token, "\"griddepcontrol.wait;\""))
            text_add(reader->ptx, "    %.*s\n", (int)token.length - 2, token.start + 1);
        if (token_is(token, "__threadfence"))
            text_add(reader->ptx, "    membar.gl;\n");
    }
    if (reader->markers.bytes != NULL)
        text_add(reader->ptx, "%s", reader->markers.bytes);
    text_add(reader->ptx, "    ret;\n}\n");
}

// The marker of a call, as the compiler writes inline assembly: %0 is a register.
static void read_marker(struct reader *reader, struct token token)
{
    text_add(&reader->markers, "    ");
    for (size_t i = 1; i + 1 < token.length; i++)
        text_add(&reader->markers, token.start[i] == '%' ? "%%r" : "%c", token.start[i]);
    text_add(&reader->markers, "\n");
}

// What follows __global__: void, attributes, the name, parameters, and a body or a semicolon.
static void read_kernel(struct reader *reader)
{
    size_t bytes[MAX_PARAMETERS];
    struct token name = { 0 }, token = tokens_next(&reader->tokens);
    for (; token.start != NULL && !token_is(token, "("); token = tokens_next(&reader->tokens)) {
        name = token;
        if (token_is(token, "__launch_bounds__") || token_is(token, "__cluster_dims__")) {
            tokens_next(&reader->tokens);
            skip_brackets(reader, "(", ")");
        }
    }
    if (!token_is_word(name)) {
        fail(reader, token.line, "__global__ without a function", name);
        return;
    }
    bool is_named = expression_names(reader->expression, name);
    struct types types = reader->types;
    if (reader->is_template && is_named)
        expression_bind(reader->expression, reader->template_parameters, &reader->types);
    else if (reader->is_template)
        fail(reader, name.line, "the stand-in does not translate the template ", name);
    size_t count = read_parameters(reader, bytes);
    reader->types = types;
    token = tokens_next(&reader->tokens);
    while (token_is_word(token)) { // attributes
        token = tokens_next(&reader->tokens);
        if (token_is(token, "(")) {
            skip_brackets(reader, "(", ")");
            token = tokens_next(&reader->tokens);
        }
    }
    if (token_is(token, "{")) {
        if (reader->failed) {
            skip_brackets(reader, "{", "}");
        } else {
            write_entry(reader, name, bytes, count);
            translate_body(reader);
        }
    }
}

static void end_declaration(struct reader *reader)
{
    reader->c_linkage = false;
    reader->is_template = false;
}

static void read_extern(struct reader *reader)
{
    struct tokens before = reader->tokens;
    if (!token_is(tokens_next(&reader->tokens), "\"C\"")) {
        reader->tokens = before;
        return;
    }
    before = reader->tokens;
    if (token_is(tokens_next(&reader->tokens), "{")) {
        reader->c_blocks++;
    } else {
        reader->tokens = before;
        reader->c_linkage = true;
    }
}

static void read_close(struct reader *reader)
{
    if (reader->depth > 0)
        reader->depth--;
    else if (reader->c_blocks > 0)
        reader->c_blocks--;
    if (reader->depth == 0)
        end_declaration(reader);
}

bool kernels_translate(const char *source, const char *file, const char *expression,
                       struct text *ptx, struct text *log)
{
    struct reader reader = { .tokens = { .at = source, .line = 1 }, .file = file };
    reader.expression = expression;
    struct token token;
    reader.ptx = ptx;
    reader.log = log;
    while ((token = tokens_next(&reader.tokens)).start != NULL) {
        if (token_is(token, "__global__")) {
            read_kernel(&reader);
            end_declaration(&reader);
        } else if (token_is(token, "typedef")) {
            types_read_typedef(&reader.types, &reader.tokens);
        } else if (token_is(token, "enum")) {
            types_read_enum(&reader.types, &reader.tokens);
        } else if (token_is(token, "extern")) {
            read_extern(&reader);
        } else if (token_begins(token, "\"braid_call_")) {
            read_marker(&reader, token);
        } else if (token_is(token, "template")) {
            reader.is_template = true;
            expression_read_template(&reader.tokens, &reader.template_parameters);
        } else if (token_is(token, "{")) {
            reader.depth++;
        } else if (token_is(token, "}")) {
            read_close(&reader);
        } else if (token_is(token, ";") && reader.depth == 0) {
            end_declaration(&reader);
        }
    }
    if (reader.tokens.error_line != 0) {
        const char *text = reader.tokens.error_text;
        struct token rest = { .start = text, .length = strcspn(text, "\n") };
        fail(&reader, reader.tokens.error_line, "#error directive: ", rest);
    }
    text_finish(&reader.markers);
    return !reader.failed;
}
