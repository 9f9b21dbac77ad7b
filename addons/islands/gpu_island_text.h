// SPDX-License-Identifier: Apache-2.0
// The CUDA C++ of an island: its walker, with markers where kernels are called.
#ifndef BRAID_ISLANDS_GPU_ISLAND_TEXT_H
#define BRAID_ISLANDS_GPU_ISLAND_TEXT_H

#include "islands/gpu_island_lists.h"

// The text, whose kernel is "braid_island", for the caller to free; NULL: memory ran out. Where it
// calls the kernel of a number, it has the marker of that number (gpu_ptx_callable.h).
char *braid_island_text(const struct island_layout *layout, uint32_t num_kernels);

#endif
