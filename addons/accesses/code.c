// SPDX-License-Identifier: Apache-2.0
// A module's names, and the declarations of its functions.
#include "accesses/code.h"

#include <string.h>

#include "base/host_memory.h"

static bool is_opening(struct ptx_word word)
{
    return braid_ptx_word_is(word, "[") || braid_ptx_word_is(word, "{") ||
           braid_ptx_word_is(word, "<");
}

static bool is_closing(struct ptx_word word)
{
    return braid_ptx_word_is(word, "]") || braid_ptx_word_is(word, "}") ||
           braid_ptx_word_is(word, ">");
}

// Names that a declaration gives: those outside of brackets. In an initialiser, they stand inside.
// False: memory ran out.
static bool declare(struct code_names *names, const char *at, const char *end,
                    enum code_name_kind kind, uint32_t *num)
{
    int depth = 0;
    bool is_value = false;
    for (struct ptx_word word = braid_ptx_next_word(&at); word.length && word.at < end;
         word = braid_ptx_next_word(&at)) {
        depth += is_opening(word) - is_closing(word);
        is_value = depth == 0 && !braid_ptx_word_is(word, ",") &&
                   (is_value || braid_ptx_word_is(word, "="));
        if (depth != 0 || is_value || !braid_ptx_is_name(word))
            continue;
        const bool is_range = *at == '<'; // its registers are declared where they are used
        const struct code_name *name =
            braid_code_names_put(names, word, is_range ? CODE_NAME_RANGE : kind, *num);
        if (!name)
            return false;
        *num += !is_range && name->index == *num;
    }
    return true;
}

static bool declare_variables(struct kernel_code *code)
{
    uint32_t num = 0;
    for (size_t i = 0; i < code->ptx.declarations.num; i++) {
        const struct ptx_declaration *declaration = &ptx_declarations(&code->ptx)[i];
        const bool is_shared = braid_ptx_word_is(declaration->space, ".shared");
        if (!declare(&code->names, declaration->space.at, declaration->end,
                     is_shared ? CODE_NAME_SHARED : CODE_NAME_VARIABLE, &num))
            return false;
    }
    code->num_variables = num;
    return true;
}

// A function may be declared before it is defined.
static bool declare_functions(struct kernel_code *code)
{
    for (uint32_t i = 0; i < code->num_functions; i++) {
        const struct ptx_function *function = &ptx_functions(&code->ptx)[i];
        struct code_name *name = braid_code_names_find(&code->names, function->name);
        bool is_known = name && name->kind == CODE_NAME_FUNCTION;
        code->functions[i].ptx = function;
        if (!is_known)
            name = braid_code_names_put(&code->names, function->name, CODE_NAME_FUNCTION, i);
        if (!name)
            return false;
        if (is_known && function->body)
            name->index = i;
    }
    return true;
}

bool braid_code_read(const char *text, struct kernel_code *out_code, struct ptx_reason *out_reason)
{
    *out_code = (struct kernel_code){ .num_locals = SOURCE_NO_LOCAL + 1 };
    if (!braid_ptx_read(text, &out_code->ptx, out_reason))
        return false;
    out_code->num_functions = (uint32_t)out_code->ptx.functions.num;
    out_code->functions =
        braid_allocate_zeroed(out_code->num_functions, sizeof(*out_code->functions));
    if (!out_code->functions || !declare_functions(out_code) || !declare_variables(out_code)) {
        out_code->num_functions = out_code->functions ? out_code->num_functions : 0;
        braid_code_finish(out_code);
        return false;
    }
    return true;
}

static void finish_function(struct code_function *function)
{
    braid_array_finish(&function->parameters);
    braid_array_finish(&function->results);
    braid_array_finish(&function->values);
    braid_array_finish(&function->operands);
    braid_array_finish(&function->instructions);
    braid_code_names_finish(&function->names);
}

void braid_code_finish(struct kernel_code *code)
{
    for (uint32_t i = 0; i < code->num_functions; i++)
        finish_function(&code->functions[i]);
    braid_free(code->functions);
    braid_code_names_finish(&code->names);
    braid_source_sets_finish(&code->sets);
    braid_ptx_finish(&code->ptx);
    *code = (struct kernel_code){ 0 };
}

uint32_t braid_code_find_entry(const struct kernel_code *code, const char *name)
{
    for (uint32_t i = 0; i < code->num_functions; i++) {
        const struct ptx_function *function = code->functions[i].ptx;
        if (function->is_entry && function->body && braid_ptx_word_is(function->name, name))
            return i;
    }
    return CODE_NONE;
}

// ---- declarations of a function ----

// Bytes of .b8 name[56] and of .u64 name. Behind .ptr stands the alignment of its target.
static bool read_parameter(struct code_function *function, const char *at, const char *end,
                           bool is_entry, struct array *list)
{
    struct code_parameter parameter = { .bytes = 1, .cell = CODE_NONE };
    uint32_t elements = 1;
    bool is_aligned = false, is_register = false, is_of_target = false;
    for (struct ptx_word word = braid_ptx_next_word(&at); word.length && word.at < end;
         word = braid_ptx_next_word(&at)) {
        if (braid_ptx_is_number(word)) {
            const uint32_t number = braid_ptx_read_number(word, 0, 0);
            elements *= is_aligned ? 1 : number;
            parameter.align = is_aligned && !is_of_target ? number : parameter.align;
            is_aligned = false;
        } else if (braid_ptx_is_name(word)) {
            parameter.name = word;
        } else if (braid_ptx_word_begins(word, ".")) {
            static const char align[] = ".align"; // also at the end of .ptr.global.align
            const size_t length = sizeof(align) - 1;
            is_register = is_register || braid_ptx_word_is(word, ".reg");
            is_of_target = is_of_target || braid_ptx_word_begins(word, ".ptr");
            is_aligned =
                word.length >= length && memcmp(word.at + word.length - length, align, length) == 0;
            uint32_t bits = braid_code_bits_of((struct ptx_word){ word.at + 1, word.length - 1 });
            parameter.bytes = bits ? (bits + 7) / 8 : parameter.bytes;
        }
    }
    if (!parameter.name.length)
        return true;
    parameter.align = parameter.align ? parameter.align : parameter.bytes;
    parameter.bytes *= elements;
    parameter.cell = is_entry ? CODE_NONE : function->num_cells;
    const enum code_name_kind kind = is_entry      ? CODE_NAME_PARAMETER
                                     : is_register ? CODE_NAME_CELL
                                                   : CODE_NAME_PARAM;
    const uint32_t index = is_entry ? (uint32_t)list->num : function->num_cells;
    function->num_cells += !is_entry;
    return braid_code_names_put(&function->names, parameter.name, kind, index) &&
           braid_array_put(list, &parameter, sizeof(parameter));
}

static bool read_parameters(struct code_function *function, const char *at, const char *end,
                            bool is_entry, struct array *list)
{
    const char *begin = at;
    while (at < end) {
        struct ptx_word word = braid_ptx_next_word(&at);
        bool ends = !word.length || word.at >= end || braid_ptx_word_is(word, ",");
        if (!ends)
            continue;
        if (!read_parameter(function, begin, word.at < end ? word.at : end, is_entry, list))
            return false;
        begin = at;
    }
    return begin >= end || read_parameter(function, begin, end, is_entry, list);
}

// The results stand between .func and the name.
static bool read_results(struct code_function *function)
{
    const char *at = function->ptx->begin;
    if (function->ptx->is_entry)
        return true;
    braid_ptx_next_word(&at);
    if (!braid_ptx_word_is(braid_ptx_next_word(&at), "("))
        return true;
    const char *end = at;
    while (*end != ')' && end < function->ptx->name.at)
        end++;
    return read_parameters(function, at, end, false, &function->results);
}

static bool read_declarations(struct kernel_code *code, struct code_function *function)
{
    static const struct {
        const char *space;
        enum code_name_kind kind;
    } spaces[] = { { ".reg", CODE_NAME_CELL },     { ".param", CODE_NAME_PARAM },
                   { ".local", CODE_NAME_LOCAL },  { ".shared", CODE_NAME_SHARED },
                   { ".global", CODE_NAME_MIXED }, { ".const", CODE_NAME_MIXED } };
    uint32_t num = 0;
    for (size_t i = 0; i < function->ptx->num; i++) {
        const struct ptx_statement *statement = &ptx_statements(&code->ptx, function->ptx)[i];
        for (size_t k = 0; k < sizeof(spaces) / sizeof(spaces[0]); k++) {
            if (statement->kind != PTX_DIRECTIVE ||
                !braid_ptx_word_is(statement->word, spaces[k].space))
                continue;
            const bool is_cell =
                spaces[k].kind == CODE_NAME_CELL || spaces[k].kind == CODE_NAME_PARAM;
            const bool is_local = spaces[k].kind == CODE_NAME_LOCAL;
            uint32_t *count = is_cell ? &function->num_cells : is_local ? &code->num_locals : &num;
            if (!declare(&function->names, statement->word.at + statement->word.length,
                         statement->end, spaces[k].kind, count))
                return false;
        }
    }
    return true;
}

bool braid_code_read_function(struct kernel_code *code, uint32_t index)
{
    struct code_function *function = &code->functions[index];
    const struct ptx_function *ptx = function->ptx;
    if (function->is_read)
        return true;
    function->is_read = true;
    if (!read_results(function) ||
        (ptx->parameters && !read_parameters(function, ptx->parameters, ptx->parameters_end,
                                             ptx->is_entry, &function->parameters)))
        return false;
    return read_declarations(code, function) && braid_code_read_instructions(code, function);
}
