// SPDX-License-Identifier: Apache-2.0
// Kernels that only hand a word of memory to a conditional node.
#ifndef BRAID_IMPORT_SETTERS_H
#define BRAID_IMPORT_SETTERS_H

#include <stdbool.h>
#include <stdint.h>

enum { SETTER_MOST_LOADS = 4 };

// It sets the handle in one parameter to a value that is 0 where the word is 0, and only there. A
// pointer in the other parameter leads to the word, by so many pointers in memory.
struct setter {
    uint32_t handle; // a parameter
    uint32_t word;   // a parameter
    uint32_t offset; // where the pointer stands in that
    uint32_t num_loads;
    uint32_t loads[SETTER_MOST_LOADS]; // offsets of the pointers on the way
    uint32_t at;                       // the word's offset behind the last pointer
};

// Whether an entry of a text is such a kernel. *out_calls: it calls the driver's function, or may
// by another function of the text, so that it is one of another kind. `why`, of `bytes`, tells why
// it is none. "": memory ran out.
bool braid_import_read_setter(const char *ptx, const char *entry, struct setter *out_setter,
                              bool *out_calls, char *why, uint32_t bytes);

// The text that stands for a kernel of a framework that comes as machine code; NULL: there is none.
const char *braid_import_known_setter(const char *entry);

#endif
