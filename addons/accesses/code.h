// SPDX-License-Identifier: Apache-2.0
// The instructions of a module's functions, as far as values flow through them.
//
// A name stands for a cell, which holds a value: a register, or a variable of .param, also the
// parameter of a function. Scopes are not told apart: variables of one name are one cell.
#ifndef BRAID_ACCESSES_CODE_H
#define BRAID_ACCESSES_CODE_H

#include "accesses/code_names.h"
#include "accesses/sources.h"
#include "ptx/ptx_access.h"
#include "ptx/ptx_read.h"

enum code_operation {
    CODE_NOTHING, // its results are no addresses
    CODE_FLOW,    // its results come from its operands
    CODE_MOVE,    // the same, and it may take vectors apart or put them together
    CODE_MULTIPLY,
    CODE_MULTIPLY_ADD, // the last operand is added
    CODE_ADD,
    CODE_SHIFT_LEFT,
    CODE_SHIFT_RIGHT,
    CODE_INSERT,  // bits of the first operand, at a place in the second
    CODE_EXTRACT, // bits of the first operand, from a place
    CODE_TURN,    // bits of two operands, each of 4 bytes, at other places
    CODE_CONVERT, // from a floating-point number
    CODE_LOCATE,  // its result is an address in local memory
    CODE_LOAD,
    CODE_STORE,
    CODE_FETCH, // atom: both
    CODE_COPY,  // into shared memory, or out of it
    CODE_CALL,
    CODE_REFUSED, // nobody knows what it touches
};

enum code_space { CODE_GENERIC, CODE_PARAM, CODE_LOCAL, CODE_SHARED, CODE_GLOBAL };

#define CODE_NONE UINT32_MAX

// The meaning of a name or a number.
struct code_value {
    uint32_t cell;    // the function numbers them; CODE_NONE: it has none
    uint32_t set;     // its sources, without a cell
    bool is_variable; // the cell is a variable of .param
    bool is_part;     // v.x: the cell has more
    bool is_number;
    int64_t number;
    uint32_t function; // an index of the module's; CODE_NONE: it is none
};

// Operand 0 has the results as a rule. In a call: the results, the function, and the arguments.
struct code_operand {
    uint32_t first, num; // values of the function
    int64_t offset;      // which is added to an address
    bool is_vector;
};

struct code_instruction {
    const struct ptx_statement *statement;
    uint8_t operation, space;
    uint8_t bytes;        // an element or a result has as many; 0: it is no value of memory
    uint8_t num_elements; // a vector in memory has as many; else 1
    uint8_t num_operands;
    uint32_t first_operand;
    uint32_t access_base; // a value: its address in memory of the device; CODE_NONE: there is none
    uint8_t act;          // enum ptx_act
    bool is_remainder;    // it subtracts all of a dividend but the rest
    bool is_extended;     // it extends the sign of fewer bits
    bool is_wrapped;      // an index below zero counts from an array's end: it adds the length
    uint32_t access_from, access_bytes; // what it touches behind that; 0 bytes: nobody knows
    const char *why;                    // it is refused
    bool calls_by_address;              // that is why
};

struct code_parameter {
    struct ptx_word name;
    uint32_t bytes, align, cell;
};

struct code_function {
    const struct ptx_function *ptx;
    struct array parameters, results; // struct code_parameter
    struct array values, operands, instructions;
    struct code_names names;
    uint32_t num_cells;
    bool is_read;
};

// A module's code. Sets of constants are in its sets.
struct kernel_code {
    struct ptx ptx;
    struct source_sets sets;
    struct code_function *functions; // in the order of the module
    uint32_t num_functions;
    struct code_names names; // the module's
    uint32_t num_variables;
    uint32_t num_locals; // variables in local memory of functions that were read, from 1
};

// False: *out_reason says why, and there is nothing to finish. The text outlives the code.
bool braid_code_read(const char *text, struct kernel_code *out_code, struct ptx_reason *out_reason);
void braid_code_finish(struct kernel_code *code);

// Reads a function's instructions, if they are not yet. False: memory ran out.
bool braid_code_read_function(struct kernel_code *code, uint32_t function);

// The entry of the name; CODE_NONE: there is none.
uint32_t braid_code_find_entry(const struct kernel_code *code, const char *name);

// code_instructions.c: reads the instructions behind the declarations. False: memory ran out.
bool braid_code_read_instructions(struct kernel_code *code, struct code_function *function);
// code_constants.c: replaces copies of registers whose constants are known there. False: memory ran
// out.
bool braid_code_copy_constants(struct kernel_code *code, struct code_function *function);
// 32 for f16x2 and 64 for u64, without a point; 0: it is no type.
uint32_t braid_code_bits_of(struct ptx_word part);

static inline const struct code_value *code_values(const struct code_function *function,
                                                   const struct code_operand *operand)
{
    const struct code_value *values = function->values.items; // NULL: the function has none
    return values ? values + operand->first : NULL;
}

static inline const struct code_operand *code_operands(const struct code_function *function,
                                                       const struct code_instruction *instruction)
{
    const struct code_operand *operands = function->operands.items;
    return operands ? operands + instruction->first_operand : NULL;
}

#endif
