// SPDX-License-Identifier: Apache-2.0
// The instructions of a function, and their operands.
#include "accesses/falls.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BITS = 256 };

// ---- opcodes ----

uint32_t braid_code_bits_of(struct ptx_word part)
{
    size_t at = 0, end = part.length;
    if (!part.length || !strchr("subft", *part.at))
        return 0;
    while (at < end && at < 2 && !isdigit((unsigned char)part.at[at]))
        at++;
    uint32_t bits = braid_ptx_read_number(part, at, 10), times = 1;
    if (end > 2 && part.at[end - 2] == 'x')
        times = (uint32_t)(part.at[end - 1] - '0');
    const bool is_type = bits <= MOST_BITS && (bits & (bits - 1)) == 0 && times <= 8;
    return is_type ? bits * times : 0;
}

// The part of an opcode that begins behind *at, which moves past it; length 0: there is none.
static struct ptx_word next_part(struct ptx_word opcode, size_t *at)
{
    size_t begin = *at;
    while (*at < opcode.length && opcode.at[*at] != '.')
        ++*at;
    struct ptx_word part = { opcode.at + begin, *at - begin };
    *at += *at < opcode.length;
    return part;
}

// The meaning of all parts behind the name.
struct opcode {
    struct ptx_word name;
    struct ptx_word first_type, last_type;
    enum code_space space;
    uint8_t num_elements;
    bool is_wide;
};

static enum code_space space_of(struct ptx_word part, enum code_space before)
{
    static const struct {
        const char *name;
        enum code_space space;
    } spaces[] = { { "param", CODE_PARAM },
                   { "local", CODE_LOCAL },
                   { "shared", CODE_SHARED },
                   { "global", CODE_GLOBAL },
                   { "const", CODE_GLOBAL } };
    for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++) {
        if (braid_ptx_word_begins(part, spaces[i].name))
            return spaces[i].space;
    }
    return before;
}

static struct opcode read_opcode(struct ptx_word word)
{
    size_t at = 0;
    struct opcode opcode = { .name = next_part(word, &at), .num_elements = 1 };
    while (at < word.length) {
        struct ptx_word part = next_part(word, &at);
        opcode.is_wide = opcode.is_wide || braid_ptx_word_is(part, "wide");
        opcode.space = space_of(part, opcode.space);
        if (part.length == 2 && *part.at == 'v' && isdigit((unsigned char)part.at[1]))
            opcode.num_elements = (uint8_t)(part.at[1] - '0');
        if (!braid_code_bits_of(part))
            continue;
        opcode.first_type = opcode.first_type.length ? opcode.first_type : part;
        opcode.last_type = part;
    }
    return opcode;
}

// The results of all others come from their operands.
static enum code_operation find_operation(const struct opcode *opcode, unsigned facts)
{
    static const struct {
        const char *name;
        enum code_operation operation;
    } rows[] = {
        { "ld", CODE_LOAD },
        { "ldu", CODE_LOAD },
        { "ldmatrix", CODE_LOAD },
        { "st", CODE_STORE },
        { "stmatrix", CODE_STORE },
        { "red", CODE_STORE },
        { "atom", CODE_FETCH },
        { "cp", CODE_COPY },
        { "call", CODE_CALL },
        { "mov", CODE_MOVE },
        { "cvta", CODE_MOVE },
        { "selp", CODE_MOVE },
        { "slct", CODE_MOVE },
        { "shfl", CODE_MOVE },
        { "cvt", CODE_CONVERT },
        { "add", CODE_ADD },
        { "sub", CODE_ADD },
        { "mul", CODE_MULTIPLY },
        { "mul24", CODE_MULTIPLY },
        { "div", CODE_MULTIPLY },
        { "mad", CODE_MULTIPLY_ADD },
        { "mad24", CODE_MULTIPLY_ADD },
        { "madc", CODE_MULTIPLY_ADD },
        { "fma", CODE_MULTIPLY_ADD },
        { "shl", CODE_SHIFT_LEFT },
        { "shr", CODE_SHIFT_RIGHT },
        { "bfi", CODE_INSERT },
        { "bfe", CODE_EXTRACT },
        { "shf", CODE_TURN },
        { "prmt", CODE_TURN },
        { "alloca", CODE_LOCATE },
        { "setp", CODE_NOTHING },
        { "set", CODE_NOTHING },
        { "testp", CODE_NOTHING },
        { "isspacep", CODE_NOTHING },
        { "istypep", CODE_NOTHING },
        { "txq", CODE_NOTHING },
        { "suq", CODE_NOTHING },
        { "bra", CODE_NOTHING },
        { "brx", CODE_NOTHING },
        { "ret", CODE_NOTHING },
        { "exit", CODE_NOTHING },
        { "bar", CODE_NOTHING },
        { "barrier", CODE_NOTHING },
        { "membar", CODE_NOTHING },
        { "fence", CODE_NOTHING },
        { "prefetch", CODE_NOTHING },
        { "prefetchu", CODE_NOTHING },
        { "vote", CODE_NOTHING },
        { "match", CODE_NOTHING },
        { "elect", CODE_NOTHING },
        { "activemask", CODE_NOTHING },
        { "discard", CODE_NOTHING },
        { "applypriority", CODE_NOTHING },
        { "mbarrier", CODE_NOTHING },
        { "createpolicy", CODE_NOTHING },
        { "trap", CODE_NOTHING },
        { "brkpt", CODE_NOTHING },
        { "wgmma", CODE_NOTHING },
        { "getctarank", CODE_NOTHING },
        { "nanosleep", CODE_NOTHING },
        { "pmevent", CODE_NOTHING },
        { "setmaxnreg", CODE_NOTHING },
        { "griddepcontrol", CODE_NOTHING },
        { "stacksave", CODE_LOCATE },
        { "stackrestore", CODE_NOTHING },
        { "clusterlaunchcontrol", CODE_NOTHING },
        { "multimem", CODE_REFUSED },
        { "tensormap", CODE_REFUSED },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (braid_ptx_word_is(opcode->name, rows[i].name))
            return rows[i].operation;
    }
    return facts & PTX_TEXTURE ? CODE_REFUSED : CODE_FLOW;
}

// Instructions that the second part tells apart. Tensor memory counts as shared memory here.
static enum code_operation find_by_part(struct ptx_word word, enum code_operation operation,
                                        struct opcode *opcode)
{
    if (braid_ptx_word_begins(word, "wmma.load"))
        return CODE_LOAD;
    if (braid_ptx_word_begins(word, "wmma.store"))
        return CODE_STORE;
    if (!braid_ptx_word_is(opcode->name, "tcgen05"))
        return operation;
    opcode->space = CODE_SHARED;
    return braid_ptx_word_begins(word, "tcgen05.ld")   ? CODE_LOAD
           : braid_ptx_word_begins(word, "tcgen05.st") ? CODE_STORE
                                                       : CODE_NOTHING;
}

static bool is_float(struct ptx_word type)
{
    return type.length && (*type.at == 'f' || (type.length > 1 && type.at[1] == 'f'));
}

static uint8_t bytes_of_result(const struct opcode *opcode, enum code_operation operation)
{
    const bool is_first = operation == CODE_CONVERT || braid_ptx_word_is(opcode->name, "slct");
    uint32_t bits = braid_code_bits_of(is_first ? opcode->first_type : opcode->last_type);
    bits *= opcode->is_wide ? 2 : 1;
    return (uint8_t)((bits + 7) / 8);
}

// ---- operands ----

struct operands_reader {
    struct kernel_code *code;
    struct code_function *function;
    struct code_operand operand;
    const char *why; // the instruction is refused
    bool failed;     // memory ran out
};

static void put_value(struct operands_reader *reader, struct code_value value)
{
    struct code_value *slot = braid_array_append(&reader->function->values, 1, sizeof(*slot));
    reader->failed = reader->failed || !slot;
    if (!slot)
        return;
    *slot = value;
    reader->operand.num++;
}

static struct code_value constant(struct operands_reader *reader, enum source_kind kind,
                                  uint32_t item)
{
    const uint64_t source = source_make(kind, item, 0);
    return (struct code_value){ .cell = CODE_NONE,
                                .set = braid_sources_one(&reader->code->sets, source),
                                .function = CODE_NONE };
}

static bool is_of_range(const struct code_function *function, struct ptx_word word)
{
    while (word.length && isdigit((unsigned char)word.at[word.length - 1]))
        word.length--;
    const struct code_name *name = braid_code_names_find(&function->names, word);
    return name && name->kind == CODE_NAME_RANGE;
}

// A name that nobody declared is that of a register. A name that a function and the module declare
// may be either, since a function has scopes.
static struct code_name *find_name(struct operands_reader *reader, struct ptx_word word)
{
    static struct code_name mixed = { .kind = CODE_NAME_MIXED };
    struct code_function *function = reader->function;
    struct code_name *name = braid_code_names_find(&function->names, word), *outer = NULL;
    if (!name || *word.at != '%') // that of a register, as a rule
        outer = braid_code_names_find(&reader->code->names, word);
    if (outer && (name || is_of_range(function, word)))
        return &mixed;
    if (name || outer)
        return name ? name : outer;
    name = braid_code_names_put(&function->names, word, CODE_NAME_CELL, function->num_cells);
    function->num_cells += name != NULL;
    reader->failed = reader->failed || !name;
    return name;
}

// v.x is a part of v.
static struct ptx_word without_part(struct ptx_word word)
{
    const char *point = memchr(word.at, '.', word.length);
    return point ? (struct ptx_word){ word.at, (size_t)(point - word.at) } : word;
}

static struct code_value find_value(struct operands_reader *reader, struct ptx_word word)
{
    struct code_value value = { .cell = CODE_NONE, .function = CODE_NONE };
    const struct ptx_word whole = without_part(word);
    const struct code_name *name = find_name(reader, whole);
    if (!name)
        return value;
    switch (name->kind) {
    case CODE_NAME_PARAM:
        value.is_variable = true;
        // fallthrough
    case CODE_NAME_CELL:
        value.cell = name->index;
        value.is_part = whole.length < word.length;
        break;
    case CODE_NAME_PARAMETER:
        return constant(reader, SOURCE_PARAMETER, name->index);
    case CODE_NAME_LOCAL:
        return constant(reader, SOURCE_LOCAL, name->index);
    case CODE_NAME_SHARED:
        return constant(reader, SOURCE_SHARED, 0);
    case CODE_NAME_VARIABLE:
        return constant(reader, SOURCE_VARIABLE, name->index);
    case CODE_NAME_FUNCTION:
        value.function = name->index;
        break;
    default:
        reader->why = "a name stands for several things";
    }
    return value;
}

static const char not_understood[] = "its operands are not understood";

// A number whose base is told by its second letter is none that this reads.
static bool read_number(struct ptx_word word, bool is_negative, int64_t *out_number)
{
    *out_number = 0;
    if (word.length > 1 && strchr("fFdDbB", word.at[1]))
        return false;
    const uint64_t number = strtoull(word.at, NULL, 0);
    *out_number = (int64_t)(is_negative ? 0 - number : number);
    return true;
}

static void take_number(struct operands_reader *reader, struct ptx_word word, bool is_negative,
                        bool is_address)
{
    struct code_value value = { .cell = CODE_NONE, .function = CODE_NONE };
    value.is_number = read_number(word, is_negative, &value.number);
    if (is_address && !value.is_number)
        reader->why = not_understood;
    if (is_address && reader->operand.num)
        reader->operand.offset += value.number;
    else
        put_value(reader, value);
}

static void begin_operand(struct operands_reader *reader)
{
    reader->operand = (struct code_operand){ .first = (uint32_t)reader->function->values.num };
}

static void end_operand(struct operands_reader *reader, struct code_instruction *instruction)
{
    struct code_operand *slot = braid_array_append(&reader->function->operands, 1, sizeof(*slot));
    reader->failed = reader->failed || !slot;
    if (!slot)
        return;
    *slot = reader->operand;
    if (instruction->num_operands == UINT8_MAX)
        reader->why = "it has too many operands";
    else
        instruction->num_operands++;
    begin_operand(reader);
}

static bool is_value(struct ptx_word word)
{
    return braid_ptx_is_name(word) || braid_ptx_is_number(word);
}

// Whether a word may stand behind another: where a semicolon is missing, names stand side by side.
// The index of an element behind its array counts elements, and is not read.
static bool may_follow(struct ptx_word word, bool is_behind_value)
{
    if (is_value(word) || braid_ptx_word_is(word, "["))
        return !is_behind_value;
    return word.length == 1 && strchr("[]{}(),;+-|!", *word.at);
}

// Commas part operands, but not within brackets.
static void read_operands(struct operands_reader *reader, struct code_instruction *instruction)
{
    const struct ptx_statement *statement = instruction->statement;
    const char *at = statement->word.at + statement->word.length;
    int depth = 0;
    bool is_address = false, is_negative = false, is_behind_value = false;
    begin_operand(reader);
    for (struct ptx_word word = braid_ptx_next_word(&at); word.length && word.at < statement->end;
         word = braid_ptx_next_word(&at)) {
        const char c = *word.at;
        const bool is_sign = word.length == 1;
        if (!may_follow(word, is_behind_value) || (is_address && is_sign && c == '('))
            reader->why = not_understood;
        depth += is_sign && (c == '[' || c == '{' || c == '(');
        depth -= is_sign && (c == ']' || c == '}' || c == ')');
        if (is_sign && (c == '[' || c == ']'))
            is_address = c == '[';
        reader->operand.is_vector = reader->operand.is_vector || (is_sign && c == '{');
        if (depth == 0 && is_sign && (c == ',' || c == ';'))
            end_operand(reader, instruction);
        else if (braid_ptx_is_number(word))
            take_number(reader, word, is_negative, is_address);
        else if (braid_ptx_is_name(word))
            put_value(reader, find_value(reader, word));
        is_negative = is_sign && c == '-';
        is_behind_value = is_value(word);
    }
}

// ---- instructions ----

// call (results), function, (arguments), prototype: without parentheses there are no results.
static void arrange_call(struct operands_reader *reader, struct code_instruction *instruction)
{
    const char *at = instruction->statement->word.at + instruction->statement->word.length;
    if (braid_ptx_word_is(braid_ptx_next_word(&at), "("))
        return;
    struct code_operand none = { 0 };
    struct array *operands = &reader->function->operands;
    if (!braid_array_put(operands, &none, sizeof(none))) {
        reader->failed = true;
        return;
    }
    struct code_operand *first = (struct code_operand *)operands->items;
    first += instruction->first_operand;
    memmove(first + 1, first, instruction->num_operands * sizeof(*first));
    *first = none;
    instruction->num_operands++;
}

// Programs may call these functions without a body, which read their arguments.
static bool is_harmless(struct ptx_word name)
{
    return braid_ptx_word_is(name, "vprintf") || braid_ptx_word_is(name, "__assertfail");
}

static void check_call(const struct operands_reader *reader, struct code_instruction *instruction)
{
    const struct code_operand *operands = code_operands(reader->function, instruction);
    const struct code_value *callee = instruction->num_operands > 1 && operands[1].num == 1
                                          ? code_values(reader->function, &operands[1])
                                          : NULL;
    instruction->calls_by_address =
        callee && callee->function == CODE_NONE && callee->cell != CODE_NONE;
    if (!callee || callee->function == CODE_NONE) {
        instruction->why = "it calls a function by its address";
        return;
    }
    const struct ptx_function *function = reader->code->functions[callee->function].ptx;
    if (!function->body && !is_harmless(function->name))
        instruction->why = "it calls a function that has no body here";
}

static bool may_touch_memory(enum code_operation operation)
{
    return operation == CODE_NOTHING || operation == CODE_LOAD || operation == CODE_STORE ||
           operation == CODE_FETCH || operation == CODE_COPY || operation == CODE_REFUSED;
}

// Bytes that stand at a number behind the address.
static void find_range(const struct ptx_access *access, struct code_instruction *instruction)
{
    int64_t from = 0;
    const bool is_number = !access->offset.length || (braid_ptx_is_number(access->offset) &&
                                                      read_number(access->offset, false, &from));
    if (!is_number || access->size.length || access->rows || from < 0 || from > INT32_MAX)
        return;
    instruction->access_from = (uint32_t)from;
    instruction->access_bytes = access->bytes;
}

static void find_access(struct operands_reader *reader, struct code_instruction *instruction)
{
    struct ptx_access access;
    enum ptx_access_kind kind = braid_ptx_find_access(instruction->statement, &access);
    if (kind == PTX_UNSEEN_ACCESS)
        instruction->why = "it touches memory in a way that is not known";
    if (kind != PTX_ACCESS)
        return;
    struct code_value value = { .cell = CODE_NONE, .function = CODE_NONE };
    if (braid_ptx_is_name(access.base))
        value = find_value(reader, access.base);
    begin_operand(reader);
    instruction->access_base = reader->operand.first;
    instruction->act = (uint8_t)access.act;
    find_range(&access, instruction);
    put_value(reader, value);
}

static void read_instruction(struct operands_reader *reader, struct code_instruction *instruction)
{
    struct opcode opcode = read_opcode(instruction->statement->word);
    enum code_operation operation = find_operation(&opcode, instruction->statement->facts);
    operation = find_by_part(instruction->statement->word, operation, &opcode);
    instruction->bytes = bytes_of_result(&opcode, operation);
    if (operation == CODE_CONVERT && (!is_float(opcode.last_type) || is_float(opcode.first_type)))
        operation = CODE_MOVE;
    instruction->space = (uint8_t)opcode.space;
    instruction->num_elements = opcode.num_elements;
    instruction->first_operand = (uint32_t)reader->function->operands.num;
    reader->why = NULL;
    read_operands(reader, instruction);
    instruction->access_base = CODE_NONE;
    if (may_touch_memory(operation))
        find_access(reader, instruction);
    if (operation == CODE_CALL && !reader->failed)
        arrange_call(reader, instruction);
    if (operation == CODE_CALL && !reader->failed)
        check_call(reader, instruction);
    if (operation == CODE_REFUSED)
        instruction->why = "it touches memory in a way that is not known";
    instruction->why = reader->why ? reader->why : instruction->why;
    instruction->operation = (uint8_t)(instruction->why ? CODE_REFUSED : operation);
}

bool braid_code_read_instructions(struct kernel_code *code, struct code_function *function)
{
    struct operands_reader reader = { .code = code, .function = function };
    for (size_t i = 0; i < function->ptx->num && !reader.failed; i++) {
        const struct ptx_statement *statement = &ptx_statements(&code->ptx, function->ptx)[i];
        struct code_instruction instruction = { .statement = statement };
        if (statement->kind != PTX_INSTRUCTION)
            continue;
        read_instruction(&reader, &instruction);
        if (!braid_array_put(&function->instructions, &instruction, sizeof(instruction)))
            reader.failed = true;
    }
    return !reader.failed && !code->sets.failed && braid_code_copy_constants(code, function) &&
           braid_falls_note(function);
}
