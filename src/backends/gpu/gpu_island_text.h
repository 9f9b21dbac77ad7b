// SPDX-License-Identifier: Apache-2.0
// The CUDA C++ of an island: its walker, the kernels' sources, and how their arguments are found.
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
// only in islands that are timed.
extern const char *const braid_island_walker_text[];
// The part of it that depends on the device.
extern const char *const braid_island_device_text[];

// The text, whose kernel is "braid_island", for the caller to free; NULL: memory ran out.
char *braid_island_text(const struct island_layout *layout, const struct island_source *sources,
                        uint32_t num_sources, const struct island_kernel *kernels,
                        uint32_t num_kernels);

#endif
