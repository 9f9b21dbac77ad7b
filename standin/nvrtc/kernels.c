// SPDX-License-Identifier: Apache-2.0
// From CUDA C to the entries of its PTX, without compiling: only declarations are read.
#include "kernels.h"

#include <string.h>

#include "tokens.h"
#include "types.h"

enum { MAX_PARAMETERS = 128, MAX_WORDS = 32 };

struct reader {
    struct tokens tokens;
    struct types types;
    const char *file;
    struct text *ptx, *log;
    bool failed;
    int depth;      // of braces, not counting those of extern "C" blocks
    int c_blocks;   // extern "C" { blocks around here
    bool c_linkage; // the declaration began with extern "C"
    bool is_template;
    bool reads_grid;                    // the last parameter that was read is braid_grid_from
    bool has_mask;                      // or braid_mask
    bool has_default;                   // a parameter of the kernel at hand
    struct token names[MAX_PARAMETERS]; // of its parameters
};

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

static bool is_name(const struct reader *reader, struct token token)
{
    size_t align;
    return token_is_word(token) && !types_is_qualifier(token) &&
           types_word_bytes(&reader->types, token, &align) == 0;
}

// What a compiler says of a parameter beside others.
static void check_parameter(struct reader *reader, struct token name, size_t count,
                            bool has_default)
{
    if (reader->has_default && !has_default)
        fail(reader, name.line, "default argument not at end of parameter list: ", name);
    reader->has_default |= has_default;
    for (size_t i = 0; i < count && i < MAX_PARAMETERS; i++)
        if (name.start && token_equals(reader->names[i], name))
            fail(reader, name.line, "there are two parameters ", name);
    if (count < MAX_PARAMETERS)
        reader->names[count] = name;
}

// One parameter, up to its comma or the closing parenthesis, which is returned.
static struct token read_parameter(struct reader *reader, struct token first, size_t count,
                                   size_t *out_bytes)
{
    reader->reads_grid = reader->has_mask = false;
    struct token words[MAX_WORDS], name = { 0 }, token = first;
    size_t num_words = 0;
    for (; token.start != NULL && !token_is(token, ",") && !token_is(token, ")") &&
           !token_is(token, "=");
         token = tokens_next(&reader->tokens)) {
        if (is_name(reader, token))
            name = token;
        reader->reads_grid |= token_is(token, "braid_grid_from");
        reader->has_mask |= token_is(token, "braid_mask");
        if (num_words < MAX_WORDS)
            words[num_words++] = token;
    }
    *out_bytes = types_bytes(&reader->types, words, num_words);
    if (*out_bytes == 0)
        fail(reader, first.line, "the stand-in does not know the parameter type ", first);
    bool has_default = token_is(token, "=");
    check_parameter(reader, name, count, has_default);
    return has_default ? skip_value(reader) : token;
}

static size_t read_parameters(struct reader *reader, size_t *bytes)
{
    size_t count = 0;
    reader->has_default = false;
    struct tokens start = reader->tokens;
    if (token_is(tokens_next(&reader->tokens), "void") &&
        token_is(tokens_next(&reader->tokens), ")"))
        return 0;
    reader->tokens = start;
    struct token token = tokens_next(&reader->tokens);
    while (token.start != NULL && !token_is(token, ")")) {
        size_t ignored;
        token =
            read_parameter(reader, token, count, count < MAX_PARAMETERS ? &bytes[count] : &ignored);
        count++;
        if (token_is(token, ","))
            token = tokens_next(&reader->tokens);
    }
    return count < MAX_PARAMETERS ? count : MAX_PARAMETERS;
}

static void write_entry(struct reader *reader, struct token name, const size_t *bytes, size_t count)
{
    char entry[256];
    bool plain = reader->c_linkage || reader->c_blocks > 0;
    size_t length = name.length < 200 ? name.length : 200, at = 0;
    if (!plain) { // as the real compiler: nobody finds it by its plain name
        memcpy(entry, "_Z", 2);
        at = 2;
    }
    memcpy(entry + at, name.start, length);
    entry[at + length] = '\0';
    text_add(reader->ptx, "\n.visible .entry %s(", entry);
    for (size_t i = 0; i < count; i++) {
        bool number = bytes[i] <= 8 && (bytes[i] & (bytes[i] - 1)) == 0;
        text_add(reader->ptx, i == 0 ? "\n    " : ",\n    ");
        if (reader->reads_grid && i == count - 1)
            text_add(reader->ptx, ".param .u64 braid_grid_from");
        else if (reader->has_mask && i == count - 1)
            text_add(reader->ptx, ".param .u32 braid_mask");
        else if (number)
            text_add(reader->ptx, ".param .u%zu %s_param_%zu", bytes[i] * 8, entry, i);
        else
            text_add(reader->ptx, ".param .align 8 .b8 %s_param_%zu[%zu]", entry, i, bytes[i]);
    }
    text_add(reader->ptx, "\n)\n{\n");
}

// The body, of which only early starts, what an island calls and, in source that Braid changed for
// HIP, whether surplus blocks return and an object writes its begin and end, are of interest.
static void translate_body(struct reader *reader)
{
    int depth = 1, num_reads = 0;
    while (depth > 0) {
        struct token token = tokens_next(&reader->tokens);
        if (token.start == NULL)
            break;
        depth += token_is(token, "{") - token_is(token, "}");
        if (token_is(token, "\"griddepcontrol.launch_dependents;\"") ||
            token_is(token, "\"griddepcontrol.wait;\""))
            text_add(reader->ptx, "    %.*s\n", (int)token.length - 2, token.start + 1);
        if (reader->reads_grid && token_is(token, "braid_grid_x") && num_reads++ == 2)
            text_add(reader->ptx, "    setp.ge.u32 %%braid_beyond, 0, 0;\n");
        if (reader->has_mask && token_is(token, "braid_stamped"))
            text_add(reader->ptx, "    mov.u64 %%t0, %%globaltimer;\n"
                                  "    mov.u64 %%t1, %%globaltimer;\n");
    }
    text_add(reader->ptx, "    ret;\n}\n");
}

// braid_island_run(braid_source_0::NAME, ...): kernels are numbered in the order of these calls.
static void read_island_call(struct reader *reader)
{
    struct tokens before = reader->tokens;
    struct token token, name = { 0 };
    if (!token_is(tokens_next(&reader->tokens), "(")) {
        reader->tokens = before;
        return;
    }
    while ((token = tokens_next(&reader->tokens)).start != NULL && !token_is(token, ",") &&
           !token_is(token, ")"))
        name = token;
    if (token_is(token, ","))
        text_add(reader->ptx, "// braid_island_run %.*s\n", (int)name.length, name.start);
    else
        reader->tokens = before;
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
    if (reader->is_template)
        fail(reader, name.line, "the stand-in does not translate the template ", name);
    size_t count = read_parameters(reader, bytes);
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

// hiprtc's stand-in puts AMD's clock before all source: the driver's stand-in has kernels read it
// then.
static void tell_clock(const char *source, struct text *ptx)
{
    if (strstr(source, "wall_clock64") != NULL)
        text_add(ptx, "// wall_clock64\n");
}

bool kernels_translate(const char *source, const char *file, struct text *ptx, struct text *log)
{
    struct reader reader = { .tokens = { .at = source, .line = 1 }, .file = file };
    struct token token;
    reader.ptx = ptx;
    reader.log = log;
    tell_clock(source, ptx);
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
        } else if (token_is(token, "braid_island_run")) {
            read_island_call(&reader);
        } else if (token_is(token, "template")) {
            reader.is_template = true;
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
    return !reader.failed;
}
