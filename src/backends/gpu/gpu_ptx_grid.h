// SPDX-License-Identifier: Apache-2.0
// Changing PTX so that its kernels read their grid from memory.
//
// Each entry gets a parameter behind its own: the address of three words, which every thread reads
// first. The grid is these words, limited to the launched grid. All threads of a block beyond the
// grid return. Where the kernel asks for its grid, it sees this one. If the instruction of
// gpu_ptx_early.h is put in afterwards, the words are read behind it.
#ifndef BRAID_BACKENDS_GPU_GPU_PTX_GRID_H
#define BRAID_BACKENDS_GPU_GPU_PTX_GRID_H

#include "ptx/ptx_read.h"

// The same text so changed, for the caller to free; NULL where it stays as it is. Then *out_reason
// says why, or is empty when memory ran out. It stays where a function reads the grid. It also
// stays where clusters are used, which surplus blocks would leave incomplete.
char *braid_gpu_ptx_with_read_grid(const char *text, struct ptx_reason *out_reason);

#endif
