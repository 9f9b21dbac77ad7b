// SPDX-License-Identifier: Apache-2.0
// PTX as functions of statements, and the effects of their instructions.
#include "ptx/ptx_read.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// ---- the instructions, and their effects beside their arithmetic ----

// clang-format off
// By the word before the first point, in the order of the manual.
static const struct {
    const char *name;
    unsigned facts;
} instructions[] = {
    // Arithmetic, comparison and logic
    { "add", 0 }, { "sub", 0 }, { "mul", 0 }, { "mad", 0 }, { "mul24", 0 }, { "mad24", 0 },
    { "sad", 0 }, { "div", 0 }, { "rem", 0 }, { "abs", 0 }, { "neg", 0 }, { "min", 0 },
    { "max", 0 }, { "popc", 0 }, { "clz", 0 }, { "bfind", 0 }, { "fns", 0 }, { "brev", 0 },
    { "bfe", 0 }, { "bfi", 0 }, { "szext", 0 }, { "bmsk", 0 }, { "dp4a", 0 }, { "dp2a", 0 },
    { "addc", 0 }, { "subc", 0 }, { "madc", 0 }, { "testp", 0 }, { "copysign", 0 }, { "fma", 0 },
    { "rcp", 0 }, { "sqrt", 0 }, { "rsqrt", 0 }, { "sin", 0 }, { "cos", 0 }, { "lg2", 0 },
    { "ex2", 0 }, { "tanh", 0 }, { "set", 0 }, { "setp", 0 }, { "selp", 0 }, { "slct", 0 },
    { "and", 0 }, { "or", 0 }, { "xor", 0 }, { "not", 0 }, { "cnot", 0 }, { "lop3", 0 },
    { "shf", 0 }, { "shl", 0 }, { "shr", 0 }, { "vadd", 0 }, { "vsub", 0 }, { "vabsdiff", 0 },
    { "vmin", 0 }, { "vmax", 0 }, { "vshl", 0 }, { "vshr", 0 }, { "vmad", 0 }, { "vset", 0 },
    { "vadd2", 0 }, { "vsub2", 0 }, { "vavrg2", 0 }, { "vabsdiff2", 0 }, { "vmin2", 0 },
    { "vmax2", 0 }, { "vset2", 0 }, { "vadd4", 0 }, { "vsub4", 0 }, { "vavrg4", 0 },
    { "vabsdiff4", 0 }, { "vmin4", 0 }, { "vmax4", 0 }, { "vset4", 0 },
    // Moving data
    { "mov", 0 }, { "prmt", 0 }, { "cvt", 0 }, { "cvta", 0 }, { "ld", 0 }, { "ldu", 0 },
    { "st", 0 }, { "prefetch", 0 }, { "prefetchu", 0 }, { "applypriority", 0 }, { "discard", 0 },
    { "createpolicy", 0 }, { "isspacep", 0 }, { "mapa", PTX_CLUSTER },
    { "getctarank", PTX_CLUSTER }, { "alloca", 0 }, { "stacksave", 0 }, { "stackrestore", 0 },
    { "shfl", PTX_WARP }, { "vote", PTX_WARP }, { "match", PTX_WARP }, { "activemask", PTX_WARP },
    { "redux", PTX_WARP }, { "elect", PTX_WARP }, { "movmatrix", PTX_WARP }, { "wmma", PTX_WARP },
    { "mma", PTX_WARP }, { "ldmatrix", PTX_WARP }, { "stmatrix", PTX_WARP },
    { "wgmma", PTX_WARP | PTX_ASYNC }, { "tcgen05", PTX_WARP | PTX_ASYNC }, { "cp", PTX_ASYNC },
    { "multimem", PTX_ATOMIC }, { "mbarrier", PTX_ASYNC | PTX_SYNC },
    { "tensormap", PTX_ASYNC },
    // Textures and surfaces
    { "tex", PTX_TEXTURE }, { "tld4", PTX_TEXTURE }, { "txq", PTX_TEXTURE },
    { "istypep", PTX_TEXTURE }, { "suld", PTX_TEXTURE }, { "sust", PTX_TEXTURE },
    { "sured", PTX_TEXTURE }, { "suq", PTX_TEXTURE },
    // Order
    { "bar", PTX_BARRIER | PTX_SYNC }, { "barrier", PTX_BARRIER | PTX_SYNC },
    { "membar", PTX_VOLATILE }, { "fence", PTX_VOLATILE }, { "atom", PTX_ATOMIC },
    { "red", PTX_ATOMIC }, { "griddepcontrol", PTX_GRID_CONTROL },
    { "clusterlaunchcontrol", PTX_CLUSTER },
    // Control
    { "bra", PTX_BRANCH }, { "brx", PTX_BRANCH }, { "call", PTX_CALL | PTX_SYNC },
    { "ret", PTX_EXIT }, { "exit", PTX_EXIT }, { "brkpt", PTX_TRAP }, { "trap", PTX_TRAP },
    { "nanosleep", 0 }, { "pmevent", 0 }, { "setmaxnreg", PTX_WARP },
};
// clang-format on

// The facts that a part behind a point adds.
static unsigned facts_of_part(struct ptx_word part)
{
    static const struct {
        const char *name;
        unsigned facts;
    } parts[] = {
        { "volatile", PTX_VOLATILE },    { "acquire", PTX_VOLATILE }, { "release", PTX_VOLATILE },
        { "acq_rel", PTX_VOLATILE },     { "relaxed", PTX_VOLATILE }, { "mmio", PTX_VOLATILE },
        { "sync", PTX_WARP | PTX_SYNC },
    };
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (braid_ptx_word_is(part, parts[i].name))
            return parts[i].facts;
    }
    return 0;
}

static unsigned facts_of_parts(struct ptx_word instruction, size_t at)
{
    unsigned facts = 0;
    while (at < instruction.length) {
        size_t begin = ++at;
        while (at < instruction.length && instruction.at[at] != '.')
            at++;
        facts |= facts_of_part((struct ptx_word){ instruction.at + begin, at - begin });
    }
    return facts;
}

bool braid_ptx_facts_of(struct ptx_word instruction, unsigned *out_facts)
{
    size_t length = 0;
    while (length < instruction.length && instruction.at[length] != '.')
        length++;
    for (size_t i = 0; i < sizeof(instructions) / sizeof(instructions[0]); i++) {
        if (!braid_ptx_word_is((struct ptx_word){ instruction.at, length }, instructions[i].name))
            continue;
        *out_facts = instructions[i].facts | facts_of_parts(instruction, length);
        if (*out_facts & PTX_BARRIER) // it is the block's: its ".sync" is none of the warp
            *out_facts &= ~(unsigned)PTX_WARP;
        if (braid_ptx_word_begins(instruction, "bar.warp"))
            *out_facts = PTX_WARP | PTX_SYNC;
        if (braid_ptx_word_begins(instruction, "barrier.cluster"))
            *out_facts = PTX_CLUSTER | PTX_SYNC;
        return true;
    }
    return false;
}

struct reader {
    struct ptx *ptx;
    const char *at; // behind the words that were read
    struct ptx_reason *reason;
    bool is_extern; // the word before this one was .extern
    bool failed;    // and the reason is set
};

void braid_ptx_refuse(struct ptx_reason *reason, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason->text, sizeof(reason->text), format, arguments);
    va_end(arguments);
}

static void refuse_at(struct reader *reader, const char *reason, const char *at)
{
    if (!reader->failed) {
        braid_ptx_refuse(reader->reason, "%s", reason);
        reader->reason->at = at;
    }
    reader->failed = true;
}

static void refuse(struct reader *reader, const char *reason)
{
    refuse_at(reader, reason, reader->at);
}

static struct ptx_word next(struct reader *reader)
{
    return braid_ptx_next_word(&reader->at);
}

static struct ptx_word peek(const struct reader *reader)
{
    const char *at = reader->at;
    return braid_ptx_next_word(&at);
}

// ---- statements ----

// Skips to behind the semicolon that ends the statement. Returns the facts that follow from its
// operands.
static unsigned skip_statement(struct reader *reader)
{
    const char *begin = reader->at;
    unsigned facts = 0;
    int depth = 0;
    for (;;) {
        struct ptx_word word = next(reader);
        depth += braid_ptx_word_is(word, "{") - braid_ptx_word_is(word, "}");
        if (word.length == 0 || depth < 0)
            refuse_at(reader, "a statement of it has no semicolon", begin);
        if (reader->failed || (depth == 0 && braid_ptx_word_is(word, ";")))
            break;
        if (braid_ptx_word_begins(word, "%cluster") || braid_ptx_word_begins(word, "%ncluster"))
            facts |= PTX_CLUSTER;
    }
    return facts;
}

// Skips the words that begin on this line.
static void skip_line(struct reader *reader)
{
    for (struct ptx_word word = peek(reader);
         word.length && !memchr(reader->at, '\n', (size_t)(word.at - reader->at));
         word = peek(reader))
        next(reader);
}

// Lines with where the source is end without a semicolon.
static void skip_directive(struct reader *reader, struct ptx_word word)
{
    if (braid_ptx_word_is(word, ".loc") || braid_ptx_word_is(word, ".file"))
        skip_line(reader);
    else
        skip_statement(reader);
}

static void read_instruction(struct reader *reader, struct ptx_statement *statement)
{
    const unsigned operands = skip_statement(reader); // a text that ends here may have half a word
    statement->kind = PTX_INSTRUCTION;
    if (!reader->failed && !braid_ptx_facts_of(statement->word, &statement->facts)) {
        int length = statement->word.length < 60 ? (int)statement->word.length : 60;
        reader->failed = reader->reason->is_unknown = true;
        reader->reason->at = statement->word.at;
        braid_ptx_refuse(reader->reason, "it has the instruction '%.*s', which Braid does not know",
                         length, statement->word.at);
    }
    statement->facts |= operands;
}

// The statement that begins with the word.
static void read_statement(struct reader *reader, struct ptx_word word,
                           struct ptx_statement *statement)
{
    *statement = (struct ptx_statement){ .word = word, .begin = word.at };
    if (braid_ptx_word_is(word, "{")) {
        statement->kind = PTX_OPEN;
    } else if (braid_ptx_word_is(word, "}")) {
        statement->kind = PTX_CLOSE;
    } else if (braid_ptx_word_begins(word, ".")) {
        statement->kind = PTX_DIRECTIVE;
        statement->facts = braid_ptx_word_is(word, ".shared") ? PTX_SHARED : 0;
        skip_directive(reader, word);
    } else if (braid_ptx_word_is(word, "@")) {
        statement->word = next(reader);
        if (braid_ptx_word_is(statement->word, "!"))
            statement->word = next(reader);
        if (!braid_ptx_is_name(statement->word))
            refuse(reader, "a guard of it has no name");
        statement->word = next(reader);
        read_instruction(reader, statement);
    } else if (braid_ptx_word_is(peek(reader), ":")) {
        statement->kind = PTX_LABEL;
        next(reader);
    } else if (braid_ptx_word_is(word, ";")) {
        statement->kind = PTX_DIRECTIVE; // an empty one
    } else {
        read_instruction(reader, statement);
    }
    statement->end = reader->at;
}

// From behind the brace that opens it to behind the one that closes it.
static void read_body(struct reader *reader, struct ptx_function *function)
{
    struct ptx *ptx = reader->ptx;
    function->body = reader->at;
    function->first = ptx->statements.num;
    for (int depth = 1; depth > 0 && !reader->failed;) {
        struct ptx_word word = next(reader);
        struct ptx_statement *statement;
        if (word.length == 0) {
            refuse(reader, "it ends inside of a function");
            return;
        }
        function->body_end = word.at;
        depth += braid_ptx_word_is(word, "{") - braid_ptx_word_is(word, "}");
        if (depth == 0)
            break;
        statement = braid_array_append(&ptx->statements, 1, sizeof(*statement));
        if (!statement) {
            refuse(reader, "");
            return;
        }
        read_statement(reader, word, statement);
        statement->depth = depth;
        function->facts |= statement->facts;
        function->num++;
    }
}

// ---- functions ----

// Parameters that begin here, if the next word opens them.
static void read_parameters(struct reader *reader, struct ptx_function *function)
{
    if (!braid_ptx_word_is(peek(reader), "("))
        return;
    next(reader);
    function->parameters = reader->at;
    struct ptx_word word = next(reader);
    while (word.length && !braid_ptx_word_is(word, ")"))
        word = next(reader);
    function->parameters_end = word.at;
}

// From behind .entry or .func. A function's results stand before its name.
static void read_function(struct reader *reader, struct ptx_word begin, bool is_entry)
{
    struct ptx_function function = { .is_entry = is_entry, .begin = begin.at };
    if (!is_entry)
        read_parameters(reader, &function);
    function.parameters = NULL;
    function.name = next(reader);
    function.name_end = reader->at;
    if (!braid_ptx_is_name(function.name))
        refuse(reader, "a function of it has no name");
    read_parameters(reader, &function);
    struct ptx_word word = next(reader);
    while (word.length && !braid_ptx_word_is(word, "{") && !braid_ptx_word_is(word, ";")) {
        if (braid_ptx_word_begins(word, ".reqnctapercluster") ||
            braid_ptx_word_begins(word, ".explicitcluster") ||
            braid_ptx_word_begins(word, ".maxclusterrank"))
            function.facts |= PTX_CLUSTER;
        if (braid_ptx_word_is(word, ".pragma"))
            skip_statement(reader);
        word = next(reader);
    }
    if (word.length == 0)
        refuse(reader, "it ends inside of a function");
    if (braid_ptx_word_is(word, "{"))
        read_body(reader, &function);
    function.end = reader->at;
    struct ptx_function *slot =
        reader->failed ? NULL : braid_array_append(&reader->ptx->functions, 1, sizeof(function));
    if (!slot && !reader->failed)
        refuse(reader, "");
    if (!slot)
        return;
    *slot = function;
    reader->ptx->facts |= function.facts;
}

// Skips a section of debugging information: braces with numbers.
static void skip_section(struct reader *reader)
{
    struct ptx_word word = next(reader);
    while (word.length && !braid_ptx_word_is(word, "}"))
        word = next(reader);
}

static void read_declaration(struct reader *reader, struct ptx_word space)
{
    struct ptx *ptx = reader->ptx;
    ptx->facts |= braid_ptx_word_is(space, ".shared") ? PTX_SHARED
                  : braid_ptx_word_is(space, ".tex")  ? PTX_TEXTURE
                                                      : 0;
    skip_statement(reader);
    struct ptx_declaration *slot = braid_array_append(&ptx->declarations, 1, sizeof(*slot));
    if (slot)
        *slot = (struct ptx_declaration){ space, space.at, reader->at, reader->is_extern };
    else
        refuse(reader, "");
}

// The word behind a directive, and more behind commas. False: the directive does not stand here.
static bool read_of_head(struct reader *reader, const char *directive, struct ptx_word *out_word)
{
    if (!braid_ptx_word_is(peek(reader), directive))
        return false;
    next(reader);
    *out_word = next(reader);
    while (braid_ptx_word_is(peek(reader), ",")) {
        next(reader);
        if (!braid_ptx_is_name(next(reader)))
            refuse(reader, "its .target is not complete");
    }
    return true;
}

// Passes change it before all else, so nothing of it may stand elsewhere.
static void read_head(struct reader *reader)
{
    struct ptx *ptx = reader->ptx;
    struct ptx_word bits = { 0 };
    if (read_of_head(reader, ".version", &ptx->version) && !braid_ptx_is_number(ptx->version))
        refuse(reader, "its .version has no number");
    if (read_of_head(reader, ".target", &ptx->target) && !braid_ptx_is_name(ptx->target))
        refuse(reader, "its .target has no name");
    if (read_of_head(reader, ".address_size", &bits) && !braid_ptx_is_number(bits))
        refuse(reader, "its .address_size has no number");
    ptx->head_end = peek(reader).at;
}

static void read_outside(struct reader *reader, struct ptx_word word)
{
    if (braid_ptx_word_is(word, ".version") || braid_ptx_word_is(word, ".target")) {
        refuse(reader, "its .version and .target do not stand first, once each");
    } else if (braid_ptx_word_is(word, ".entry") || braid_ptx_word_is(word, ".func")) {
        read_function(reader, word, braid_ptx_word_is(word, ".entry"));
    } else if (braid_ptx_word_is(word, ".file") || braid_ptx_word_is(word, ".loc")) {
        skip_directive(reader, word);
    } else if (braid_ptx_word_is(word, ".section")) {
        skip_section(reader);
    } else if (braid_ptx_word_is(word, ".global") || braid_ptx_word_is(word, ".const") ||
               braid_ptx_word_is(word, ".shared") || braid_ptx_word_is(word, ".tex")) {
        read_declaration(reader, word);
    }
    reader->is_extern = braid_ptx_word_is(word, ".extern");
}

bool braid_ptx_read(const char *text, struct ptx *out_ptx, struct ptx_reason *out_reason)
{
    struct reader reader = { .ptx = out_ptx, .at = text, .reason = out_reason };
    *out_ptx = (struct ptx){ .text = text };
    *out_reason = (struct ptx_reason){ 0 };
    read_head(&reader);
    for (struct ptx_word word = next(&reader); word.length && !reader.failed; word = next(&reader))
        read_outside(&reader, word);
    if (reader.failed)
        braid_ptx_finish(out_ptx);
    return !reader.failed;
}

void braid_ptx_finish(struct ptx *ptx)
{
    braid_array_finish(&ptx->functions);
    braid_array_finish(&ptx->statements);
    braid_array_finish(&ptx->declarations);
}

// ---- numbers ----

uint32_t braid_ptx_line(const char *text, const char *at)
{
    uint32_t line = 1;
    while (text < at && (text = memchr(text, '\n', (size_t)(at - text)))) {
        line++;
        text++;
    }
    return line;
}

static int read_number(struct ptx_word word, size_t at, uint32_t most)
{
    uint32_t number = braid_ptx_read_number(word, at, 10);
    return (int)(number < most ? number : most);
}

int braid_ptx_version_number(struct ptx_word version)
{
    size_t point = 0;
    while (point < version.length && version.at[point] != '.')
        point++;
    return read_number(version, 0, 9999) * 100 + read_number(version, point + 1, 99);
}

int braid_ptx_target_number(struct ptx_word target)
{
    return braid_ptx_word_begins(target, "sm_") ? read_number(target, 3, 9999) : 0;
}

int braid_ptx_version(const struct ptx *ptx)
{
    return braid_ptx_version_number(ptx->version);
}

int braid_ptx_target(const struct ptx *ptx)
{
    return braid_ptx_target_number(ptx->target);
}

// ---- registers ----

// %p<4> declares %p0 to %p3.
static bool has_name(struct ptx_word declared, bool is_range, struct ptx_word name)
{
    size_t i = declared.length;
    if (!is_range)
        return ptx_same_word(declared, name);
    if (name.length <= i || memcmp(name.at, declared.at, i) != 0)
        return false;
    while (i < name.length && isdigit((unsigned char)name.at[i]))
        i++;
    return i == name.length;
}

struct ptx_word braid_ptx_type_of(const struct ptx *ptx, const struct ptx_function *function,
                                  struct ptx_word name)
{
    for (size_t i = 0; i < function->num; i++) {
        const struct ptx_statement *statement = &ptx_statements(ptx, function)[i];
        const char *at = statement->word.at + statement->word.length;
        if (!braid_ptx_word_is(statement->word, ".reg"))
            continue;
        struct ptx_word type = braid_ptx_next_word(&at);
        for (struct ptx_word word = braid_ptx_next_word(&at);
             word.length && word.at < statement->end; word = braid_ptx_next_word(&at)) {
            if (has_name(word, *at == '<', name))
                return type;
        }
    }
    return (struct ptx_word){ 0 };
}
