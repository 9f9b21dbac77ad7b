// SPDX-License-Identifier: Apache-2.0
// Numbers that fall: code makes them, and they may be below zero. An address that such a number
// moves may lie below the pointer that it comes from.
//
// A number falls if it is subtracted or negated, if a number below zero is added, or if it is a
// product with one. Numbers from parameters and from memory of the device count as at least zero.
// A remainder counts as its dividend. An index counts as at least zero to which the length of
// its array is added where it is below zero.
#ifndef BRAID_ACCESSES_FALLS_H
#define BRAID_ACCESSES_FALLS_H

#include "accesses/code.h"

// Notes the sums that are remainders, or such indices. False: memory ran out.
bool braid_falls_note(struct code_function *function);

// Whether the result of an instruction falls, which loads nothing. `cells` tells which cells of the
// function do.
bool braid_falls(const struct code_function *function, const struct code_instruction *instruction,
                 const bool *cells);
// Whether its product does, before anything is added.
bool braid_falls_product(const struct code_function *function,
                         const struct code_instruction *instruction, const bool *cells);
// Whether an operand does; also if it is a number below zero.
bool braid_falls_operand(const struct code_function *function,
                         const struct code_instruction *instruction, uint32_t index,
                         const bool *cells);

#endif
