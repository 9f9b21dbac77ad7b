// SPDX-License-Identifier: Apache-2.0
// One entry of PTX, and the functions that it calls, as an array of instructions, ready to run.
#ifndef BRAID_STANDIN_PTX_CODE_H
#define BRAID_STANDIN_PTX_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../nvrtc/text.h"

enum {
    CODE_MOST_OPERANDS = 8,
    CODE_MOST_VECTOR = 4,
    CODE_WORD = 256,
    CODE_GLOBAL_BYTES = 1 << 18,
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

#define CODE_NO_REGISTER UINT32_MAX
#define CODE_NUMBER (UINT32_C(1) << 31)

// Small, since a program's instructions should fit into a cache.
struct operand {
    uint64_t value; // also the one in [index + value]
    enum operand_kind kind;
    uint32_t index;
    uint32_t parts[CODE_MOST_VECTOR]; // registers; CODE_NO_REGISTER: _; CODE_NUMBER + a number's
    uint8_t num_parts;
    bool negated; // !%p
};

enum space { SPACE_GENERIC, SPACE_GLOBAL, SPACE_SHARED, SPACE_LOCAL, SPACE_PARAM };

// Parts of an opcode, behind its first, that say what it does.
// clang-format off
#define CODE_PARTS(X)                                                                              \
    X(add) X(all) X(and) X(any) X(arrive) X(ballot) X(bfly) X(cas) X(dec) X(down) X(hi) X(idx)     \
        X(inc) X(l) X(max) X(min) X(or) X(popc) X(prefetch) X(red) X(rmi) X(rni) X(rpi) X(rzi)     \
            X(sat) X(to) X(up) X(warp) X(wide) X(wrap) X(xor)
// clang-format on

#define NAME_PART(name) PART_##name,
enum part { CODE_PARTS(NAME_PART) NUM_PARTS };
#undef NAME_PART

// Functions that are none of the text's: the driver has two, and nothing here has the address of
// one, so a call by an address never runs.
#define CODE_SETS_CONDITION SIZE_MAX
#define CODE_BY_POINTER (SIZE_MAX - 1)
#define CODE_PRINTS (SIZE_MAX - 2)

struct instruction {
    uint32_t parts; // a bit for each of the above
    int operation;  // its index in the table
    int line;
    uint32_t guard; // CODE_NO_REGISTER: none
    bool guard_negated;
    bool takes_result; // the first operand of a call
    char how[4];       // the opcode's second part as far as it fits: that of a comparison
    enum space space;
    int width;               // that in .v2 or .v4, or 1
    struct type type, other; // the last and the one before it
    size_t callee;           // a function, or one of those above
    size_t num_operands;
    struct operand operands[CODE_MOST_OPERANDS];
};

// A function of the module. Its registers and parameters have one place, so it does not call
// itself.
struct function {
    char name[CODE_WORD];
    size_t first;      // instruction; SIZE_MAX: the text has none, or it is not read yet
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
    uint64_t *numbers; // in vectors
    size_t num_numbers;
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

static inline bool code_has_part(const struct instruction *instruction, enum part part)
{
    return instruction->parts >> part & 1;
}

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
