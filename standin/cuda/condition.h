// SPDX-License-Identifier: Apache-2.0
// Conditions in graphs: words that kernels set, and that loops and branches read.
#ifndef BRAID_STANDIN_CONDITION_H
#define BRAID_STANDIN_CONDITION_H

#include <stdbool.h>

#include "cuda_abi.h"

struct condition;

// These expect the world's lock.
struct condition *condition_hold(struct condition *condition);
void condition_drop(struct condition *condition);
void conditions_drop_of(CUgraph graph); // drops those that it holds
// A launch begins: conditions in it have the default value, or none yet.
void conditions_begin(CUgraph plan);
// The body that it chooses: the first if it is not 0, else the second. One that nobody has set is a
// fault of the context, in which no body runs: UINT_MAX.
unsigned condition_body(const struct condition *condition, CUcontext context);

uint64_t condition_handle(const struct condition *condition); // the program has it

// What a kernel's cudaGraphSetConditional does, without the lock. False: there is no such handle.
bool condition_set(uint64_t handle, unsigned value);

#endif
