// SPDX-License-Identifier: Apache-2.0
// The changes of a kernel's text, in the order in which they are made.
#ifndef BRAID_BACKENDS_GPU_GPU_PTX_PASSES_H
#define BRAID_BACKENDS_GPU_GPU_PTX_PASSES_H

#include "backends/gpu/gpu_backend.h"
#include "ptx/ptx_read.h"

// The last of its changes, for messages: "read its grid from memory".
const char *braid_gpu_ptx_describe(const struct gpu_code *code);

// How many parameters it takes behind those of its launch.
uint32_t braid_gpu_ptx_parameters(const struct gpu_code *code);

// The text with a set of changes, for the caller to free; `code` has that of KERNEL_CHANGED. If
// KERNEL_WAITS_FIRST cannot be made, the set loses it, unless another change needs it. NULL: there
// is no change left, or one cannot be made, for the reason; or memory ran out, and that is empty.
char *braid_gpu_ptx_change(const char *text, const struct gpu_code *code, unsigned *changes,
                           struct ptx_reason *out_reason);

#endif
