// SPDX-License-Identifier: Apache-2.0
// Kernels that only hand a word of memory to a conditional node.
//
// Such a kernel is a straight line: loads, tests against 0, and one call. Any other instruction
// makes it a kernel of another kind.
#include "import/setters.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ptx/ptx_read.h"

enum value_kind {
    UNKNOWN,
    NUMBER,   // `add`
    PLACE,    // the address of a parameter, and `add`
    POINTER,  // a parameter has it, or memory behind it does, and `add`
    WORD,     // memory has it, or it is a number that is 0 where the word is
    IS_SET,   // whether the word is not 0
    IS_CLEAR, // whether it is 0
};

struct value {
    enum value_kind kind;
    uint32_t add;
    struct setter from; // where a pointer or word is from
};

struct named {
    struct ptx_word name;
    struct value value;
};

enum { MOST_NAMES = 64 };

struct reader {
    const struct ptx *ptx;
    const struct ptx_function *function;
    struct named names[MOST_NAMES];
    uint32_t num_names, num_calls;
    struct setter setter;
    char *why;
    uint32_t bytes; // that `why` has
    const char *at; // what is read of the statement at hand
};

__attribute__((format(printf, 2, 3))) static bool refuse(struct reader *reader, const char *format,
                                                         ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(reader->why, reader->bytes, format, args);
    va_end(args);
    return false;
}

// ---- operands ----

static struct ptx_word next(struct reader *reader)
{
    return braid_ptx_next_word(&reader->at);
}

static bool take_mark(struct reader *reader, const char *mark)
{
    return braid_ptx_word_is(next(reader), mark);
}

static bool ends(struct reader *reader)
{
    return take_mark(reader, ";");
}

// Letters and dots tell of floating or binary numbers, which nobody reads here.
static bool is_whole(struct ptx_word word)
{
    return braid_ptx_is_number(word) && !memchr(word.at, '.', word.length) &&
           (word.length == 1 || !strchr("fFdDbB", word.at[1]));
}

// The index of a parameter; UINT32_MAX: none has the name.
static uint32_t find_parameter(const struct reader *reader, struct ptx_word name)
{
    const char *at = reader->function->parameters;
    uint32_t index = 0, depth = 0;
    while (at && at < reader->function->parameters_end) {
        const struct ptx_word word = braid_ptx_next_word(&at);
        if (!word.length || word.at >= reader->function->parameters_end)
            break;
        depth += braid_ptx_word_is(word, "[");
        depth -= braid_ptx_word_is(word, "]") && depth;
        index += braid_ptx_word_is(word, ",") && !depth;
        if (ptx_same_word(word, name))
            return index;
    }
    return UINT32_MAX;
}

static struct value value_of(const struct reader *reader, struct ptx_word word)
{
    struct value value = { UNKNOWN };
    const uint32_t parameter = find_parameter(reader, word);
    if (is_whole(word)) {
        value.kind = NUMBER;
        value.add = braid_ptx_read_number(word, 0, 0);
    } else if (parameter != UINT32_MAX) {
        value.kind = PLACE;
        value.from.word = parameter;
    }
    for (uint32_t i = 0; i < reader->num_names; i++) {
        if (ptx_same_word(reader->names[i].name, word))
            value = reader->names[i].value;
    }
    return value;
}

static bool put_value(struct reader *reader, struct ptx_word name, struct value value)
{
    for (uint32_t i = 0; i < reader->num_names; i++) {
        if (ptx_same_word(reader->names[i].name, name)) {
            reader->names[i].value = value;
            return true;
        }
    }
    if (reader->num_names == MOST_NAMES)
        return refuse(reader, "it has too many values");
    reader->names[reader->num_names++] = (struct named){ name, value };
    return true;
}

// [name] or [name+number].
static bool read_address(struct reader *reader, struct ptx_word *out_name, uint32_t *out_add)
{
    *out_add = 0;
    bool is_read = take_mark(reader, "[");
    *out_name = next(reader);
    struct ptx_word word = next(reader);
    if (is_read && braid_ptx_word_is(word, "+")) {
        word = next(reader);
        is_read = is_whole(word);
        *out_add = braid_ptx_read_number(word, 0, 0);
        word = next(reader);
    }
    return is_read && *out_add < UINT32_MAX / 4 && braid_ptx_word_is(word, "]");
}

// ---- words of an instruction ----

// The part behind dot `index`, from 0; length 0: there is none.
static struct ptx_word part_of(struct ptx_word word, uint32_t index)
{
    const char *at = word.at, *end = word.at + word.length;
    for (; at; index--) {
        const char *dot = memchr(at, '.', (size_t)(end - at));
        const char *stop = dot ? dot : end;
        if (index == 0)
            return (struct ptx_word){ at, (size_t)(stop - at) };
        at = dot ? dot + 1 : NULL;
    }
    return (struct ptx_word){ NULL, 0 };
}

static bool has_part(struct ptx_word word, const char *part)
{
    struct ptx_word found;
    for (uint32_t i = 0; (found = part_of(word, i)).length; i++) {
        if (braid_ptx_word_is(found, part))
            return true;
    }
    return false;
}

static bool is_any(struct ptx_word word, const char *const *names)
{
    bool is = false;
    for (; *names; names++)
        is = is || braid_ptx_word_is(word, *names);
    return is;
}

// The bytes of the type at its end; 0: it has another one.
static uint32_t bytes_of(struct ptx_word word)
{
    static const char *const wide[] = { "b64", "u64", "s64", NULL };
    static const char *const narrow[] = { "b32", "u32", "s32", NULL };
    struct ptx_word last = { NULL, 0 }, part;
    for (uint32_t i = 0; (part = part_of(word, i)).length; i++)
        last = part;
    return is_any(last, wide) ? 8 : is_any(last, narrow) ? 4 : 0;
}

// A load from memory that all threads of the device see.
static bool is_plain_load(struct ptx_word word)
{
    static const char *const known[] = { "ld",  "global", "volatile", "relaxed", "weak", "nc",
                                         "ca",  "cg",     "gpu",      "sys",     "b64",  "u64",
                                         "s64", "b32",    "u32",      "s32",     NULL };
    struct ptx_word part;
    for (uint32_t i = 0; (part = part_of(word, i)).length; i++) {
        if (!is_any(part, known))
            return false;
    }
    return bytes_of(word) != 0;
}

// ---- instructions ----

static bool load_parameter(struct reader *reader, struct ptx_word to, struct ptx_word base,
                           uint32_t add, uint32_t bytes)
{
    struct value place = value_of(reader, base);
    if (place.kind != PLACE)
        return refuse(reader, "it loads a parameter by an address that nobody knows");
    const struct value value = { .kind = bytes == 8 ? POINTER : UNKNOWN,
                                 .from = { .word = place.from.word, .offset = place.add + add } };
    return put_value(reader, to, value);
}

static bool load_memory(struct reader *reader, struct ptx_word to, struct ptx_word base,
                        uint32_t add, uint32_t bytes)
{
    struct value value = value_of(reader, base);
    if (value.kind != POINTER)
        return refuse(reader, "it loads from an address that is none of its parameters");
    add += value.add;
    value.add = 0;
    if (bytes == 4) {
        value.kind = WORD;
        value.from.at = add;
    } else if (value.from.num_loads == SETTER_MOST_LOADS) {
        return refuse(reader, "its word is behind too many pointers");
    } else {
        value.from.loads[value.from.num_loads++] = add;
    }
    return put_value(reader, to, value);
}

static bool read_load(struct reader *reader, struct ptx_word word)
{
    const bool is_parameter = has_part(word, "param");
    const struct ptx_word to = next(reader);
    struct ptx_word base;
    uint32_t add;
    if (!take_mark(reader, ",") || !read_address(reader, &base, &add) || !bytes_of(word) ||
        !ends(reader) || (!is_parameter && !is_plain_load(word)))
        return refuse(reader, "it has a load of another kind");
    const struct value place = value_of(reader, base);
    return is_parameter || place.kind == PLACE
               ? load_parameter(reader, to, base, add, bytes_of(word))
               : load_memory(reader, to, base, add, bytes_of(word));
}

static bool read_copy(struct reader *reader)
{
    const struct ptx_word to = next(reader);
    const bool is_read = take_mark(reader, ",");
    const struct value value = value_of(reader, next(reader));
    return is_read && ends(reader) ? put_value(reader, to, value)
                                   : refuse(reader, "it copies something of another kind");
}

// All sums with the offset of a load are below 2^31: offsets of pointers have a sign.
static bool read_sum(struct reader *reader)
{
    const struct ptx_word to = next(reader);
    bool is_read = take_mark(reader, ",");
    struct value value = value_of(reader, next(reader));
    is_read = is_read && take_mark(reader, ",");
    const struct value more = value_of(reader, next(reader));
    if (!is_read || (value.kind != POINTER && value.kind != PLACE) || more.kind != NUMBER ||
        more.add > UINT32_MAX / 4 || value.add > UINT32_MAX / 4 - more.add || !ends(reader))
        return refuse(reader, "it adds something of another kind");
    value.add += more.add;
    return put_value(reader, to, value);
}

static bool read_test(struct reader *reader, struct ptx_word word)
{
    const struct ptx_word to = next(reader);
    bool is_read = take_mark(reader, ",");
    struct value value = value_of(reader, next(reader));
    is_read = is_read && take_mark(reader, ",");
    const struct value zero = value_of(reader, next(reader));
    const bool is_equal = has_part(word, "eq");
    if (!is_read || value.kind != WORD || zero.kind != NUMBER || zero.add != 0 ||
        bytes_of(word) != 4 || is_equal == has_part(word, "ne") || part_of(word, 3).length ||
        !ends(reader))
        return refuse(reader, "it tests something else than whether its word is 0");
    value.kind = is_equal ? IS_CLEAR : IS_SET;
    return put_value(reader, to, value);
}

static bool read_choice(struct reader *reader)
{
    const struct ptx_word to = next(reader);
    bool is_read = take_mark(reader, ",");
    const struct value one = value_of(reader, next(reader));
    is_read = is_read && take_mark(reader, ",");
    const struct value other = value_of(reader, next(reader));
    is_read = is_read && take_mark(reader, ",");
    struct value value = value_of(reader, next(reader));
    const struct value *if_set = value.kind == IS_CLEAR ? &other : &one;
    const struct value *if_clear = value.kind == IS_CLEAR ? &one : &other;
    if (!is_read || (value.kind != IS_SET && value.kind != IS_CLEAR) || if_set->kind != NUMBER ||
        if_set->add == 0 || if_clear->kind != NUMBER || if_clear->add != 0 || !ends(reader))
        return refuse(reader, "it does not choose between 0 and another number by its word");
    value.kind = WORD;
    return put_value(reader, to, value);
}

static bool read_argument(struct reader *reader)
{
    struct ptx_word to;
    uint32_t add;
    if (!read_address(reader, &to, &add) || add || !take_mark(reader, ","))
        return refuse(reader, "it stores an argument of another kind");
    return put_value(reader, to, value_of(reader, next(reader)));
}

static bool is_driver_function(struct ptx_word word)
{
    static const char *const names[] = { "cudaGraphSetConditional", "cudaCGSetConditional", NULL };
    return is_any(word, names);
}

// A text may have its own function of such a name.
static bool has_body(const struct ptx *ptx, struct ptx_word name)
{
    const struct ptx_function *functions = ptx_functions(ptx);
    bool has = false;
    for (size_t i = 0; i < ptx->functions.num; i++)
        has = has || (functions[i].body && ptx_same_word(functions[i].name, name));
    return has;
}

static bool read_call(struct reader *reader)
{
    const struct ptx_word name = next(reader);
    bool is_read = is_driver_function(name) && !has_body(reader->ptx, name);
    is_read = is_read && take_mark(reader, ",") && take_mark(reader, "(");
    const struct value handle = value_of(reader, next(reader));
    is_read = is_read && take_mark(reader, ",");
    const struct value value = value_of(reader, next(reader));
    if (!is_read || !take_mark(reader, ")"))
        return refuse(reader, "it calls another function");
    if (reader->num_calls++)
        return refuse(reader, "it sets two conditions");
    if (handle.kind != POINTER || handle.from.num_loads || handle.from.offset || handle.add)
        return refuse(reader, "the handle is none of its parameters");
    if (value.kind != WORD)
        return refuse(reader, "the value is no word that a parameter leads to");
    reader->setter = value.from;
    reader->setter.handle = handle.from.word;
    return true;
}

static bool read_instruction(struct reader *reader, const struct ptx_statement *statement)
{
    static const char *const sums[] = { "add.s64", "add.u64", "add.b64", NULL };
    static const char *const copies[] = { "mov.b64",
                                          "mov.u64",
                                          "mov.s64",
                                          "mov.b32",
                                          "mov.u32",
                                          "mov.s32",
                                          "cvta.to.global.u64",
                                          "cvta.param.u64",
                                          "cvta.global.u64",
                                          "cvta.to.param.u64",
                                          NULL };
    static const char *const calls[] = { "call", "call.uni", NULL };
    static const char *const arguments[] = { "st.param.b64", "st.param.u64", "st.param.b32",
                                             "st.param.u32", NULL };
    const struct ptx_word word = statement->word;
    reader->at = word.at + word.length;
    if (statement->begin != word.at)
        return refuse(reader, "some of its threads do something else");
    if (braid_ptx_word_begins(word, "ld."))
        return read_load(reader, word);
    if (is_any(word, copies))
        return read_copy(reader);
    if (is_any(word, sums))
        return read_sum(reader);
    if (braid_ptx_word_begins(word, "setp."))
        return read_test(reader, word);
    if (braid_ptx_word_begins(word, "selp.") && bytes_of(word) == 4)
        return read_choice(reader);
    if (is_any(word, arguments))
        return read_argument(reader);
    if (is_any(word, calls))
        return read_call(reader);
    if (!braid_ptx_word_is(word, "ret"))
        return refuse(reader, "it does more than to hand a word to a condition");
    return reader->num_calls || refuse(reader, "it ends before it sets a condition");
}

// A register or parameter that a block declares anew would have two values. Blocks behind each
// other may have the same parameters of calls.
static bool read_names(struct reader *reader, const struct ptx_statement *statement)
{
    const char *at = statement->word.at + statement->word.length;
    const uint32_t num = braid_ptx_word_is(statement->word, ".reg") ? reader->num_names : 0;
    for (struct ptx_word word = braid_ptx_next_word(&at); word.length && word.at < statement->end;
         word = braid_ptx_next_word(&at)) {
        const bool is_range = *at == '<';
        bool is_known = braid_ptx_is_name(word) && find_parameter(reader, word) != UINT32_MAX;
        for (uint32_t i = 0; i < num && braid_ptx_is_name(word); i++) {
            const struct ptx_word name = reader->names[i].name;
            is_known = is_known || ptx_same_word(name, word) ||
                       (is_range && name.length > word.length &&
                        memcmp(name.at, word.at, word.length) == 0);
        }
        if (is_known)
            return refuse(reader, "it has a name for two things");
    }
    return true;
}

static bool read_statement(struct reader *reader, const struct ptx_statement *statement)
{
    static const char *const harmless[] = { ".reg", ".param", ".loc", ".pragma", NULL };
    char why[120];
    bool is_read = statement->kind == PTX_OPEN || statement->kind == PTX_CLOSE ||
                   (statement->kind == PTX_DIRECTIVE && is_any(statement->word, harmless));
    if (is_read && statement->kind == PTX_DIRECTIVE)
        is_read = read_names(reader, statement);
    else if (!is_read && statement->kind == PTX_INSTRUCTION)
        is_read = read_instruction(reader, statement);
    else if (!is_read)
        refuse(reader, "it is no straight line of instructions");
    if (is_read)
        return true;
    snprintf(why, sizeof(why), "%s", reader->why);
    return refuse(reader, "%s (line %u)", why, braid_ptx_line(reader->ptx->text, statement->begin));
}

// ---- texts ----

static const struct ptx_function *find_entry(const struct ptx *ptx, const char *entry)
{
    const struct ptx_function *functions = ptx_functions(ptx);
    for (size_t i = 0; i < ptx->functions.num; i++) {
        if (functions[i].is_entry && functions[i].body &&
            braid_ptx_word_is(functions[i].name, entry))
            return &functions[i];
    }
    return NULL;
}

// *out_calls_any: it calls some function.
static bool calls_driver(const struct ptx *ptx, const struct ptx_function *function,
                         bool *out_calls_any)
{
    const struct ptx_statement *statements = ptx_statements(ptx, function);
    for (size_t i = 0; i < function->num; i++) {
        const char *at = statements[i].word.at + statements[i].word.length;
        const bool is_call = statements[i].kind == PTX_INSTRUCTION &&
                             braid_ptx_word_begins(statements[i].word, "call");
        *out_calls_any = *out_calls_any || is_call;
        if (is_call && is_driver_function(braid_ptx_next_word(&at)))
            return true;
    }
    return false;
}

// Whether it calls the driver's function, or may by another function of the text.
static bool may_call_driver(const struct ptx *ptx, const struct ptx_function *entry)
{
    const struct ptx_function *functions = ptx_functions(ptx);
    bool calls_any = false, is_ignored = false;
    bool may = calls_driver(ptx, entry, &calls_any);
    for (size_t i = 0; i < ptx->functions.num && calls_any && !may; i++)
        may = !functions[i].is_entry && functions[i].body &&
              calls_driver(ptx, &functions[i], &is_ignored);
    return may;
}

static bool read_entry(struct reader *reader)
{
    const struct ptx_statement *statements = ptx_statements(reader->ptx, reader->function);
    for (size_t i = 0; i < reader->function->num; i++) {
        if (!read_statement(reader, &statements[i]))
            return false;
    }
    return reader->num_calls || refuse(reader, "it sets no condition");
}

bool braid_import_read_setter(const char *ptx, const char *entry, struct setter *out_setter,
                              bool *out_calls, char *why, uint32_t bytes)
{
    struct ptx text;
    struct ptx_reason reason;
    *out_calls = false;
    snprintf(why, bytes, "its text has no such entry");
    if (!strstr(ptx, entry))
        return false;
    if (!braid_ptx_read(ptx, &text, &reason)) {
        snprintf(why, bytes, "%s", reason.text);
        return false;
    }
    struct reader reader = {
        .ptx = &text, .function = find_entry(&text, entry), .why = why, .bytes = bytes
    };
    const bool is_read = reader.function && read_entry(&reader);
    *out_calls = reader.function && may_call_driver(&text, reader.function);
    braid_ptx_finish(&text);
    *out_setter = reader.setter;
    return is_read;
}

// By its source in Quadrants, which brings machine code alone.
static const char quadrants_text[] =
    ".version 7.8\n.target sm_70\n.address_size 64\n"
    ".extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);\n"
    ".visible .entry _qd_graph_do_while_cond(.param .u64 handle, .param .u64 slot)\n{\n"
    ".reg .pred %p;\n.reg .b32 %r<2>;\n.reg .b64 %d<3>;\n.param .b64 h;\n.param .b32 v;\n"
    "ld.param.u64 %d0, [handle];\nld.param.u64 %d1, [slot];\n"
    "ld.u64 %d2, [%d1];\nld.u32 %r0, [%d2];\n"
    "setp.ne.u32 %p, %r0, 0;\nselp.u32 %r1, 1, 0, %p;\n"
    "st.param.b64 [h], %d0;\nst.param.b32 [v], %r1;\n"
    "call.uni cudaGraphSetConditional, (h, v);\nret;\n}\n";

const char *braid_import_known_setter(const char *entry)
{
    return strcmp(entry, "_qd_graph_do_while_cond") == 0 ? quadrants_text : NULL;
}
