// SPDX-License-Identifier: Apache-2.0
// What every entry point does first: count the call, fail it if told to, check the thread's state.
#ifndef BRAID_STANDIN_ENTRY_H
#define BRAID_STANDIN_ENTRY_H

#include <stdbool.h>

#include "cuda_abi.h"

// Pass __func__. Anything but CUDA_SUCCESS is to be returned at once.
CUresult entry_begin(const char *function);

// The same, and the thread needs a live current context without a sticky error.
CUresult entry_begin_in_context(const char *function);

// For calls that release something: they do their work after a sticky error too, and return it.
CUresult entry_begin_release(const char *function, CUresult *out_sticky);

void entry_set_initialised(void);

// Host functions queued on a stream or in a graph may not call the driver: while they run, every
// entry fails with CUDA_ERROR_NOT_PERMITTED. Returns the state before.
bool entry_forbid_calls(bool forbid);

#endif
