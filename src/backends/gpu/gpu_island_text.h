// SPDX-License-Identifier: Apache-2.0
// The CUDA or HIP C++ of an island: its walker, the kernels' sources, and how their arguments are
// found.
#ifndef BRAID_BACKENDS_GPU_GPU_ISLAND_TEXT_H
#define BRAID_BACKENDS_GPU_GPU_ISLAND_TEXT_H

#include "backends/gpu/gpu_island_lists.h"
#include "backends/gpu/gpu_island_source.h"

// A kernel that the island calls. Its number is its place among them.
struct island_kernel {
    uint32_t source; // which of the sources
    const char *name;
    const uint32_t *arg_bytes;
    uint32_t num_args;
};

// The kernel "braid_island" itself, line by line, ended by NULL. Lines with a question mark are
// only in islands that are timed, those with an exclamation mark only in CUDA's, those with a
// percent sign only in HIP's.
extern const char *const braid_island_walker_text[];
// What it needs of the device, said in CUDA's words and in HIP's.
extern const char *const braid_island_cuda_text[];
extern const char *const braid_island_hip_text[];

// The text, whose kernel is "braid_island", for the caller to free; NULL: memory ran out.
char *braid_island_text(const struct island_layout *layout, const struct island_source *sources,
                        uint32_t num_sources, const struct island_kernel *kernels,
                        uint32_t num_kernels);

#endif
