// SPDX-License-Identifier: Apache-2.0
// Numbers that fall.
#include "accesses/falls.h"

#include <string.h>

#include "base/host_memory.h"

enum { SHORT = 2, WORD = 4, MOST_DEPTH = 16 };

static const struct code_operand *operand_at(const struct code_function *function,
                                             const struct code_instruction *instruction,
                                             uint32_t index)
{
    static const struct code_operand none = { 0 };
    return index < instruction->num_operands ? &code_operands(function, instruction)[index] : &none;
}

static bool begins(const struct code_instruction *instruction, const char *name)
{
    return braid_ptx_word_begins(instruction->statement->word, name);
}

// Whether a point stands behind the name.
static bool is_named(const struct code_instruction *instruction, const char *name)
{
    const size_t length = strlen(name);
    return begins(instruction, name) && instruction->statement->word.length > length &&
           instruction->statement->word.at[length] == '.';
}

static bool is_any_of(const struct code_instruction *instruction, const char *const names[],
                      size_t num)
{
    for (size_t i = 0; i < num; i++) {
        if (is_named(instruction, names[i]))
            return true;
    }
    return false;
}

static const struct code_value *number_at(const struct code_function *function,
                                          const struct code_instruction *instruction,
                                          uint32_t index)
{
    const struct code_operand *operand = operand_at(function, instruction, index);
    const struct code_value *value = code_values(function, operand);
    return operand->num == 1 && value->is_number ? value : NULL;
}

// The part of the opcode behind the last point but `skipped`; length 0: there is none.
static struct ptx_word type_of(const struct code_instruction *instruction, int skipped)
{
    struct ptx_word word = instruction->statement->word;
    for (size_t end = word.length, i = word.length; i-- > 0;) {
        if (word.at[i] != '.')
            continue;
        if (skipped-- == 0)
            return (struct ptx_word){ word.at + i + 1, end - i - 1 };
        end = i;
    }
    return (struct ptx_word){ word.at, 0 };
}

static bool is_unsigned(const struct code_instruction *instruction)
{
    const struct ptx_word type = type_of(instruction, 0);
    return type.length && *type.at == 'u';
}

static bool is_float(struct ptx_word type)
{
    return type.length > 1 && (*type.at == 'f' || type.at[1] == 'f' || *type.at == 'e');
}

// ---- remainders ----
//
// Compilers write a % b as a - a / b * b. A quotient by a number is shifts and upper halves of
// products. All of the subtrahend comes from `a`, and something rounds it.

// An instruction that gives a cell, and the next one that does.
struct definition {
    uint32_t instruction;
    uint32_t next; // plus 1; 0: there is none
};

struct definitions {
    const struct code_function *function;
    struct array items; // struct definition
    uint32_t *by_cell;  // the last one, plus 1; 0: there is none
    uint32_t steps;     // that the search at hand took
};

enum { MOST_STEPS = 128 };

// A register that it reads; CODE_NONE: it is something else.
static uint32_t cell_of(const struct code_function *function,
                        const struct code_instruction *instruction, uint32_t index)
{
    const struct code_operand *operand = operand_at(function, instruction, index);
    const struct code_value *value = code_values(function, operand);
    return operand->num == 1 && value->cell != CODE_NONE && !value->is_variable ? value->cell
                                                                                : CODE_NONE;
}

static const struct code_instruction *instruction_of(const struct definitions *definitions,
                                                     const struct definition *definition)
{
    return (const struct code_instruction *)definitions->function->instructions.items +
           definition->instruction;
}

static const struct definition *definition_at(const struct definitions *definitions,
                                              uint32_t number)
{
    return number ? (const struct definition *)definitions->items.items + number - 1 : NULL;
}

// NULL: none gives it, or several do.
static const struct code_instruction *only_definition(const struct definitions *definitions,
                                                      uint32_t cell)
{
    const struct definition *last = definition_at(definitions, definitions->by_cell[cell]);
    return last && !last->next ? instruction_of(definitions, last) : NULL;
}

static bool is_copy(const struct code_instruction *instruction)
{
    return is_named(instruction, "mov") || is_named(instruction, "cvt");
}

static uint32_t root_of(const struct definitions *definitions, uint32_t cell)
{
    for (int depth = 0; depth < MOST_DEPTH; depth++) {
        const struct code_instruction *by = only_definition(definitions, cell);
        const uint32_t from =
            by && is_copy(by) ? cell_of(definitions->function, by, 1) : (uint32_t)CODE_NONE;
        if (from == CODE_NONE)
            break;
        cell = from;
    }
    return cell;
}

enum descent { FOREIGN, ITSELF, ROUNDED };

static enum descent descent_of(struct definitions *definitions, uint32_t cell, uint32_t root,
                               int depth);

// All operands before the last that are no numbers come from the root.
static enum descent descent_of_operands(struct definitions *definitions,
                                        const struct code_instruction *by, uint32_t end,
                                        uint32_t root, int depth)
{
    enum descent found = FOREIGN;
    for (uint32_t i = 1; i < end; i++) {
        const uint32_t cell = cell_of(definitions->function, by, i);
        if (cell == CODE_NONE)
            continue;
        const enum descent one = descent_of(definitions, cell, root, depth - 1);
        if (one == FOREIGN)
            return FOREIGN;
        found = one > found ? one : found;
    }
    return found;
}

static enum descent descent_by(struct definitions *definitions, const struct code_instruction *by,
                               uint32_t root, int depth)
{
    static const char *const rounding[] = { "shr", "and", "div", "mul.hi" }, *const others[] = {
        "mov", "cvt", "mul", "shl", "add", "sub", "mad"
    };
    const bool rounds = is_any_of(by, rounding, sizeof(rounding) / sizeof(rounding[0]));
    if (!rounds && !is_any_of(by, others, sizeof(others) / sizeof(others[0])))
        return FOREIGN;
    const bool is_product = is_named(by, "mul") && !is_named(by, "mul.hi");
    const uint32_t end = is_named(by, "div") ? 2 : by->num_operands;
    enum descent found = descent_of_operands(definitions, by, end, root, depth);
    // A quotient is multiplied by the divisor, which may be anything.
    for (uint32_t i = 1; i <= 2 && is_product && found == FOREIGN; i++) {
        const uint32_t factor = cell_of(definitions->function, by, i);
        if (factor != CODE_NONE && descent_of(definitions, factor, root, depth - 1) == ROUNDED)
            found = ROUNDED;
    }
    return found != FOREIGN && rounds ? ROUNDED : found;
}

// By all instructions that give the cell.
static enum descent descent_of(struct definitions *definitions, uint32_t cell, uint32_t root,
                               int depth)
{
    const struct definition *at = definition_at(definitions, definitions->by_cell[cell]);
    enum descent found = at ? ROUNDED : FOREIGN;
    if (root_of(definitions, cell) == root)
        return ITSELF;
    if (depth == 0 || definitions->steps++ > MOST_STEPS)
        return FOREIGN;
    for (; at && found != FOREIGN; at = definition_at(definitions, at->next)) {
        const enum descent one =
            descent_by(definitions, instruction_of(definitions, at), root, depth);
        found = one < found ? one : found;
    }
    return found;
}

// With the numbers of two operands: the dividend, and the subtrahend.
static bool is_remainder(struct definitions *definitions,
                         const struct code_instruction *instruction, uint32_t divided,
                         uint32_t subtracted)
{
    const uint32_t whole = cell_of(definitions->function, instruction, divided);
    const uint32_t rest = cell_of(definitions->function, instruction, subtracted);
    definitions->steps = 0;
    return whole != CODE_NONE && rest != CODE_NONE &&
           descent_of(definitions, rest, root_of(definitions, whole), MOST_DEPTH) == ROUNDED;
}

// ---- indices from the end ----
//
// Python's arrays count indices below zero from their end: i + (i >> 31 & length).

static bool is_sign_of(const struct definitions *definitions, uint32_t cell, uint32_t root)
{
    const struct code_instruction *by =
        cell == CODE_NONE ? NULL : only_definition(definitions, cell);
    if (!by || !begins(by, "shr.s"))
        return false;
    const struct code_value *bits = number_at(definitions->function, by, 2);
    const uint32_t of = cell_of(definitions->function, by, 1);
    return bits && bits->number == 8 * by->bytes - 1 && of != CODE_NONE &&
           root_of(definitions, of) == root;
}

static bool is_wrapped(const struct definitions *definitions,
                       const struct code_instruction *instruction, uint32_t index, uint32_t length)
{
    const struct code_function *function = definitions->function;
    const uint32_t of = cell_of(function, instruction, index);
    const uint32_t added = cell_of(function, instruction, length);
    const struct code_instruction *by =
        added == CODE_NONE ? NULL : only_definition(definitions, added);
    if (of == CODE_NONE || !by || !is_named(by, "and"))
        return false;
    const uint32_t root = root_of(definitions, of);
    return is_sign_of(definitions, cell_of(function, by, 1), root) ||
           is_sign_of(definitions, cell_of(function, by, 2), root);
}

// A number moves to the left and back, so that its sign becomes that of fewer bits.
static bool is_extended(const struct definitions *definitions,
                        const struct code_instruction *instruction)
{
    const uint32_t cell = cell_of(definitions->function, instruction, 1);
    const struct definition *at =
        cell == CODE_NONE ? NULL : definition_at(definitions, definitions->by_cell[cell]);
    while (at && !is_named(instruction_of(definitions, at), "shl"))
        at = definition_at(definitions, at->next);
    return at;
}

static bool note_results(struct definitions *definitions, uint32_t index)
{
    const struct code_instruction *all = definitions->function->instructions.items;
    const struct code_operand *results = operand_at(definitions->function, &all[index], 0);
    const struct code_value *values = code_values(definitions->function, results);
    for (uint32_t i = 0; i < results->num; i++) {
        if (values[i].cell == CODE_NONE)
            continue;
        uint32_t *last = &definitions->by_cell[values[i].cell];
        const struct definition definition = { index, *last };
        if (!braid_array_put(&definitions->items, &definition, sizeof(definition)))
            return false;
        *last = (uint32_t)definitions->items.num;
    }
    return true;
}

static void note(struct definitions *definitions, struct code_instruction *instruction)
{
    if (begins(instruction, "sub."))
        instruction->is_remainder = is_remainder(definitions, instruction, 1, 2);
    else if (begins(instruction, "mad.lo."))
        instruction->is_remainder = is_remainder(definitions, instruction, 3, 1);
    else if (begins(instruction, "add."))
        instruction->is_wrapped = is_wrapped(definitions, instruction, 1, 2) ||
                                  is_wrapped(definitions, instruction, 2, 1);
    else if (begins(instruction, "shr.s"))
        instruction->is_extended = is_extended(definitions, instruction);
}

bool braid_falls_note(struct code_function *function)
{
    struct definitions definitions = { .function = function };
    struct code_instruction *all = function->instructions.items;
    definitions.by_cell =
        braid_allocate_zeroed(function->num_cells + 1, sizeof(*definitions.by_cell));
    bool is_done = definitions.by_cell;
    for (uint32_t i = 0; is_done && i < function->instructions.num; i++)
        is_done = note_results(&definitions, i);
    for (uint32_t i = 0; is_done && i < function->instructions.num; i++)
        note(&definitions, &all[i]);
    braid_free(definitions.by_cell);
    braid_array_finish(&definitions.items);
    return is_done;
}

// ---- falling numbers ----

// Numbers of 2 and 4 bytes may be written without a sign.
static bool is_below_zero(const struct code_instruction *instruction, int64_t number)
{
    return number < 0 ||
           (instruction->bytes == SHORT && number > INT16_MAX && number <= UINT16_MAX) ||
           (instruction->bytes == WORD && number > INT32_MAX && number <= UINT32_MAX);
}

static bool is_low_number(const struct code_function *function,
                          const struct code_instruction *instruction, uint32_t index)
{
    const struct code_value *number = number_at(function, instruction, index);
    return number && is_below_zero(instruction, number->number);
}

static bool does_register(const struct code_function *function,
                          const struct code_instruction *instruction, uint32_t index,
                          const bool *cells)
{
    const struct code_operand *operand = operand_at(function, instruction, index);
    const struct code_value *values = code_values(function, operand);
    for (uint32_t i = 0; i < operand->num; i++) {
        if (values[i].cell != CODE_NONE && !values[i].is_variable && cells[values[i].cell])
            return true;
    }
    return false;
}

bool braid_falls_operand(const struct code_function *function,
                         const struct code_instruction *instruction, uint32_t index,
                         const bool *cells)
{
    return does_register(function, instruction, index, cells) ||
           is_low_number(function, instruction, index);
}

static bool does_any(const struct code_function *function,
                     const struct code_instruction *instruction, bool with_numbers,
                     const bool *cells)
{
    bool falls = false;
    for (uint32_t i = 1; i < instruction->num_operands && !falls; i++)
        falls = does_register(function, instruction, i, cells) ||
                (with_numbers && is_low_number(function, instruction, i));
    return falls;
}

// One operand that does not fall is enough that the result does not.
static bool do_all(const struct code_function *function, const struct code_instruction *instruction,
                   const bool *cells)
{
    bool falls = true;
    for (uint32_t i = 1; i < instruction->num_operands && falls; i++)
        falls = braid_falls_operand(function, instruction, i, cells);
    return falls;
}

// The upper half of a product with a number is part of a quotient, of any sign. A division tells
// its divisor.
bool braid_falls_product(const struct code_function *function,
                         const struct code_instruction *instruction, const bool *cells)
{
    const bool divides = begins(instruction, "div.");
    const bool is_upper = begins(instruction, "mul.hi") || begins(instruction, "mad.hi");
    const bool is_wide = begins(instruction, "mul.wide") || begins(instruction, "mad.wide");
    bool falls = false;
    if ((divides || is_upper || is_wide) && is_unsigned(instruction))
        return false;
    for (uint32_t i = 1; i <= 2; i++)
        falls = falls || does_register(function, instruction, i, cells) ||
                (!is_upper && is_low_number(function, instruction, i));
    return falls;
}

static bool does_sum(const struct code_function *function,
                     const struct code_instruction *instruction, const bool *cells)
{
    const struct code_value *number = number_at(function, instruction, 2);
    if (instruction->is_wrapped)
        return false;
    if (!begins(instruction, "sub"))
        return does_any(function, instruction, true, cells);
    if (instruction->is_remainder || (number && number->number <= 0))
        return does_register(function, instruction, 1, cells);
    return true;
}

// A conversion from fewer bytes without a sign adds zeros.
static bool adds_zeros(const struct code_instruction *instruction)
{
    return is_named(instruction, "cvt") && is_unsigned(instruction) &&
           braid_code_bits_of(type_of(instruction, 1)) >
               braid_code_bits_of(type_of(instruction, 0));
}

static bool does_other(const struct code_function *function,
                       const struct code_instruction *instruction, const bool *cells)
{
    static const char *const always[] = { "neg", "not", "lop3", "subc", "cnot", "vsub", "bmsk" },
                             *const never[] = { "abs", "popc", "clz", "bfind", "sad" };
    static const char *const of_all[] = { "max", "and" };
    static const char *const with_numbers[] = { "min", "or", "xor", "addc", "shf", "dp4a", "dp2a" };
    if (is_any_of(instruction, always, sizeof(always) / sizeof(always[0])) ||
        begins(instruction, "bfe.s")) // its highest bit is a sign
        return true;
    if (is_named(instruction, "max") && is_unsigned(instruction)) // one below zero is the greater
        return does_any(function, instruction, true, cells);
    if (is_any_of(instruction, never, sizeof(never) / sizeof(never[0])) ||
        (is_named(instruction, "rem") && is_unsigned(instruction)))
        return false;
    if (is_any_of(instruction, of_all, sizeof(of_all) / sizeof(of_all[0])))
        return do_all(function, instruction, cells);
    if (is_named(instruction, "rem"))
        return does_register(function, instruction, 1, cells);
    return does_any(
        function, instruction,
        is_any_of(instruction, with_numbers, sizeof(with_numbers) / sizeof(with_numbers[0])),
        cells);
}

bool braid_falls(const struct code_function *function, const struct code_instruction *instruction,
                 const bool *cells)
{
    const struct code_value *number = number_at(function, instruction, 2);
    if (is_float(type_of(instruction, 0)) || adds_zeros(instruction))
        return false;
    switch ((enum code_operation)instruction->operation) {
    case CODE_MOVE: // the others of shfl are a lane and masks
        return begins(instruction, "shfl") ? does_register(function, instruction, 1, cells)
                                           : does_any(function, instruction, true, cells);
    case CODE_MULTIPLY:
        return braid_falls_product(function, instruction, cells);
    case CODE_MULTIPLY_ADD:
        return braid_falls_operand(function, instruction, 3, cells) ||
               (!instruction->is_remainder && braid_falls_product(function, instruction, cells));
    case CODE_ADD:
        return does_sum(function, instruction, cells);
    case CODE_SHIFT_RIGHT:
        return instruction->is_extended ||
               (!(number && number->number > 0 && *type_of(instruction, 0).at != 's') &&
                does_register(function, instruction, 1, cells));
    case CODE_SHIFT_LEFT:
        return braid_falls_operand(function, instruction, 1, cells);
    case CODE_INSERT:
    case CODE_STORE:
        return does_any(function, instruction, true, cells);
    case CODE_EXTRACT:
    case CODE_TURN:
    case CODE_FETCH:
    case CODE_FLOW:
        return does_other(function, instruction, cells);
    case CODE_NOTHING: // all bits of it, as a number
        return is_named(instruction, "set");
    default:
        return false;
    }
}
