// SPDX-License-Identifier: Apache-2.0
// Changing PTX so that its kernels read their grid from memory.
//
// Each entry is given a parameter behind its own: the address of three words, which every thread
// reads first. They are the grid, as far as what was launched is as large: blocks beyond it return,
// all threads of a block alike, and the kernel sees it where it asks for its grid. The words are
// read behind what the kernel waits for (gpu_ptx.h), if that is put in afterwards.
#ifndef BRAID_BACKENDS_GPU_GPU_PTX_GRID_H
#define BRAID_BACKENDS_GPU_GPU_PTX_GRID_H

#include "backends/gpu/gpu_ptx_read.h"

// The same text so changed, for the caller to free; NULL where it stays as it is: then *out_reason
// says why, or is empty when memory ran out. It stays where a function
// reads the grid, or where clusters are used, which surplus blocks would leave incomplete.
char *braid_gpu_ptx_with_read_grid(const char *text, struct ptx_reason *out_reason);

#endif
