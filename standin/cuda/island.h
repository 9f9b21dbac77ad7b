// SPDX-License-Identifier: Apache-2.0
// What an island's kernel does, done by a host function: calls of other kernels, lane by lane.
#ifndef BRAID_STANDIN_ISLAND_H
#define BRAID_STANDIN_ISLAND_H

#include "module.h"

// Finds in the text of a module which kernels its island calls. False: memory ran out.
bool island_read_calls(CUmodule module, const char *text);

// Whether the program has something for each kernel that the module's island calls.
bool island_has_bodies(const struct CUmod_st *module);

// Whether a function is an island that nothing in the program stands for.
bool island_is(const struct CUfunc_st *function);

// Runs it. False: it touched memory that it may not, which the context was told.
bool island_run(CUcontext context, const struct CUfunc_st *function, const unsigned grid[3],
                void **arguments);

#endif
