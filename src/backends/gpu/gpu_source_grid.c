// SPDX-License-Identifier: Apache-2.0
// Changing HIP's source so that its kernels read their grid from memory.
//
// Each kernel is given a parameter behind its own: the address of three words, which every thread
// reads first. Blocks beyond them return, all threads of a block alike, and a variable named as the
// grid hides that one from the rest of the body. Functions have no such variable: whoever mentions
// one that reads the grid, or one that mentions such a one, is left as it is.
#include "backends/gpu/gpu_source_grid.h"

#include <stdlib.h>
#include <string.h>

#include "backends/gpu/gpu_edit.h"
#include "backends/gpu/gpu_tokens.h"
#include "base/array.h"

#define PARAMETER "const unsigned *braid_grid_from"

#define LEAST(dimension)                                                                           \
    "const unsigned braid_grid_" dimension " = braid_grid_from[braid_" dimension                   \
    "] < gridDim." dimension " ? braid_grid_from[braid_" dimension "] : gridDim." dimension "; "

static const char begin[] = " enum { braid_x, braid_y, braid_z }; " LEAST("x") LEAST("y")
    LEAST("z") "const dim3 gridDim(braid_grid_x, braid_grid_y, braid_grid_z); (void)gridDim; "
               "if (blockIdx.x >= braid_grid_x || blockIdx.y >= braid_grid_y || blockIdx.z >= "
               "braid_grid_z) "
               "return; ";

// Tells such code from other, for those who look at it: arguments have no names in machine code.
static const char mark[] = "\nextern \"C\" { __device__ char braid_grid_is_read; }\n";

static const char by_function[] = "a function of it reads the grid";

// What stands before a body, so far. The last parentheses before it are the parameters.
struct head {
    bool is_kernel, is_type, has_operator, opens_scope;
    struct token name, word;     // before those parentheses; the last one
    const char *first, *last;    // behind the opening one, and the closing one
    size_t num_tokens, num_void; // between
    int parentheses, angles;
};

struct source_reader {
    struct lexer lexer;
    struct array *readers; // struct token: the functions that read the grid
    struct gpu_edits edits;
    const char *entry;
    const char *reason;
    struct head head;
    int braces; // 0: in a head
    const char *body;
    bool reads; // the body at hand does, other than a kernel by itself
    bool no_memory;
};

static void refuse(struct source_reader *reader, const char *reason)
{
    if (!reader->reason)
        reader->reason = reason;
}

static bool is_reader(const struct source_reader *reader, struct token word)
{
    const struct token *names = reader->readers->items;
    for (size_t i = 0; i < reader->readers->num; i++) {
        if (names[i].length == word.length && memcmp(names[i].at, word.at, word.length) == 0)
            return true;
    }
    return false;
}

static void add_reader(struct source_reader *reader, struct token name)
{
    struct token *added = braid_array_append(reader->readers, 1, sizeof(name));
    if (added)
        *added = name;
    else
        reader->no_memory = true;
}

static void look_at_word(struct source_reader *reader, struct token word)
{
    static const char *const unknown[] = { "__ockl_get_num_groups", "__ockl_get_global_size",
                                           "get_num_groups",        "get_global_size",
                                           "cooperative_groups",    NULL };
    if (braid_token_is_one_of(word, unknown) || braid_token_begins(word, "hipGridDim_") ||
        braid_token_begins(word, "__builtin_amdgcn_grid_size"))
        refuse(reader, "it reads its grid in an unknown way");
    bool is_grid = braid_token_is(word, "gridDim");
    if (reader->braces == 0 && is_grid)
        refuse(reader, by_function);
    if (braid_token_is(word, "__global__") && reader->braces)
        refuse(reader, "its kernels are not told apart");
    reader->reads |=
        reader->braces && ((is_grid && !reader->head.is_kernel) || is_reader(reader, word));
}

static void look_at_directive(struct source_reader *reader, struct token directive)
{
    struct lexer inside = { .at = directive.at + 1 };
    struct token first = braid_token_next(&inside), token = braid_token_next(&inside);
    if (braid_token_is(first, "include") && token.kind == TOKEN_STRING)
        refuse(reader, "it includes a file");
    for (; token.kind != TOKEN_END && token.at < directive.at + directive.length;
         token = braid_token_next(&inside)) {
        if (braid_token_is(token, "__global__"))
            refuse(reader, "a macro hides its kernels");
        if (braid_token_is(token, "gridDim") || is_reader(reader, token))
            refuse(reader, "a macro of it reads the grid");
    }
}

static void read_parentheses(struct head *head, struct token token)
{
    if (braid_token_is(token, "(") && head->parentheses++ == 0) {
        head->name = head->word;
        head->first = token.at + 1;
        head->num_tokens = head->num_void = 0;
    } else if (braid_token_is(token, ")") && --head->parentheses == 0) {
        head->last = token.at;
    } else {
        head->num_tokens++;
        head->num_void += braid_token_is(token, "void");
    }
}

static void note_word(struct head *head, struct token word)
{
    head->word = word;
    head->is_kernel |= braid_token_is(word, "__global__");
    head->has_operator |= braid_token_is(word, "operator");
    head->opens_scope |= braid_token_is(word, "namespace") || braid_token_is(word, "extern");
    head->is_type |=
        head->angles == 0 && (braid_token_is(word, "struct") || braid_token_is(word, "class") ||
                              braid_token_is(word, "union"));
}

static void add_parameter(struct source_reader *reader)
{
    const struct head *head = &reader->head;
    if (head->num_tokens == head->num_void)
        braid_gpu_edit(&reader->edits, head->first, head->last, PARAMETER);
    else
        braid_gpu_edit(&reader->edits, head->last, head->last, ", " PARAMETER);
}

static void end_kernel(struct source_reader *reader)
{
    const struct head *head = &reader->head;
    if (reader->reads && reader->entry && braid_token_is(head->name, reader->entry))
        refuse(reader, by_function);
    if (reader->reads)
        return;
    add_parameter(reader);
    braid_gpu_edit(&reader->edits, reader->body, reader->body, begin);
}

static void end_function(struct source_reader *reader)
{
    const struct head *head = &reader->head;
    if (!reader->reads || is_reader(reader, head->name))
        return;
    if (head->is_type || head->has_operator || !head->last)
        refuse(reader, "a type or an operator of it reads the grid");
    else
        add_reader(reader, head->name);
}

static void end_body(struct source_reader *reader)
{
    if (reader->head.is_kernel)
        end_kernel(reader);
    else
        end_function(reader);
    reader->head = (struct head){ 0 };
}

// A namespace's or a block's of linkage is no body, and is closed by a brace that nobody counts.
static void begin_body(struct source_reader *reader, struct token token)
{
    const struct head *head = &reader->head;
    if (head->opens_scope && !head->last) {
        reader->head = (struct head){ 0 };
        return;
    }
    if (head->is_kernel && !head->last)
        refuse(reader, "its kernels are not told apart");
    reader->braces = 1;
    reader->body = token.at + 1;
    reader->reads = false;
}

static void read_head(struct source_reader *reader, struct token token)
{
    struct head *head = &reader->head;
    if (head->parentheses || braid_token_is(token, "(")) {
        read_parentheses(head, token);
    } else if (token.kind == TOKEN_WORD) {
        note_word(head, token);
    } else if (braid_token_is(token, "{")) {
        begin_body(reader, token);
    } else if (braid_token_is(token, ";") || braid_token_is(token, "}")) {
        if (head->is_kernel)
            refuse(reader, "a kernel of it is declared before it is defined");
        *head = (struct head){ 0 };
    } else {
        head->angles += braid_token_is(token, "<") - braid_token_is(token, ">");
    }
}

static void read_token(struct source_reader *reader, struct token token)
{
    if (token.kind == TOKEN_DIRECTIVE) {
        look_at_directive(reader, token);
        return;
    }
    if (token.kind == TOKEN_WORD)
        look_at_word(reader, token);
    if (reader->braces == 0) {
        read_head(reader, token);
        return;
    }
    reader->braces += braid_token_is(token, "{") - braid_token_is(token, "}");
    if (reader->braces == 0)
        end_body(reader);
}

static void read_all(struct source_reader *reader, const char *source)
{
    struct token token;
    reader->lexer = (struct lexer){ .at = source, .line_start = true };
    while ((token = braid_token_next(&reader->lexer)).kind != TOKEN_END && !reader->reason)
        read_token(reader, token);
    if (reader->lexer.has_raw_string)
        refuse(reader, "it has a raw string");
    if (reader->braces || reader->edits.num == 0)
        refuse(reader, reader->entry ? "its kernels are not told apart" : by_function);
}

// Again until no more functions are found that read the grid, since they may be defined later.
char *braid_gpu_source_with_read_grid(const char *source, const char *entry,
                                      const char **out_reason)
{
    struct array readers = { 0 };
    struct source_reader reader = { .readers = &readers };
    size_t before;
    do {
        before = readers.num;
        braid_gpu_edits_finish(&reader.edits);
        reader = (struct source_reader){ .readers = &readers, .entry = entry };
        read_all(&reader, source);
    } while (!reader.no_memory && readers.num > before);
    const char *end = source + strlen(source);
    braid_gpu_edit(&reader.edits, end, end, mark);
    bool failed = reader.no_memory || reader.edits.failed;
    char *made = failed || reader.reason ? NULL : braid_gpu_apply_edits(&reader.edits, source);
    *out_reason = failed ? NULL : reader.reason;
    braid_gpu_edits_finish(&reader.edits);
    braid_array_finish(&readers);
    return made;
}
