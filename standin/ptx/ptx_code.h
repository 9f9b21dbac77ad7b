// SPDX-License-Identifier: Apache-2.0
// One entry of PTX, and the functions that it calls, as an array of instructions, ready to run.
#ifndef BRAID_STANDIN_PTX_CODE_H
#define BRAID_STANDIN_PTX_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../nvrtc/text.h"

enum {
    CODE_MOST_OPERANDS = 6,
    CODE_MOST_PARTS = 8,
    CODE_MOST_VECTOR = 4,
    CODE_WORD = 256,
    CODE_GLOBAL_BYTES = 1 << 16,
    CODE_MOST_PARAMS = 8,
    CODE_MOST_ARGUMENTS = 1 << 10, // bytes, where accesses are watched
    CODE_MOST_CALLS = 16,          // functions in each other
    CODE_FIRST_PARAM = 1 << 20,    // addresses of .param from here on are in the arguments
    CODE_FIRST_LOCAL = 1 << 24,    // from here on they are in local memory
};

// s32, u64, f32, b16 or pred.
struct type {
    char kind; // 's', 'u', 'f', 'b' or 'p'; 0: no type
    int bits;  // 1 of a predicate
};

enum operand_kind {
    OPERAND_REGISTER, // index; of all threads' registers
    OPERAND_NUMBER,   // value
    OPERAND_SPECIAL,  // index, of the special registers
    OPERAND_LABEL,    // index: of an instruction, once all are read
    OPERAND_TARGETS,  // index, of a list of labels
    OPERAND_VECTOR,   // parts
};

struct operand {
    enum operand_kind kind;
    size_t index;
    uint64_t value; // also the one in [index + value]
    bool negated;   // !%p
    size_t num_parts;
    size_t parts[CODE_MOST_VECTOR]; // registers; SIZE_MAX: _
};

enum space { SPACE_GENERIC, SPACE_GLOBAL, SPACE_SHARED, SPACE_LOCAL, SPACE_PARAM };

struct instruction {
    int operation; // its index in the table
    int line;
    char parts[CODE_MOST_PARTS][12]; // the opcode's, behind its first
    size_t num_parts;
    struct type type, other; // the last and the one before it
    enum space space;
    int width;    // that in .v2 or .v4, or 1
    size_t guard; // SIZE_MAX: none
    bool guard_negated;
    struct operand operands[CODE_MOST_OPERANDS];
    size_t num_operands;
    size_t callee;     // a function; SIZE_MAX: it is one of the driver's
    bool takes_result; // the first operand of a call
};

// A function of the module. Its registers and parameters have one place, so it does not call
// itself.
struct function {
    char name[CODE_WORD];
    size_t first;      // instruction; SIZE_MAX: it is not read yet
    size_t num_params; // its result is the first
    struct {
        size_t offset, bytes; // in local memory
    } params[CODE_MOST_PARAMS];
};

struct targets {
    size_t labels[64]; // instructions
    size_t num;
};

struct code {
    struct instruction *instructions;
    size_t num, num_registers;
    struct function *functions;
    size_t num_functions;
    struct targets *targets;
    size_t num_targets;
    size_t shared_bytes, local_bytes, param_bytes; // static; 16 bytes aligned
    unsigned char *globals;                        // the module's variables
    bool owns_globals;
    size_t global_bytes;
};

// The variables of a module, which all its entries see at the same places.
struct variable {
    char name[CODE_WORD];
    size_t offset, bytes;
};

struct variables {
    struct variable *all;
    size_t num, bytes;     // bytes: the end of the last one
    unsigned char *values; // at first: CODE_GLOBAL_BYTES
};

// Reads an entry of the text; false: it is not there, or is not understood, and why, with the line,
// is in `error`.
bool code_read(const char *text, const char *entry, struct code *out_code, struct text *error);
// The same with memory for the variables, of as many bytes as they have, with their first values.
bool code_read_with(const char *text, const char *entry, unsigned char *globals,
                    struct code *out_code, struct text *error);
// False: there are none that are understood, or no memory.
bool code_read_variables(const char *text, struct variables *out_variables);
void variables_finish(struct variables *variables);
void code_finish(struct code *code);

// The rows of the table of operations, by the first part of the opcode; -1: not known.
int operations_find(const char *name);

bool code_has_part(const struct instruction *instruction, const char *part);

// The operation on values of its type; false: it is none of those.
bool arithmetic_run(const struct instruction *instruction, const uint64_t *values,
                    uint64_t *out_result);

enum special {
    SPECIAL_TID,
    SPECIAL_NTID = 3,
    SPECIAL_CTAID = 6,
    SPECIAL_NCTAID = 9,
    SPECIAL_LANEID = 12,
    SPECIAL_SMID,
    SPECIAL_TIMER,
    SPECIAL_CLOCK,
    SPECIAL_WARPID,
    SPECIAL_DYNAMIC_SHARED,
};

#endif
