// SPDX-License-Identifier: Apache-2.0
// Whether a module changes a variable of its own.
#ifndef BRAID_BACKENDS_GPU_GPU_PTX_CHANGE_H
#define BRAID_BACKENDS_GPU_GPU_PTX_CHANGE_H

#include "backends/gpu/gpu_ptx_read.h"

// Follows the variable's address through the registers of each function. It may say so of one that
// stays as it is: where its address is stored, or given to a function. It also says so where memory
// runs out.
bool braid_ptx_may_change(const struct ptx *ptx, struct ptx_word variable);

#endif
