// SPDX-License-Identifier: Apache-2.0
// Changing HIP's source so that its kernels read their grid from memory, as gpu_ptx_grid.h does
// with PTX.
#ifndef BRAID_BACKENDS_GPU_GPU_SOURCE_GRID_H
#define BRAID_BACKENDS_GPU_GPU_SOURCE_GRID_H

// The same source with its kernels so changed, for the caller to free; NULL where it cannot be, or
// where the one named `entry` (if not NULL) cannot: then *out_reason says why in a few words (a
// constant), or is NULL when memory ran out. The source is read as tokens, not compiled. Kernels
// stay as they are that call, as far as names tell, functions which read the grid; refused are
// kernels that macros hide, macros and types that read the grid, and files of the program's own
// that are included.
char *braid_gpu_source_with_read_grid(const char *source, const char *entry,
                                      const char **out_reason);

#endif
