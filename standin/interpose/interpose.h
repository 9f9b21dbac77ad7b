// SPDX-License-Identifier: Apache-2.0
// A library that stands before another: it counts the calls, fails the ones it is told to, and
// forwards the rest. The names come from a list, the trampolines are generated.
#ifndef BRAID_STANDIN_INTERPOSE_H
#define BRAID_STANDIN_INTERPOSE_H

#include <stdbool.h>

struct symbol {
    const char *name;
    bool may_fail; // it returns a status
};

// Generated.
extern const struct symbol interpose_symbols[];
extern const unsigned interpose_num_symbols;

// What the trampolines call: the address to go on to, or NULL to return *out_code.
void *interpose_enter(unsigned index, int *out_code);

#pragma GCC visibility push(default)

// For tests, through dlsym: calls of one function, -1 for an unknown name, of all for "*".
long braid_interpose_count(const char *name);

// Changes BRAID_INTERPOSE_FAIL while the program runs; counts for the nth start again. NULL: none.
bool braid_interpose_fail(const char *rules);

#pragma GCC visibility pop

#endif
