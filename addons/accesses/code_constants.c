// SPDX-License-Identifier: Apache-2.0
// Copies of constants. Behind the instruction that gives a register a constant, and without a label
// in between, a copy of the register is that constant. Elsewhere it may have other values.
#include "accesses/code.h"

#include "base/host_memory.h"

struct constants {
    struct code_function *function;
    struct code_value *known; // by cell: a number, or none
    uint32_t *way;            // by cell: on which it is known
    uint32_t now;             // the way at hand; each label and brace begins one
};

static struct code_value *value_at(const struct constants *constants,
                                   const struct code_operand *operand)
{
    struct code_value *values = constants->function->values.items;
    return operand->num == 1 && !operand->is_vector ? &values[operand->first] : NULL;
}

// A part of a vector tells nothing of the others.
static bool is_register(const struct code_value *value)
{
    return value && value->cell != CODE_NONE && !value->is_variable && !value->is_part;
}

// All results stand in the first operand.
static void forget_results(struct constants *constants, const struct code_operand *results)
{
    const struct code_value *values = code_values(constants->function, results);
    for (uint32_t i = 0; i < results->num; i++) {
        if (values[i].cell != CODE_NONE)
            constants->way[values[i].cell] = 0;
    }
}

static void copy(struct constants *constants, const struct code_instruction *instruction)
{
    const struct code_operand *operands = code_operands(constants->function, instruction);
    const struct code_value *to = value_at(constants, &operands[0]);
    struct code_value *from = value_at(constants, &operands[1]);
    if (is_register(from) && constants->way[from->cell] == constants->now)
        *from = constants->known[from->cell];
    forget_results(constants, operands);
    if (*instruction->statement->begin == '@' || !is_register(to) || !from || !from->is_number)
        return;
    constants->known[to->cell] = *from;
    constants->way[to->cell] = constants->now;
}

static void look_at(struct constants *constants, const struct code_instruction *instruction)
{
    const bool is_copy = braid_ptx_word_begins(instruction->statement->word, "mov") &&
                         instruction->operation == CODE_MOVE && instruction->num_operands == 2;
    if (is_copy)
        copy(constants, instruction);
    else if (instruction->num_operands)
        forget_results(constants, code_operands(constants->function, instruction));
}

bool braid_code_copy_constants(struct kernel_code *code, struct code_function *function)
{
    struct constants constants = { .function = function, .now = 1 };
    const struct code_instruction *instructions = function->instructions.items;
    const struct ptx_statement *statements = ptx_statements(&code->ptx, function->ptx);
    size_t next = 0;
    constants.known = braid_allocate_zeroed(function->num_cells + 1, sizeof(*constants.known));
    constants.way = braid_allocate_zeroed(function->num_cells + 1, sizeof(*constants.way));
    const bool is_made = constants.known && constants.way;
    for (size_t i = 0; i < function->ptx->num && is_made; i++) {
        if (statements[i].kind == PTX_INSTRUCTION)
            look_at(&constants, &instructions[next++]);
        else
            constants.now++;
    }
    braid_free(constants.known);
    braid_free(constants.way);
    return is_made;
}
