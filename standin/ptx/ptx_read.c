// SPDX-License-Identifier: Apache-2.0
// From the text of an entry to its instructions.
#include <stdlib.h>
#include <string.h>

#include "operations.h"
#include "ptx_reader.h"

enum { MOST_DEPTH = 32 }; // blocks in each other

int operations_find(const char *name)
{
#define NAME_OPERATION(name) #name,
    static const char *const names[] = { OPERATIONS(NAME_OPERATION) };
#undef NAME_OPERATION
    for (int i = 0; i < NUM_OPERATIONS; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

static void leave_scope(struct reader *reader)
{
    while (reader->num_names > 0 && reader->names[reader->num_names - 1].scope == reader->scope &&
           reader->names[reader->num_names - 1].kind != NAME_LABEL)
        reader->num_names--;
    reader->scope--;
}

// ---- instructions ----

static uint32_t find_part(const char *name)
{
#define NAME_PART(name) #name,
    static const char *const names[] = { CODE_PARTS(NAME_PART) };
#undef NAME_PART
    for (size_t i = 0; i < NUM_PARTS; i++)
        if (strcmp(names[i], name) == 0)
            return UINT32_C(1) << i;
    return 0;
}

static void read_opcode(struct reader *reader, const char *word, struct instruction *instruction)
{
    static const struct {
        const char *name;
        enum space space;
    } spaces[] = { { "global", SPACE_GLOBAL },      { "shared", SPACE_SHARED },
                   { "shared::cta", SPACE_SHARED }, { "const", SPACE_GLOBAL },
                   { "local", SPACE_LOCAL },        { "param", SPACE_PARAM } };
    char copy[CODE_WORD], *save = NULL;
    memcpy(copy, word, strlen(word) + 1);
    char *part = strtok_r(copy, ".", &save);
    instruction->operation = part ? operations_find(part) : -1;
    if (instruction->operation < 0)
        reader_fail(reader, "the stand-in does not know", word);
    instruction->width = 1;
    while (part && (part = strtok_r(NULL, ".", &save))) {
        struct type type = reader_type(part);
        if (type.kind == 'f' && type.bits < 32)
            reader_fail(reader, "the stand-in has no numbers of", part);
        if (type.kind) {
            instruction->other = instruction->type;
            instruction->type = type;
        }
        for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++)
            if (strcmp(part, spaces[i].name) == 0)
                instruction->space = spaces[i].space;
        if (strcmp(part, "v2") == 0 || strcmp(part, "v4") == 0)
            instruction->width = part[1] - '0';
        instruction->parts |= find_part(part);
        if (!instruction->how[0])
            memcpy(instruction->how, part, strnlen(part, sizeof(instruction->how) - 1));
    }
}

static size_t find_or_add_function(struct reader *reader, const char *name)
{
    struct code *code = reader->code;
    for (size_t i = 0; i < code->num_functions; i++)
        if (strcmp(code->functions[i].name, name) == 0)
            return i;
    struct function *more = realloc(code->functions, (code->num_functions + 1) * sizeof(*more));
    if (more == NULL) {
        reader_fail(reader, "no memory at", name);
        return SIZE_MAX;
    }
    code->functions = more;
    more[code->num_functions] = (struct function){ .first = SIZE_MAX };
    memcpy(more[code->num_functions].name, name, strlen(name) + 1);
    return code->num_functions++;
}

// call.uni (result), name, (arguments); of the driver's: cudaGraphSetConditional, (handle, value),
// and vprintf, (format, values)
static void read_callee(struct reader *reader, struct instruction *instruction)
{
    char word[CODE_WORD];
    instruction->takes_result = reader_next_is(reader, "(");
    if (instruction->takes_result) {
        reader_operand(reader, &instruction->operands[instruction->num_operands++]);
        reader_next_is(reader, ")");
        reader_next_is(reader, ",");
    }
    reader_next(reader, word);
    if (word[0] == '%')
        instruction->callee = CODE_BY_POINTER;
    else if (strcmp(word, "cudaGraphSetConditional") == 0)
        instruction->callee = CODE_SETS_CONDITION;
    else if (strcmp(word, "vprintf") == 0)
        instruction->callee = CODE_PRINTS;
    else
        instruction->callee = find_or_add_function(reader, word);
    reader_next_is(reader, ",");
    reader_next_is(reader, "(");
}

static void add_instruction(struct reader *reader, const struct instruction *instruction)
{
    struct code *code = reader->code;
    if (code->num == reader->capacity) {
        reader->capacity = reader->capacity ? 2 * reader->capacity : 256;
        struct instruction *more =
            realloc(code->instructions, reader->capacity * sizeof(*code->instructions));
        if (more == NULL) {
            reader_fail(reader, "no memory at", "an instruction");
            return;
        }
        code->instructions = more;
    }
    code->instructions[code->num++] = *instruction;
}

static void read_instruction(struct reader *reader, char *word)
{
    struct instruction instruction = { .line = reader->line, .guard = CODE_NO_REGISTER };
    if (word[0] == '@') {
        struct operand guard = { 0 };
        reader_operand(reader, &guard);
        instruction.guard = guard.index;
        instruction.guard_negated = guard.negated;
        reader_next(reader, word);
    }
    read_opcode(reader, word, &instruction);
    if (instruction.operation == OP_call)
        read_callee(reader, &instruction);
    while (!reader->failed && !reader_next_is(reader, ";") && *reader->at) {
        if (instruction.num_operands == CODE_MOST_OPERANDS)
            reader_fail(reader, "too many operands of", word);
        else
            reader_operand(reader, &instruction.operands[instruction.num_operands++]);
        reader_next_is(reader, ",");
        if (reader_next_is(reader, ")"))
            reader_next_is(reader, ",");
    }
    add_instruction(reader, &instruction);
}

static void read_targets(struct reader *reader, const char *label)
{
    struct code *code = reader->code;
    struct targets *more = realloc(code->targets, (code->num_targets + 1) * sizeof(*more));
    char word[CODE_WORD];
    if (more == NULL) {
        reader_fail(reader, "no memory at", label);
        return;
    }
    code->targets = more;
    struct targets *targets = &more[code->num_targets];
    *targets = (struct targets){ 0 };
    do {
        size_t index = 0;
        const struct name *name = reader_find_name(reader, reader_next(reader, word), &index);
        if (!name || targets->num == 64)
            reader_fail(reader, "no label:", word);
        else
            targets->labels[targets->num++] = index;
    } while (reader_next_is(reader, ","));
    reader_next_is(reader, ";");
    size_t place = 0;
    struct name *name = reader_find_name(reader, label, &place);
    if (name) {
        name->num = 1;
        name->index = code->num_targets;
    }
    code->num_targets++;
}

static void read_directive(struct reader *reader, const char *word)
{
    if (strcmp(word, ".reg") == 0)
        reader_registers(reader);
    else if (strcmp(word, ".shared") == 0)
        reader_variable(reader, NAME_SHARED, &reader->code->shared_bytes);
    else if (strcmp(word, ".local") == 0)
        reader_variable(reader, NAME_LOCAL, &reader->code->local_bytes);
    else if (strcmp(word, ".param") == 0) // a call's
        reader_variable(reader, NAME_CALL, &reader->code->local_bytes);
    else if (strcmp(word, ".loc") == 0)
        reader->at += strcspn(reader->at, "\n");
    else if (strcmp(word, ".pragma") == 0)
        reader_skip_past(reader, ";");
    else
        reader_fail(reader, "the stand-in does not know", word);
    reader_next_is(reader, ";");
}

static void read_body(struct reader *reader)
{
    char word[CODE_WORD];
    reader->scope = 1;
    while (!reader->failed && reader->scope > 0) {
        reader_next(reader, word);
        if (!*word)
            reader_fail(reader, "the text ends in", "the entry");
        else if (word[0] == '{')
            reader->scope++;
        else if (word[0] == '}')
            leave_scope(reader);
        else if (word[0] == '.')
            read_directive(reader, word);
        else if (word[0] != '@' && reader_next_is(reader, ":")) {
            if (reader_next_is(reader, ".branchtargets"))
                read_targets(reader, word);
            else if (reader_next_is(reader, ".callprototype"))
                reader_skip_past(reader, ";");
        } else if (word[0] != ';')
            read_instruction(reader, word);
    }
}

// The labels of a block that ends are known in it.
static void end_labels(struct reader *reader, const char *begin, const char *end)
{
    for (size_t i = 0; i < reader->num_names; i++)
        if (reader->names[i].kind == NAME_LABEL && reader->names[i].begin == begin)
            reader->names[i].end = end;
}

static void add_label(struct reader *reader, const char *word, size_t number, const char *begin)
{
    struct name *name = reader_add_name(reader, word, NAME_LABEL, number, 0);
    name->begin = begin;
    name->end = begin;
}

// Labels stand for the number of the instruction behind them. They are found before anything is
// read: a label is a word with a colon that begins a statement.
static void find_labels(struct reader reader, struct reader *to)
{
    const char *begins[MOST_DEPTH] = { reader.at, reader.at };
    char word[CODE_WORD];
    size_t number = to->code->num;
    int depth = 1;
    while (depth > 0 && depth < MOST_DEPTH && *reader_next(&reader, word)) {
        if (word[0] == '{') {
            if (++depth < MOST_DEPTH)
                begins[depth] = reader.at;
            continue;
        }
        if (word[0] == '}') {
            end_labels(to, begins[depth--], reader.at);
            continue;
        }
        if (word[0] == '.' && strcmp(word, ".loc") == 0) {
            reader.at += strcspn(reader.at, "\n");
            continue;
        }
        if (word[0] != '@' && word[0] != '.' && reader_next_is(&reader, ":")) {
            add_label(to, word, number, begins[depth]);
            continue;
        }
        if (word[0] != '.' && word[0] != ';')
            number++;
        while (word[0] != ';' && *reader_next(&reader, word))
            ;
    }
}

// ---- modules ----

static void read_outside(struct reader *reader, const char *word)
{
    if (strcmp(word, ".shared") == 0)
        reader_variable(reader, NAME_SHARED, &reader->code->shared_bytes);
    else if (strcmp(word, ".global") == 0 || strcmp(word, ".const") == 0)
        reader_variable(reader, NAME_GLOBAL, &reader->code->global_bytes);
}

static void skip_function(struct reader *reader)
{
    char word[CODE_WORD];
    int depth = 0;
    while (*reader_next(reader, word)) {
        depth += (word[0] == '{') - (word[0] == '}');
        if (depth == 0 && (word[0] == '}' || word[0] == ';'))
            return;
    }
}

static bool find_entry(struct reader *reader, const char *entry)
{
    char word[CODE_WORD];
    while (!reader->failed && *reader_next(reader, word)) {
        if (strcmp(word, ".func") == 0) {
            skip_function(reader);
        } else if (strcmp(word, ".entry") == 0) {
            if (strcmp(reader_next(reader, word), entry) == 0)
                return true;
            skip_function(reader);
        } else {
            read_outside(reader, word);
        }
    }
    if (!reader->failed)
        reader_fail(reader, "there is no entry", entry);
    return false;
}

// From behind the parameters. Where it ends it returns.
static void read_code(struct reader *reader)
{
    const struct instruction end = { .operation = OP_ret,
                                     .guard = CODE_NO_REGISTER,
                                     .line = reader->line };
    char word[CODE_WORD];
    while (*reader_next(reader, word) && word[0] != '{')
        ;
    find_labels(*reader, reader);
    read_body(reader);
    add_instruction(reader, &end);
}

// Moves the reader behind the name of a function that has a body; false: there is none.
static bool find_function(struct reader *reader, struct function *function)
{
    char word[CODE_WORD];
    while (*reader_next(reader, word)) {
        if (strcmp(word, ".func") != 0)
            continue;
        struct reader head = *reader;
        function->num_params = 0;
        reader_parameters(reader, NAME_CALL, function);
        bool is_it = strcmp(reader_next(reader, word), function->name) == 0;
        reader_parameters(reader, NAME_CALL, function);
        while (*reader_next(reader, word) && word[0] != '{' && word[0] != ';')
            ;
        if (is_it && word[0] == '{') {
            reader->at--;
            return true;
        }
        reader->num_names = head.num_names;
    }
    return false;
}

// The functions that are called. Each knows the module's names and its own.
static void read_functions(struct reader *reader, const char *text, size_t num_names)
{
    struct code *code = reader->code;
    for (size_t i = 0; i < code->num_functions && !reader->failed; i++) {
        struct function function = code->functions[i];
        reader->num_names = num_names;
        reader->at = text;
        reader->line = 1;
        if (!find_function(reader, &function))
            continue; // a thread that calls it fails
        function.first = code->num;
        code->functions[i] = function;
        read_code(reader);
    }
}

static void read_entry(struct reader *reader, const char *text)
{
    struct code *code = reader->code;
    size_t num_names = reader->num_names;
    reader_parameters(reader, NAME_PARAM, NULL);
    read_code(reader);
    read_functions(reader, text, num_names);
    code->shared_bytes = (code->shared_bytes + 15) / 16 * 16;
}

bool code_read_with(const char *text, const char *entry, unsigned char *globals,
                    struct code *out_code, struct text *error)
{
    struct reader reader = { .at = text, .line = 1, .code = out_code, .error = error };
    *out_code = (struct code){ .globals = globals };
    reader_begin_names(&reader, entry);
    if (globals == NULL) {
        out_code->owns_globals = true;
        out_code->globals = calloc(CODE_GLOBAL_BYTES, 1);
    }
    if (out_code->globals == NULL)
        reader_fail(&reader, "no memory for", entry);
    else if (!reader.failed && find_entry(&reader, entry))
        read_entry(&reader, text);
    free(reader.names);
    if (reader.failed)
        code_finish(out_code);
    return !reader.failed;
}

bool code_read(const char *text, const char *entry, struct code *out_code, struct text *error)
{
    return code_read_with(text, entry, NULL, out_code, error);
}

// The variable that was read last, of known size.
static bool keep_variable(struct variables *variables, const struct name *name, size_t end)
{
    struct variable *all = realloc(variables->all, (variables->num + 1) * sizeof(*all));
    if (all == NULL)
        return false;
    variables->all = all;
    struct variable *variable = &all[variables->num++];
    *variable = (struct variable){ .offset = name->index, .bytes = end - name->index };
    memcpy(variable->name, name->text, sizeof(variable->name));
    return true;
}

static void read_all_variables(struct reader *reader, struct variables *variables)
{
    char word[CODE_WORD];
    while (!reader->failed && *reader_next(reader, word)) {
        size_t before = reader->code->global_bytes;
        if (strcmp(word, ".func") == 0 || strcmp(word, ".entry") == 0)
            skip_function(reader);
        else
            read_outside(reader, word);
        if (reader->code->global_bytes > before &&
            !keep_variable(variables, &reader->names[reader->num_names - 1],
                           reader->code->global_bytes))
            reader_fail(reader, "no memory for", word);
    }
}

bool code_read_variables(const char *text, struct variables *out_variables)
{
    struct code code = { .globals = calloc(CODE_GLOBAL_BYTES, 1) };
    struct text error = { 0 };
    struct reader reader = { .at = text, .line = 1, .code = &code, .error = &error };
    *out_variables = (struct variables){ .values = code.globals };
    reader_begin_names(&reader, "variables");
    if (reader.names != NULL && code.globals != NULL)
        read_all_variables(&reader, out_variables);
    free(reader.names);
    text_finish(&error);
    out_variables->bytes = code.global_bytes;
    bool any = !reader.failed && out_variables->num > 0;
    if (!any)
        variables_finish(out_variables);
    return any;
}

void variables_finish(struct variables *variables)
{
    free(variables->all);
    free(variables->values);
    *variables = (struct variables){ 0 };
}

void code_finish(struct code *code)
{
    free(code->instructions);
    free(code->functions);
    free(code->targets);
    free(code->numbers);
    if (code->owns_globals)
        free(code->globals);
    *code = (struct code){ 0 };
}
