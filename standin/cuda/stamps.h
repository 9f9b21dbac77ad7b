// SPDX-License-Identifier: Apache-2.0
// Times that kernels write down, done by host functions: what the code that Braid puts into PTX
// does, and its kernel that does nothing else.
//
// A kernel with parameters called braid_stamps and braid_mask writes into a stamp there
// the complement of when it begins and when it ends, each where that is the greatest so far.
#ifndef BRAID_STANDIN_STAMPS_H
#define BRAID_STANDIN_STAMPS_H

#include <stdint.h>

#include "module.h"

uint64_t stamps_now(void); // by the clock that kernels read

void stamps_begin(const struct CUfunc_st *function, void **arguments);
void stamps_end(const struct CUfunc_st *function, void **arguments);

// NULL: the kernel is none of these.
standin_kernel stamps_find_body(const char *name);

#endif
