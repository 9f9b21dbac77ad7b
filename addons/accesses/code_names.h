// SPDX-License-Identifier: Apache-2.0
// The meaning of names in a module or a function.
#ifndef BRAID_ACCESSES_CODE_NAMES_H
#define BRAID_ACCESSES_CODE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ptx/ptx_words.h"

enum code_name_kind {
    CODE_NAME_CELL,      // a register
    CODE_NAME_PARAM,     // a cell, too: a variable of .param
    CODE_NAME_PARAMETER, // an entry has it
    CODE_NAME_LOCAL,
    CODE_NAME_SHARED,
    CODE_NAME_VARIABLE, // in .global or .const
    CODE_NAME_FUNCTION,
    CODE_NAME_RANGE, // registers, such as %r<9>: a number stands behind the name
    CODE_NAME_MIXED, // more than one of these
};

struct code_name {
    struct ptx_word word; // length 0: the slot is free
    enum code_name_kind kind;
    uint32_t index; // names of one kind are counted
    uint32_t hash;
};

// Zero-initialised is empty.
struct code_names {
    struct code_name *slots;
    size_t num, num_slots;
};

// NULL: it has no meaning here.
struct code_name *braid_code_names_find(const struct code_names *names, struct ptx_word word);

// Gives a name a meaning. If it has another one, it becomes a mixed one. If it has this kind
// already, it keeps its index. NULL: memory ran out.
struct code_name *braid_code_names_put(struct code_names *names, struct ptx_word word,
                                       enum code_name_kind kind, uint32_t index);

void braid_code_names_finish(struct code_names *names);

#endif
